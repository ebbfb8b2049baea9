"""Compiles every launch of a candidate for sm_90 with its real signature, and runs none of them.

Order: no TRITON_INTERPRET, `import torch, triton`, then `install()` and `warm()` once in a process with one thread;
children forked from it run candidates inside `candidate_scope()`. Kernels write nothing, so values that a wrapper
computes from their outputs are meaningless; only compilation counts.
"""
import hashlib
import os

import torch
import triton
from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import OutOfResources, PTXASError

from . import cubin, cuda_words, driver, operators
from .poison import set_poison
from .scope import candidate_scope

__all__ = ["install", "warm", "candidate_scope", "set_poison"]
MAX_THREADS = 1024
_log = None
_autotune_run = Autotuner.run


class Loaded:
    """The function that load_binary returns: the cubin's facts, for the launcher."""

    def __init__(self, binary, shared):
        self.facts = {"shared": shared, "cubin": hashlib.sha256(binary).hexdigest(), **cubin.usage(binary)}


class Utils(driver.Utils):
    """Loads a cubin by reading it."""

    def load_binary(self, name, binary, shared, device):
        """(module, function, registers, spilled bytes, threads per block), as the real driver returns them."""
        loaded = Loaded(binary, shared)
        return (0, loaded, loaded.facts.get("registers", 0), loaded.facts.get("local_bytes", 0), MAX_THREADS)


class Launcher:
    """Records the launch and does not make it."""

    def __init__(self, src, metadata):
        self._name, self._num_warps = metadata.name, metadata.num_warps

    def __call__(self, grid_0, grid_1, grid_2, stream, function, *rest):
        sizes = driver.launch_grid((grid_0, grid_1, grid_2), {})
        _log.begin(self._name, sizes, driver.programs_of(sizes), self._num_warps)
        tuned = {"configs": _tuning["configs"]} if _tuning["depth"] else {}
        _log.end(**function.facts, **tuned)


class Driver(driver.Driver):
    """The sm_90 driver, with a launcher."""

    utils = Utils()
    launcher_cls = Launcher


_tuning = {"depth": 0, "found": False, "configs": 0}


def _first_that_fits(self, *args, config, **meta):
    # A device skips configurations that do not fit it and takes the fastest of the rest. Here the first that fits is
    # taken, and no further one is compiled.
    conflicts = meta.keys() & config.kwargs.keys()
    if conflicts:
        raise ValueError(f"Conflicting meta-parameters: {', '.join(conflicts)}. Make sure that you don't "
                         "re-define auto-tuned symbols.")
    if _tuning["found"]:
        return [2.0, 2.0, 2.0]
    # Only compile here: the launch that is recorded, with its hooks, follows with the chosen configuration.
    try:
        kernel = self.fn.run(*args, **{**meta, **config.all_kwargs(), "warmup": True})
        for each in [kernel] if kernel is not None else []:
            each._init_handles()
    except (OutOfResources, CompileTimeAssertionFailure, PTXASError):
        return [float("inf")] * 3
    _tuning["found"] = True
    return [1.0, 1.0, 1.0]


def _tuned_run(self, *args, **kwargs):
    before = dict(_tuning)
    _tuning.update(depth=before["depth"] + 1, found=False, configs=len(self.configs))
    try:
        return _autotune_run(self, *args, **kwargs)
    finally:
        _tuning.update(before)


def install(log):
    """Make this process compile all launches and record them in `log`; call it once."""
    global _log
    if triton.knobs.runtime.interpret:
        raise RuntimeError("TRITON_INTERPRET must not be set: the decorator decides at import")
    _log = log
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    torch.set_num_threads(1)
    driver.install(Driver(), _first_that_fits)
    Autotuner.run = _tuned_run
    operators.install()
    cuda_words.prepare()
    set_poison("zeros")


def warm():
    """Make the imports and the first compilation of every child, once, before forking."""
    import triton.experimental.gluon  # noqa: F401  (imported by the first launch)
    import triton.tools.tensor_descriptor  # noqa: F401
    from triton._C.libtriton import get_cache_invalidating_env_vars, ir
    from triton.compiler import compiler
    from triton.runtime.cache import triton_key

    triton_key()
    backend = compiler.make_backend(driver.TARGET)
    backend.hash()
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    backend.get_codegen_implementation(options)
    backend.get_module_map()
    get_cache_invalidating_env_vars()
