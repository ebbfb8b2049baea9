# SPDX-License-Identifier: Apache-2.0
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_backward_kernel(y_ptr, grad_y_ptr, grad_x_ptr, n_cols, BLOCK: tl.constexpr):
    # One program per row. Masked elements are zero and add nothing to the dot product.
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    y = tl.load(y_ptr + row * n_cols + cols, mask=mask, other=0.0)
    grad_y = tl.load(grad_y_ptr + row * n_cols + cols, mask=mask, other=0.0)
    dot = tl.sum(y * grad_y, axis=0)
    tl.store(grad_x_ptr + row * n_cols + cols, y * (grad_y - dot), mask=mask)


def triton_kernel_wrapper(y, grad_y):
    n_rows, n_cols = y.shape
    grad_x = torch.empty_like(y)
    softmax_backward_kernel[(n_rows,)](y, grad_y, grad_x, n_cols, BLOCK=triton.next_power_of_2(n_cols))
    return grad_x
