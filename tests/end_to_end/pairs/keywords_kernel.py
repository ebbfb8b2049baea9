"""A wrapper with the reference's name and keywords, and one of its own; a helper has another name."""
import torch
import triton
import triton.language as tl


@triton.jit
def scale_shift_kernel(x_ptr, out_ptr, count, scale, shift, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < count, other=0.0)
    tl.store(out_ptr + at, x * scale + shift, mask=at < count)


def grid_of(x, block):
    return (triton.cdiv(x.numel(), block),)


def scale_shift(x, *, scale=2.0, shift=0.5, block=64):
    out = torch.empty_like(x)
    scale_shift_kernel[grid_of(x, block)](x, out, x.numel(), scale, shift, BLOCK=block)
    return out
