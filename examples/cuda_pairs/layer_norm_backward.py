# SPDX-License-Identifier: Apache-2.0
import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_backward_kernel(
    x_ptr, weight_ptr, grad_y_ptr, grad_x_ptr, partial_weight_ptr, partial_bias_ptr, n_rows, n_cols,
    EPS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):
    # The first pass: a program owns ROWS rows, one after the other. The sums for weight and bias stay in registers and
    # are written once.
    program = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0)
    sum_weight = tl.zeros((BLOCK,), dtype=tl.float32)
    sum_bias = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(program * ROWS, tl.minimum((program + 1) * ROWS, n_rows)):
        x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
        grad_y = tl.load(grad_y_ptr + row * n_cols + cols, mask=mask, other=0.0)
        centred = tl.where(mask, x - tl.sum(x, axis=0) / n_cols, 0.0)
        rstd = tl.rsqrt(tl.sum(centred * centred, axis=0) / n_cols + EPS)
        normalised = centred * rstd
        grad = grad_y * weight
        grad_mean = tl.sum(grad, axis=0) / n_cols
        dot_mean = tl.sum(grad * normalised, axis=0) / n_cols
        tl.store(grad_x_ptr + row * n_cols + cols, (grad - grad_mean - normalised * dot_mean) * rstd, mask=mask)
        sum_weight += grad_y * normalised
        sum_bias += grad_y
    tl.store(partial_weight_ptr + program * n_cols + cols, sum_weight, mask=mask)
    tl.store(partial_bias_ptr + program * n_cols + cols, sum_bias, mask=mask)


@triton.jit
def sum_partials_kernel(
    partial_weight_ptr, partial_bias_ptr, grad_weight_ptr, grad_bias_ptr, n_partials, n_cols,
    BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr,
):
    # The second pass adds the partial sums of all programs, in tiles of BLOCK_P by BLOCK_C.
    cols = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    weight = tl.zeros((BLOCK_P, BLOCK_C), dtype=tl.float32)
    bias = tl.zeros((BLOCK_P, BLOCK_C), dtype=tl.float32)
    for start in range(0, n_partials, BLOCK_P):
        rows = start + tl.arange(0, BLOCK_P)
        mask = (rows[:, None] < n_partials) & (cols[None, :] < n_cols)
        offs = rows[:, None] * n_cols + cols[None, :]
        weight += tl.load(partial_weight_ptr + offs, mask=mask, other=0.0)
        bias += tl.load(partial_bias_ptr + offs, mask=mask, other=0.0)
    tl.store(grad_weight_ptr + cols, tl.sum(weight, axis=0), mask=cols < n_cols)
    tl.store(grad_bias_ptr + cols, tl.sum(bias, axis=0), mask=cols < n_cols)


def triton_kernel_wrapper(x, weight, grad_y):
    n_rows, n_cols = x.shape
    ROWS, BLOCK_C = 8, 64
    n_partials = triton.cdiv(n_rows, ROWS)
    grad_x, grad_weight, grad_bias = torch.empty_like(x), torch.empty_like(weight), torch.empty_like(weight)
    partial_weight = torch.empty((n_partials, n_cols), dtype=torch.float32, device=x.device)
    partial_bias = torch.empty_like(partial_weight)
    layer_norm_backward_kernel[(n_partials,)](
        x, weight, grad_y, grad_x, partial_weight, partial_bias, n_rows, n_cols,
        EPS=1e-5, ROWS=ROWS, BLOCK=triton.next_power_of_2(n_cols))
    sum_partials_kernel[(triton.cdiv(n_cols, BLOCK_C),)](
        partial_weight, partial_bias, grad_weight, grad_bias, n_partials, n_cols, BLOCK_P=4, BLOCK_C=BLOCK_C)
    return grad_x, grad_weight, grad_bias
