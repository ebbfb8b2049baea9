"""Fixtures: the program, run on rows, and the runs that several tests share."""
import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from . import program, victims

PR_SET_CHILD_SUBREAPER = 36


def pytest_configure(config):
    config.addinivalue_line("markers", "end_to_end: runs the whole program")


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in Path(item.fspath).parents:
            item.add_marker(pytest.mark.end_to_end)


@pytest.fixture(scope="session", autouse=True)
def orphans_return():
    """Processes that the program leaves behind become children of the tests, so that they can be found."""
    assert ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    assert Path(program.binary()).is_file(), f"no program at {program.binary()}: build it, or set KERNELWRIGHT"


@pytest.fixture(scope="session")
def scratch():
    """The program's folder for temporary files."""
    folder = Path(tempfile.mkdtemp(prefix="engine-tests-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def run(scratch):
    """Run the program with these arguments: (exit code, stdout, stderr)."""
    def call(*words, limit=program.LIMIT_S, stdin=subprocess.DEVNULL, **environment):
        command = [program.binary(), *[str(each) for each in words]]
        process = program.start(command, scratch, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                environment=environment)
        return program.finish(process, limit)
    return call


@pytest.fixture(scope="session")
def verify(run):
    """Verify: (exit code, verdicts, stderr). The verdicts are those of --output, else those of --json."""
    def call(*arguments, **options):
        words = [str(each) for each in arguments]
        if "--output" not in words and "--json" not in words:
            words.append("--json")
        code, stdout, stderr = run(*program.verify_command(*words)[1:], **options)
        text = stdout
        if "--output" in words:
            output = Path(words[words.index("--output") + 1])
            text = output.read_text(encoding="utf-8") if output.exists() else ""
        return program.Outcome(code, program.read_verdicts(text), stderr)
    return call


@pytest.fixture
def batch(tmp_path):
    """Write a batch file of these rows; returns its path."""
    return lambda rows, name="batch.jsonl": program.write_rows(tmp_path / name, rows)


@pytest.fixture
def traces_left():
    """The state before the test: see program.Traces."""
    return program.Traces()


@pytest.fixture(scope="session")
def sample_run(verify):
    """The sample, verified once for all tests."""
    return verify(program.ROOT / "examples" / "sample", "--json")


@pytest.fixture(scope="session")
def victims_run(verify):
    """All victims between honest kernels, verified once for all tests."""
    with victims.Baits() as baits:
        yield victims.attack(verify, baits)
