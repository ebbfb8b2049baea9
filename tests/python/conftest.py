"""Fixtures: warm parents that run small candidates in forked children."""
import json
import os
import subprocess
import sys
import textwrap

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "python"))
HEAD = "import torch, triton, triton.language as tl\n"


class Warm:
    """One warm parent; `run` imports and calls a candidate in a child of it."""

    def __init__(self, mode):
        environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
        self._process = subprocess.Popen([sys.executable, "-W", "ignore", os.path.join(HERE, "warm_parent.py"), mode],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self._read()

    def _read(self):
        line = self._process.stdout.readline()
        assert line, "the warm parent died"
        return json.loads(line)

    def run(self, file, call, **more):
        """Facts about a call of function `call` of `file`."""
        self._process.stdin.write(json.dumps({"file": str(file), "call": call, **more}) + "\n")
        self._process.stdin.flush()
        return self._read()

    def close(self):
        """End the parent."""
        self._process.stdin.close()
        self._process.wait(20)


@pytest.fixture(scope="session")
def interpreter():
    """A warm parent whose children interpret kernels."""
    warm = Warm("interpret")
    yield warm
    warm.close()


@pytest.fixture(scope="session")
def compiler():
    """A warm parent whose children compile kernels for sm_90."""
    warm = Warm("compile")
    yield warm
    warm.close()


@pytest.fixture
def world(tmp_path):
    """Write a small candidate with the usual imports in its first line; returns its path."""
    def write(source, head=HEAD):
        path = tmp_path / "candidate.py"
        path.write_text(head + textwrap.dedent(source).lstrip("\n"))
        return path
    return write


@pytest.fixture
def interpret(interpreter, world):
    """Interpret a small world's `go()`."""
    return lambda source, **more: interpreter.run(world(source), "go", **more)


@pytest.fixture
def compile_only(compiler, world):
    """Compile the launches of a small world's `go()`."""
    return lambda source, **more: compiler.run(world(source), "go", **more)
