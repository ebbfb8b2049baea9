"""Runs the program under test, and finds processes and files that it leaves behind."""
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DEVICE = os.environ.get("KERNELWRIGHT_TEST_DEVICE", "cpu")
LIMIT_S = 300
OURS, OTHER_TESTS = ("kernelwright", "kw-", "victim-"), "kernelwright-test-"


class Outcome(NamedTuple):
    code: int
    verdicts: list
    stderr: str


class Output(NamedTuple):
    code: int
    stdout: str
    stderr: str


def binary():
    """The program: KERNELWRIGHT, else the release build's."""
    return os.path.abspath(os.environ.get("KERNELWRIGHT", ROOT / "build" / "kernelwright"))


def verify_command(*arguments):
    """`kernelwright verify` with the Python that runs the tests, on the device under test."""
    words = [str(each) for each in arguments]
    if "--python" not in words:
        words += ["--python", sys.executable]
    if "--device" not in words:
        words += ["--device", DEVICE]
    return [binary(), "verify", *words]


def load_script(path):
    """A script of Python as a module, for tests of its functions."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def start(command, temporary, **options):
    """Start the program in a session of its own, with a separate folder for its temporary files."""
    environment = {**os.environ, "TMPDIR": str(temporary), **options.pop("environment", {})}
    return subprocess.Popen(command, start_new_session=True, env=environment, **options)


def finish(process, limit=LIMIT_S):
    """Its output once it has ended; the whole group is killed when it takes too long."""
    try:
        stdout, stderr = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return Output(process.returncode, stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace"))


def read_verdicts(text):
    """Verdicts of JSONL, or of one object over several lines."""
    text = text.strip()
    if not text:
        return []
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.split("\n") if line.strip()]


def write_rows(path, rows):
    """A batch file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def verdicts_of(rows, *words):
    """The verdicts of `kernelwright verify` on these rows; its progress goes to the terminal."""
    with tempfile.TemporaryDirectory() as folder:
        verdicts = Path(folder) / "verdicts.jsonl"
        subprocess.run(verify_command("--batch", write_rows(Path(folder) / "rows.jsonl", rows), "--output", verdicts, *words),
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
        return read_verdicts(verdicts.read_text(encoding="utf-8")) if verdicts.exists() else []


def descendants(pid=None):
    """Pids of all living processes below one: by default below the tests, which adopt orphans."""
    children = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            fields = Path(f"/proc/{entry}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[0] not in (b"Z", b"X"):
            children.setdefault(int(fields[1]), []).append(int(entry))
    found, queue = set(), [pid or os.getpid()]
    while queue:
        below = children.get(queue.pop(), [])
        found.update(below)
        queue.extend(below)
    return found


def describe_process(pid):
    """A pid with its command line, for a message."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        words = "?"
    return f"{pid}: {words[:200]}"


def our_cgroups():
    """Folders of cgroups that the program makes."""
    return {os.path.join(folder, name) for folder, names, _ in os.walk("/sys/fs/cgroup") for name in names
            if name.startswith("kernelwright-")}


def our_files():
    """Files that the program or a victim may leave in shared folders."""
    return {os.path.join(folder, name) for folder in ("/tmp", "/dev/shm", "/var/tmp") if os.path.isdir(folder)
            for name in os.listdir(folder) if name.startswith(OURS) and not name.startswith(OTHER_TESTS)}


def settled(find, seconds=10):
    """The result of `find` once it is empty, or its last result after some time."""
    deadline = time.monotonic() + seconds
    while (found := find()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


class Traces:
    """The processes, cgroups and files before a test, so that new ones can be found."""

    def __init__(self):
        self._processes, self._cgroups, self._files = descendants(), our_cgroups(), our_files()

    def processes(self):
        """New living processes, described; they are killed, so that no later test meets them."""
        left = settled(lambda: descendants() - self._processes)
        described = sorted(describe_process(pid) for pid in left)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return described

    def cgroups(self):
        """New cgroups."""
        return sorted(settled(lambda: our_cgroups() - self._cgroups))

    def files(self):
        """New files of the program in shared folders."""
        return sorted(settled(lambda: our_files() - self._files))

    def assert_none(self):
        """Assert that nothing is left."""
        for left in (self.processes(), self.cgroups(), self.files()):
            assert not left, left
