"""Softmax of rows in Triton: the twin of row_softmax.cu."""
import torch
import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    """One program computes one row; BLOCK is at least n_cols."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * n_cols + cols, numerator / tl.sum(numerator, axis=0), mask=mask)


def row_softmax(x):
    """The softmax of each row of a matrix."""
    x = x.contiguous()
    out = torch.empty_like(x)
    n_rows, n_cols = x.shape
    row_softmax_kernel[(n_rows,)](x, out, n_cols, BLOCK=triton.next_power_of_2(n_cols))
    return out
