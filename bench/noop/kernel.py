"""Copies one element: next to no work, so that what is measured is the engine around it."""
import torch
import triton
import triton.language as tl


@triton.jit
def copy_one(x_ptr, out_ptr):
    tl.store(out_ptr, tl.load(x_ptr))


def triton_kernel_wrapper(x):
    out = torch.empty_like(x)
    copy_one[(1,)](x, out)
    return out
