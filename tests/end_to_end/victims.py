"""One batch of all victims, each between two honest kernels, and the baits that they attack."""
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

from . import program

FOLDER = program.ROOT / "tests" / "victims"
TIMEOUT_S = 20


def code_of(name):
    """A file of the victims' folder."""
    return (FOLDER / f"{name}.py").read_text(encoding="utf-8")


def honest_row(number):
    """An honest kernel that is different from all others, so that none is answered from a cache."""
    return {"id": f"honest-{number}", "reference_code": code_of("reference"),
            "kernel_code": f"{code_of('honest')}\n# number {number}\n"}


def expected():
    """Victims for this device: name → the allowed verdicts."""
    rows = tomllib.loads((FOLDER / "expected.toml").read_text(encoding="utf-8"))
    kind = program.DEVICE.partition(":")[0]
    return {name: row["expect"] for name, row in rows.items() if row["device"] in ("any", kind)}


class Baits:
    """A process and a folder that no victim may touch, though file permissions would allow it."""

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="bait-", dir="/var/tmp"))
        self.folder.chmod(0o777)
        keep = self.folder / "keep.txt"
        keep.write_text("keep", encoding="ascii")
        keep.chmod(0o666)
        self.process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def bait(self, code):
        """A victim's code, with the baits' names in place of its placeholders."""
        for word, value in {"BAIT_PID": self.process.pid, "BAIT_DIR": self.folder, "GROUP": os.getpgrp(),
                            "PID_NAMESPACE": os.readlink("/proc/self/ns/pid")}.items():
            code = code.replace("{{" + word + "}}", str(value))
        return code

    def folder_as_left(self):
        """Names and contents in the folder, None if it is missing."""
        if not self.folder.is_dir():
            return None
        return {each.name: each.read_text(encoding="utf-8", errors="replace") for each in self.folder.iterdir()
                if stat.S_ISREG(each.lstat().st_mode)}


class Attack(NamedTuple):
    code: int
    verdicts: dict
    stderr: str
    seconds: float
    largest_row: int
    bait_alive: bool
    bait_folder: dict | None
    processes: list
    cgroups: list
    files: list
    temporary: list


def rows_of(baits):
    """honest, victim, honest, victim, … honest."""
    rows = [honest_row(0)]
    for number, name in enumerate(expected(), 1):
        rows.append({"id": name, "reference_code": code_of("reference"), "kernel_code": baits.bait(code_of(name))})
        rows.append(honest_row(number))
    return rows


def attack(verify, baits):
    """Verify them all; returns the results and the leftovers."""
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        folder, temporary = Path(folder), Path(folder) / "tmp"
        temporary.mkdir()
        folder.chmod(0o755)
        rows = program.write_rows(folder / "victims.jsonl", rows_of(baits))
        output, before, began = folder / "verdicts.jsonl", program.Traces(), time.monotonic()
        # Fresh memory may come slowly on a virtual machine, and a memory bomb must reach its limit in time.
        code, verdicts, stderr = verify("--batch", rows, "--output", output, "--timeout", TIMEOUT_S, "--memory", "2G",
                                        "--correctness-trials", 2, limit=480, TMPDIR=str(temporary))
        seconds = time.monotonic() - began
        lines = output.read_bytes().splitlines() if output.exists() else [b""]
        processes, files = before.processes(), before.files()
        for path in files:
            if os.path.basename(path).startswith("victim-"):
                os.unlink(path)
        return Attack(code, {each["id"]: each for each in verdicts}, stderr, seconds, max(map(len, lines)),
                      baits.process.poll() is None, baits.folder_as_left(), processes, before.cgroups(), files,
                      sorted(each.name for each in temporary.iterdir()))
