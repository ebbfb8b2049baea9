"""Saves the process state that a reference may change, restores it and checks it afterwards."""
import builtins
import contextlib
import os
import random
import signal
import sys
import threading
import warnings

import torch


def _switch(holder, name):
    """(name, get, set) of a plain attribute."""
    return f"{getattr(holder, '__name__', holder)}.{name}", lambda: getattr(holder, name), \
        lambda value: setattr(holder, name, value)


def _deterministic():
    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()


def _set_deterministic(value):
    torch.use_deterministic_algorithms(value[0], warn_only=value[1])


def _autocast():
    return tuple((kind, torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in ("cpu", "cuda"))


def _set_autocast(value):
    for kind, enabled, dtype in value:
        torch.set_autocast_enabled(kind, enabled)
        torch.set_autocast_dtype(kind, dtype)


def _set_environment(value):
    for name in set(os.environ) - set(value):
        del os.environ[name]
    os.environ.update(value)


def _set_signals(value):
    for number, handler in value.items():
        if signal.getsignal(number) != handler:
            signal.signal(number, handler)


def _signals():
    return {number: handler for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD)
            if (handler := signal.getsignal(number)) is not None}


def _set_filters(value):
    warnings.filters[:] = value
    warnings._filters_mutated()


_SETTINGS = [
    ("default dtype", torch.get_default_dtype, torch.set_default_dtype),
    ("default device", lambda: str(torch.get_default_device()),
     lambda value: torch.set_default_device(None if value == "cpu" else value)),
    ("grad mode", torch.is_grad_enabled, torch.set_grad_enabled),
    ("autocast", _autocast, _set_autocast),
    ("threads", torch.get_num_threads, torch.set_num_threads),
    ("deterministic algorithms", _deterministic, _set_deterministic),
    ("anomaly mode", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    ("float32 matmul precision", torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    *(_switch(torch.backends.cudnn, name) for name in ("enabled", "benchmark", "deterministic", "allow_tf32")),
    *(_switch(torch.backends.cuda.matmul, name) for name in (
        "allow_tf32", "allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction")),
    ("flash attention", torch.backends.cuda.flash_sdp_enabled, torch.backends.cuda.enable_flash_sdp),
    ("efficient attention", torch.backends.cuda.mem_efficient_sdp_enabled,
     torch.backends.cuda.enable_mem_efficient_sdp),
    ("math attention", torch.backends.cuda.math_sdp_enabled, torch.backends.cuda.enable_math_sdp),
    ("cudnn attention", torch.backends.cuda.cudnn_sdp_enabled, torch.backends.cuda.enable_cudnn_sdp),
    ("working directory", os.getcwd, os.chdir),
    ("environment", lambda: dict(os.environ), _set_environment),
    ("sys.path", lambda: list(sys.path), lambda value: sys.path.__setitem__(slice(None), value)),
    ("sys.argv", lambda: list(sys.argv), lambda value: sys.argv.__setitem__(slice(None), value)),
    ("recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    ("signals", _signals, _set_signals),
    ("warning filters", lambda: list(warnings.filters), _set_filters),
]


def _namespaces():
    """The namespaces in which a monkey patch would change the results of later references."""
    nn = torch.nn
    holders = [builtins, torch, torch.Tensor, nn, nn.functional, nn.init, nn.Module, nn.Parameter, torch.linalg,
               torch._C._TensorBase, torch._C._nn, nn.modules.module, random]
    holders += [value for value in vars(nn).values() if isinstance(value, type)]
    return {id(each): each for each in holders}.values()


def _plain(name):
    # The interpreter's own bookkeeping adds and removes the other names of this form.
    return not (name.startswith("__") and name.endswith("__")) or name in (
        "__init__", "__call__", "__new__", "__getattr__", "__setattr__", "__matmul__", "__add__", "__mul__",
        "__import__")


def _hooks():
    names = [name for name in vars(torch.nn.modules.module) if name.startswith("_global_") and "hooks" in name]
    return {name: len(table) for name in names
            if hasattr(table := getattr(torch.nn.modules.module, name), "__len__")}


class Snapshot:
    """The state of the process at the time of construction."""

    def __init__(self):
        self._settings = [(name, get, put, get()) for name, get, put in _SETTINGS]
        self._names = [(holder, {name: value for name, value in vars(holder).items() if _plain(name)})
                       for holder in _namespaces()]
        self._modules = dict(sys.modules)
        self._hooks = _hooks()
        self._threads = threading.active_count()
        self._modes = torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()
        self._random = random.getstate(), torch.random.get_rng_state()

    def differences(self):
        """[(put, value)] of the changed settings: a reference may rely on settings that it made itself."""
        found = []
        for _, get, put, before in self._settings:
            with contextlib.suppress(Exception):
                if (now := get()) != before:
                    found.append((put, now))
        return found

    def restore(self):
        """Restore everything; returns the names of settings that could not be restored."""
        stuck = [*self._restore_settings(), *self._restore_names(), *self._restore_modules()]
        random.setstate(self._random[0])
        torch.random.set_rng_state(self._random[1])
        if _hooks() != self._hooks:
            stuck.append("global module hooks")
        if threading.active_count() > self._threads:
            stuck.append("threads that are still running")
        if (torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()) != self._modes:
            stuck.append("a mode that is still active")
        return stuck

    def _restore_settings(self):
        stuck = []
        for name, get, put, wanted in self._settings:
            try:
                if get() != wanted:
                    put(wanted)
                if get() != wanted:
                    stuck.append(name)
            except Exception:  # the setting can no longer be read
                stuck.append(name)
        return stuck

    def _restore_names(self):
        stuck = []
        for holder, names in self._names:
            now = vars(holder)
            for name, value in names.items():
                if now.get(name) is value or _counts(value):
                    continue
                try:
                    setattr(holder, name, value)
                except (AttributeError, TypeError):
                    stuck.append(f"{getattr(holder, '__name__', holder)}.{name}")
            for name in set(now) - set(names):
                if isinstance(holder, type) and _plain(name) and any(name in vars(base) for base in holder.__mro__[1:]):
                    delattr(holder, name)  # it hides an inherited attribute
        return stuck

    def _restore_modules(self):
        stuck = []
        for name, module in self._modules.items():
            if sys.modules.get(name) is not module and not name.startswith("kernelwright_reference_"):
                sys.modules[name] = module
        for name in set(sys.modules) - set(self._modules):
            # Modules that libraries import late stay; modules in folders where only references write are removed.
            file = getattr(sys.modules[name], "__file__", None) or ""
            if file.startswith("/tmp/") and not name.startswith("kernelwright_reference_"):
                del sys.modules[name]
        return stuck


def _counts(value):
    """Plain data, which the library itself rebinds at any time."""
    return value is None or isinstance(value, (int, float, str, tuple, dict, list))
