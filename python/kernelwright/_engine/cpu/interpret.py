"""Runs a candidate's kernels in Triton's interpreter, corrected to compute as an sm_90 device.

Order: TRITON_INTERPRET=1, then `import torch, triton`, then `install()` once in a process with one thread; children
forked from it run candidates inside `candidate_scope()`.
"""
import contextlib
import inspect
import os
import threading
import warnings

import numpy as np
import torch
import triton
import triton.runtime.interpreter as interpreter
from triton.runtime.jit import KernelParam

from ..errors import Unsupported
from . import (arithmetic, bounds, combine, cuda_words, driver, effects, language, libdevice, lockstep, memory,
               operands, operators, per_program, speed)
from .kernel_code import Checks, KernelCode
from .driver import choose_configuration, configurations
from .poison import set_poison
from .scope import candidate_scope
from .seal import Seal

__all__ = ["install", "candidate_scope", "having", "set_poison", "choose_configuration", "configurations"]
_log = _seal = _code = None
# The builder, the bounds and the log are one for all threads; reentrant, because a hook may launch another kernel.
_launching = threading.RLock()


class LaunchHandle:
    """The result of a launch: a compiled kernel on a GPU. Here it can be launched again and has no facts."""

    def __init__(self, function, constants):
        self._function, self._constants = function, constants

    def __getitem__(self, grid):
        """A launch of the compiled kernel: all arguments by position, the constants as they were compiled."""
        def launched(*args, stream=None):
            bound = dict(zip(self._function.arg_names, args, strict=True))
            return _run(self._function, grid=grid, **{**bound, **self._constants})
        return launched

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unsupported(f"compiled kernel handles (.{name})")


def _run(self, *args, grid, warmup=False, **options):
    if warmup:
        raise Unsupported("kernel.warmup")
    with _launching:
        return _launched(self, *args, grid=grid, **options)


def _launched(self, *args, grid, **options):
    for hook in self.pre_run_hooks:
        hook(*args, **options)
    known = {name: value for name, value in options.items() if name in self.arg_names}
    bound = inspect.getcallargs(self.fn, *args, **known)
    constants = _constants(self)
    handle = LaunchHandle(self, {name: bound[name] for name in constants})
    if effects.are_skipped():
        return handle
    sizes = driver.launch_grid(grid, dict(bound))
    programs = driver.programs_of(sizes)
    may_touch = {name: value for name, value in bound.items() if name not in constants}
    with bounds.launch(self.__name__, may_touch, effects.noted_bytes()) as indirect:
        values = {name: value if name in constants else interpreter._implicit_cvt(value)
                  for name, value in bound.items()}
        # All code of the candidate that a launch runs on the host has run: hooks, the grid, data_ptr().
        _seal.check()
        function = _code.of(self.fn)
        _code.checks.arguments(bound[name] for name in constants)
        _log.begin(self.__name__, sizes, programs, options.get("num_warps", 4))
        try:
            with np.errstate(all="ignore"), effects.launch(bound, indirect):
                _programs(function, values, sizes if programs else (0, 0, 0))
        finally:
            _log.end()
    return handle


def _programs(function, values, sizes):
    interpreter.interpreter_builder.set_grid_dim(*sizes)
    run = lockstep.one_by_one if effects.are_reordered() else lockstep.run
    run(function, values, effects.order(sizes), _log.program_done)


def _constants(self):
    names = self.__dict__.get("_constant_names")
    if names is None:
        # Compared by the annotation's value, as the compiler does, so that any import name works.
        parameters = inspect.signature(self.fn).parameters.values()
        names = frozenset(each.name for at, each in enumerate(parameters) if KernelParam(at, each, False, False).is_constexpr)
        self._constant_names = names
    return names


def _call(self, *args, **kwargs):
    # A kernel that another kernel calls: without this, Triton wraps every exception once for each level.
    function = _code.of(self.fn)
    lockstep.entered(function)
    return function(*args, **kwargs)


@contextlib.contextmanager
def having(effect):
    """The context of one call whose launches have this wire.Effect."""
    with effects.having(effect):
        yield
    _seal.check()


def _refuse_warmup(self, *args, **kwargs):
    raise Unsupported("kernel.warmup")


def _refuse_gluon():
    from triton.experimental.gluon import _runtime as gluon

    def refused(self, *args, **kwargs):
        raise Unsupported("Gluon")
    gluon.GluonJITFunction.run = refused


def install(log):
    """Make this process interpret kernels and record their launches in `log`; call it once."""
    global _log, _seal, _code
    if not triton.knobs.runtime.interpret:
        raise RuntimeError("TRITON_INTERPRET=1 must be set before triton is imported")
    _log = log
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    warnings.filterwarnings("ignore", message="All-NaN")  # a maximum over NaN is NaN, as on the device
    torch.set_num_threads(1)
    driver.install(driver.Driver())
    speed.install()
    operands.install()
    language.install()
    memory.install()
    bounds.install()
    arithmetic.install()
    libdevice.install()
    combine.install()
    operators.install()
    per_program.install()
    interpreter.InterpretedFunction.run = _run
    interpreter.InterpretedFunction.__call__ = _call
    interpreter.InterpretedFunction.warmup = _refuse_warmup
    _refuse_gluon()
    cuda_words.prepare()
    set_poison("nan")
    _seal = Seal()
    _code = KernelCode(Checks(_seal.language))
    combine.use(_code)
