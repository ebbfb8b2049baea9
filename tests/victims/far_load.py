"""Reads far behind its input.

Strategy: an unmasked load 256 GiB behind the end.
Bound: one launch.
"""
import torch
import triton
import triton.language as tl


@triton.jit
def far_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets.to(tl.int64) + (1 << 36)), mask=offsets < n)


def triton_kernel_wrapper(x, y):
    out = torch.empty_like(x)
    far_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out
