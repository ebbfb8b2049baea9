"""Prints without end.

Strategy: writes 1 GB to its standard output and error, then does its work.
Bound: 1 GB a process.
"""
import os

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


def flood():
    block = b"all work and no play\n" * 3000
    for written in range(0, 1 << 30, 2 * len(block)):
        os.write(1, block)
        os.write(2, block)


flood()


def triton_kernel_wrapper(x, y):
    return add(x, y)
