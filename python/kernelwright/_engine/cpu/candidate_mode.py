"""The mode in which candidate code sees CPU tensors as a device's, and finds fresh memory poisoned.

A TorchFunctionMode maps device arguments, and Tensor is not patched, so that PyTorch's own Python code, which runs
below the mode, sees only CPU tensors.
"""
import torch
from torch.overrides import TorchFunctionMode
from torch.overrides import _get_current_function_mode_stack as _mode_stack

from . import bounds, poison

CUDA = torch.device("cuda", 0)
MOVES = frozenset(("to", "as_tensor", "asarray", "new_empty", "new_zeros", "new_ones", "new_full", "new_tensor"))
_state = {"entered": False}


def means_cuda(value):
    """Whether a device argument names a CUDA device: a string, a torch.device or a bare index."""
    if isinstance(value, torch.device):
        return value.type == "cuda"
    if isinstance(value, str):
        return value.split(":")[0] == "cuda"
    return type(value) is int


class CandidateMode(TorchFunctionMode):
    """Answers device questions with cuda:0, keeps every tensor on the CPU, poisons allocations."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "__get__":
            return self._property(func, args)
        if args and isinstance(args[0], torch.Tensor):
            if name in ("cuda", "pin_memory"):
                return args[0]
            if name == "get_device":
                return 0
            if name == "data_ptr":
                return bounds.remember(args[0], func(*args))
        if kwargs:
            kwargs = {key: "cpu" if key == "device" and means_cuda(value) else value
                      for key, value in kwargs.items() if key != "pin_memory"}
        if any(isinstance(each, (torch.device, str)) or type(each) is int for each in args):
            args = self._devices(name, args)
        result = func(*args, **kwargs)
        return poison.fill(result) if poison.is_uninitialised(name, args) else result

    def _property(self, func, args):
        which = getattr(getattr(func, "__self__", None), "__name__", "")
        answer = func(*args)
        if which == "device":
            return CUDA if answer.type == "cpu" else answer
        if which == "is_cuda":
            return args[0].device.type == "cpu"
        return False if which == "is_cpu" else answer

    def _devices(self, name, args):
        first = 1 if name in MOVES else len(args)
        return tuple("cpu" if (isinstance(each, torch.device) and each.type == "cuda")
                     or (at >= first and isinstance(each, str) and means_cuda(each))
                     or (name == "to" and at == 1 and type(each) is int) else each
                     for at, each in enumerate(args))


def reenter(function):
    """Enter the mode again for a custom operator's own code, which dispatch runs below all modes."""
    def inside(*args, **kwargs):
        if not _state["entered"] or any(isinstance(each, CandidateMode) for each in _mode_stack()):
            return function(*args, **kwargs)
        with CandidateMode():
            return function(*args, **kwargs)
    inside.__wrapped__ = function
    inside.__name__ = getattr(function, "__name__", "inside")
    inside.__module__ = getattr(function, "__module__", __name__)
    return inside


def is_entered():
    """Whether a candidate is running."""
    return _state["entered"]


def enter():
    """Enter the mode; returns the function that leaves it."""
    before = torch._C._len_torch_function_stack()
    _state["entered"] = True
    CandidateMode().__enter__()

    def leave():
        # A candidate may have left modes of its own on the stack: remove all that were not there before.
        while torch._C._len_torch_function_stack() > before:
            torch._C._pop_torch_function_stack()
        _state["entered"] = False
    return leave
