"""Checks indices before an operator uses them: on a GPU an index beyond its dimension costs the process its context.

Kernels that are no operators of PyTorch are not checked.
"""
import contextlib

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class IndexGuard(TorchDispatchMode):
    """Raises IndexError where an operator is given an index beyond its dimension."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if (check := _CHECKS.get(func.name().split("::")[1].split(".")[0].strip("_"))) is not None:
            check(func.name(), [*args, *kwargs.values()])
        return func(*args, **kwargs)


def guarded(device):
    """The context in which a reference gets inputs that no draw has together."""
    return IndexGuard() if device.type == "cuda" else contextlib.nullcontext()


def _within(name, index, size, negative=False, except_for=None):
    if not isinstance(index, torch.Tensor) or not index.numel() or index.dtype is torch.bool:
        return
    bad = (index >= size) | (index < (-size if negative else 0))
    if except_for is not None:
        bad &= index != except_for
    if bool(bad.any()):
        raise IndexError(f"{name}: an index is beyond its dimension of {size}")


def _along(name, args):
    tensor, dim, index = args[:3]
    if isinstance(dim, int) and tensor.dim():
        _within(name, index, tensor.shape[dim])


def _listed(name, args):
    tensor, indices, dim = args[0], args[1], 0
    for index in indices:
        if isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8):
            dim += index.dim()
            continue
        _within(name, index, tensor.shape[dim], negative=True)
        dim += 1


def _of_rows(name, args):
    _within(name, args[1], args[0].shape[0])


def _flat(name, args):
    _within(name, args[1], args[0].numel(), negative=True)


def _of_classes(name, args):
    logits, target = args[:2]
    ignored = next((each for each in args[4:5] if isinstance(each, int)), -100)
    _within(name, target, logits.shape[1 if logits.dim() > 1 else 0], except_for=ignored)


_CHECKS = {
    **dict.fromkeys(("gather", "index_select", "index_add", "index_copy", "index_fill", "index_reduce",
                     "scatter", "scatter_add", "scatter_reduce"), _along),
    **dict.fromkeys(("index", "unsafe_index", "index_put", "unsafe_index_put", "index_put_impl"), _listed),
    **dict.fromkeys(("embedding", "embedding_bag", "embedding_bag_forward_only"), _of_rows),
    **dict.fromkeys(("take", "put"), _flat),
    **dict.fromkeys(("nll_loss_forward", "nll_loss2d_forward"), _of_classes),
}
