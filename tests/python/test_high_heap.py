"""A Python whose heap lies below 4 GiB starts itself again with a high one, and is otherwise unchanged."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FACTS = """
import json, os, sys
from kernelwright._engine import high_heap
{ensure}
print(json.dumps({{"high": high_heap.is_high(), "executable": sys.executable, "prefix": sys.prefix, "arguments": sys.argv[1:],
                  "warnings": sys.warnoptions, "pid": os.getpid(), "inherited": os.fstat({fd}).st_size}}))
"""


def facts_of(python, ensure, tmp_path):
    """The Python's facts about itself after the statement `ensure`."""
    with open(tmp_path / "inherited", "w+", encoding="utf-8") as file:
        file.write("12345")
        file.flush()
        command = [python, "-W", "ignore", "-c", FACTS.format(ensure=ensure, fd=file.fileno()), "a b", "--mode"]
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, stdout=subprocess.PIPE,
                                   pass_fds=[file.fileno()], text=True)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    return {**json.loads(out), "same process": json.loads(out)["pid"] == process.pid}


@pytest.fixture(scope="module")
def low_python(tmp_path_factory):
    """Debian's own is not position-independent, so its heap lies near 0; in an environment, as kernels run in one."""
    for python in (sys.executable, "/usr/bin/python3"):
        if Path(python).exists():
            folder = tmp_path_factory.mktemp("environment")
            subprocess.run([python, "-m", "venv", "--without-pip", "--symlinks", folder], check=True)
            if not facts_of(folder / "bin/python", "", folder)["high"]:
                return folder / "bin/python"
    pytest.skip("no Python here has a low heap")


def test_a_low_heap_becomes_a_high_one(low_python, tmp_path):
    before, after = facts_of(low_python, "", tmp_path), facts_of(low_python, "high_heap.ensure()", tmp_path)
    assert not before["high"] and after["high"]
    for same in ("executable", "prefix", "arguments", "warnings", "inherited"):
        assert after[same] == before[same], same
    assert after["executable"] == str(low_python) and after["arguments"] == ["a b", "--mode"] and after["inherited"] == 5
    assert after["same process"], "its parent knows it by its number"


def test_a_high_heap_stays(tmp_path):
    """The loader's own process has a high heap, with any Python."""
    facts = facts_of(sys.executable, "high_heap.ensure()", tmp_path)
    assert facts["high"] and facts["same process"] and facts["executable"] == sys.executable


def test_small_tensors_lie_above_4_gib(interpreter, compiler, world):
    file = world("""
    def lowest():
        return min(torch.empty(4).data_ptr() for _ in range(1000))
    """)
    for warm in (interpreter, compiler):
        assert warm.run(file, "lowest")["value"] > 1 << 32
