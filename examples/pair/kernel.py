"""A Triton kernel for reference.py: kernelwright verify examples/pair/reference.py examples/pair/kernel.py"""
import torch
import triton
import triton.language as tl


@triton.jit
def square_shift_relu_kernel(x_ptr, shift_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    shift = tl.load(shift_ptr + cols, mask=mask, other=0.0)
    tl.store(out_ptr + row * n_cols + cols, tl.maximum(x * x + shift, 0.0), mask=mask)


def triton_kernel_wrapper(x, shift):
    x, shift = x.contiguous(), shift.contiguous()
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    grid = (n_rows, triton.cdiv(n_cols, 256))
    square_shift_relu_kernel[grid](x, shift, out, n_cols, BLOCK=256)
    return out
