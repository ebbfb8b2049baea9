"""Copies a candidate's outputs into the arena, dense, from the start of the outputs' part."""
import torch

from .layout import dense_stride, describe, up
from .values import to_wire

ALIGNMENT = 256


def place_outputs(value, arena, offset):
    """The ValueT of `value`; each tensor's bytes lie contiguously in `arena`, from `offset` on.

    A TensorT's stride is the one with which the tensor was returned. Its bytes are 0, with a shape that holds elements,
    where the tensor did not fit.
    """
    return to_wire(value, _Placer(arena, offset))


class _Placer:
    def __init__(self, arena, offset):
        self._arena, self._next = arena, up(offset, ALIGNMENT)

    def __call__(self, tensor):
        size = tensor.numel() * tensor.element_size()
        if self._next + size > self._arena.size or size == 0:
            return describe(tensor, self._next if size == 0 else 0, 0)
        ref = describe(tensor, self._next, size)
        self._copy(tensor)
        self._next = up(self._next + size, ALIGNMENT)
        return ref

    def _copy(self, tensor):
        with torch.no_grad():
            size = tensor.numel() * tensor.element_size()
            storage = self._arena.bytes(self._next, size).untyped_storage()
            shape = tensor.shape
            target = torch.empty(0, dtype=tensor.dtype, device=self._arena.device).set_(
                storage, 0, shape, dense_stride(shape))
            # Also copies between devices: the TensorT's `device` names the output's device.
            target.copy_(tensor.detach())
