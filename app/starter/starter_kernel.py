"""A Triton kernel that replaces the function of starter_reference.py."""
import torch
import triton
import triton.language as tl


@triton.jit
def starter_kernel(x_ptr, bias_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    # One program computes BLOCK columns of one row.
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    # BLOCK is a power of two and n_cols is not: lanes past the end must neither read nor write.
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    bias = tl.load(bias_ptr + cols, mask=mask, other=0.0)
    tl.store(out_ptr + row * n_cols + cols, tl.maximum(x + bias, 0.0), mask=mask)


def triton_kernel_wrapper(x, bias):
    # The verifier calls this function with the inputs of the reference. A class `ModelNew` works as well.
    x, bias = x.contiguous(), bias.contiguous()
    out = torch.empty_like(x)
    n_rows, n_cols = x.shape
    starter_kernel[(n_rows, triton.cdiv(n_cols, 128))](x, bias, out, n_cols, BLOCK=128)
    return out
