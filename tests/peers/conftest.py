"""Fixtures: the tiny model, a server for it, and the program."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Set before transformers is imported: tests must use neither the network nor the user's cache.
HOME = Path(tempfile.mkdtemp(prefix="peers-tests-"))
os.environ.update(HF_HUB_OFFLINE="1", HF_HOME=str(HOME), OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false",
                  TRANSFORMERS_VERBOSITY="error", HF_DATASETS_DISABLE_PROGRESS_BARS="1", CUDA_VISIBLE_DEVICES="")

import pytest

from end_to_end import program

from . import model_server, tiny_model

LISTED = "kernelwright/tiny"


def pytest_unconfigure():
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(scope="session")
def tiny():
    """The model's folder. A cache has the same model under the name LISTED."""
    folder = HOME / "tiny"
    tiny_model.save(folder)
    cached = HOME / "hub" / f"models--{LISTED.replace('/', '--')}"
    revision = "1" * 40
    shutil.copytree(folder, cached / "snapshots" / revision)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(revision)
    return folder


@pytest.fixture(scope="session")
def server(tiny):
    with model_server.ModelServer(tiny, HOME, HOME / "serve.log") as running:
        yield running


@pytest.fixture(scope="session")
def call():
    """Run the program with these arguments: (exit code, stdout, stderr)."""
    def called(*words, limit=program.LIMIT_S):
        process = program.start([program.binary(), *map(str, words)], HOME, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return program.finish(process, limit)
    return called


@pytest.fixture(scope="session")
def python():
    """The Python of the other tests, for the program, which needs none of the peers' packages."""
    return os.environ.get("KERNELWRIGHT_TEST_PYTHON", sys.executable)


@pytest.fixture(scope="session")
def run(call, python):
    """`kernelwright run` on the CPU."""
    return lambda *words: call("run", "--device", "cpu", "--python", python, *words)
