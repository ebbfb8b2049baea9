"""Runs a task's own reference in a runner: loads it as the oracle does, calls it as a candidate."""
import contextlib
import importlib.util
import os
import sys

import torch

from . import convention
from .backward_entry import differentiated
from .values import from_wire

MODULE = "kernelwright_reference"


def file_of(name):
    """The path at which run() stores a source of this name, in the process's own folder."""
    return os.path.abspath(os.path.basename(name) or "reference.py")


def run(data, path):
    """The names of the reference's module, executed from a real file because inspect and torch.jit read its text."""
    with open(path, "wb") as file:
        file.write(data)
    spec = importlib.util.spec_from_file_location(MODULE, path)
    # Data classes and torch.jit look their module up during its execution and later.
    module = sys.modules[MODULE] = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return vars(module)


def make(name, entry, spec, arena, message, device):
    """The Callee of the reference that this Load describes."""
    kind = convention.ModuleCallee if isinstance(entry, type) else _Function
    callee = kind(name, entry, spec, arena, message.weights, device)
    if message.compiled:
        # Compile in this process: helpers take longer to start than they save, and count against its limits.
        os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
        callee.wrap(torch.compile)
    return _AsAsked(differentiated(callee, spec, {}), message.tf32)


class _Function:
    """A function that is called with the inputs in their order and nothing else."""

    convention = "wrapper"
    weights, weights_differ = "none", False

    def __init__(self, name, entry, spec, arena, how, device):
        self.name, self._entry, self._spec = name, entry, spec
        self.arguments = convention.inputs_in_order(spec)

    def wrap(self, wrapper):
        """Call the function that `wrapper` makes of this one."""
        self._entry = wrapper(self._entry)

    def prepare(self, arena):
        """Does nothing: no state is kept between calls."""

    def parameters(self):
        """Empty: a function has none."""
        return {}

    def ready(self, tensor):
        """As for candidates."""
        args = [from_wire(each, tensor) for each in self._spec.inputs.items or ()]
        return lambda: self._entry(*args)


class _AsAsked:
    """A callee whose calls use TF32 as the task states, whatever the reference set at its import."""

    def __init__(self, callee, tf32):
        self._callee, self._tf32 = callee, tf32

    def __getattr__(self, name):
        return getattr(self._callee, name)

    def ready(self, tensor):
        """As for candidates."""
        run = self._callee.ready(tensor)

        def once():
            with _tf32(self._tf32):
                return run()
        return once


@contextlib.contextmanager
def _tf32(on):
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    matmul.allow_tf32 = cudnn.allow_tf32 = on
    try:
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before
