"""Runs a reference in float64 throughout, also where it converts to float32 inside."""
import contextlib
import time

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_map_only

_WIDE = (torch.float64, torch.complex128)
_REINTERPRETED = ("aten::view.dtype", "aten::view_as_real", "aten::view_as_complex")


class Late(Exception):
    """A run took longer than it may."""


def wider(dtype):
    """The dtype with 64-bit components; others stay."""
    if dtype.is_complex:
        return torch.complex128
    return torch.float64 if dtype.is_floating_point else dtype


class WideMode(TorchDispatchMode):
    """Widens what operators convert to and create. `narrowed` names the first operator that loses digits all the same."""

    def __init__(self, limit_s):
        super().__init__()
        self.narrowed = ""
        self._deadline = time.monotonic() + limit_s

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if time.monotonic() > self._deadline:
            raise Late("the reference takes too long in float64")
        kwargs = kwargs or {}
        given = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, torch.Tensor)]
        wide = any(each.dtype in _WIDE for each in given)
        name = func.name()
        if name not in _REINTERPRETED:
            args, kwargs = tree_map(_wider_dtype, args), tree_map(_wider_dtype, kwargs)
            if wide and not func._schema.is_mutable:
                args, kwargs = tree_map_only(torch.Tensor, _widened, args), tree_map_only(torch.Tensor, _widened, kwargs)
        found = func(*args, **kwargs)
        if wide and not self.narrowed and (name == "aten::view.dtype" or any(_narrow(each) for each in tree_flatten(found)[0])):
            self.narrowed = name.removeprefix("aten::")
        return found


def _wider_dtype(value):
    return wider(value) if isinstance(value, torch.dtype) else value


def _widened(tensor):
    return tensor.to(wider(tensor.dtype)) if _narrow(tensor) else tensor


def _narrow(value):
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()) \
        and value.dtype not in _WIDE


@contextlib.contextmanager
def widely(limit_s):
    """A WideMode is active, and what is created without a dtype is float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with WideMode(limit_s) as mode:
            yield mode
    finally:
        torch.set_default_dtype(before)
