"""Raises in __del__.

Strategy: objects whose destruction raises, one of them alive until the interpreter's end.
Bound: two objects.
"""
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def add(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), BLOCK=256)
    return out


class Grudge:
    def __del__(self):
        raise RuntimeError("not without a word")


KEPT = Grudge()


def triton_kernel_wrapper(x, y):
    Grudge()
    return add(x, y)
