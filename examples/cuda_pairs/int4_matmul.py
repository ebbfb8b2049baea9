# SPDX-License-Identifier: Apache-2.0
import torch
import triton
import triton.language as tl


@triton.jit
def int4_matmul_kernel(
    x_ptr, packed_ptr, scales_ptr, out_ptr, n_rows, n_cols, n_inner,
    GROUP: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    # A program owns a tile of the output. Each step unpacks the GROUP rows of the weight that share a scale: eight rows
    # read the same word and shift it by their place in it.
    rows = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, GROUP)
    row_mask = rows[:, None] < n_rows
    col_mask = cols[None, :] < n_cols
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, n_inner, GROUP):
        k = start + inner
        x = tl.load(x_ptr + rows[:, None] * n_inner + k[None, :], mask=row_mask, other=0.0)
        words = tl.load(packed_ptr + (k // 8)[:, None] * n_cols + cols[None, :], mask=col_mask, other=0)
        scale = tl.load(scales_ptr + start // GROUP * n_cols + cols[None, :], mask=col_mask, other=0.0)
        w = (((words >> ((k % 8) * 4)[:, None]) & 15) - 8).to(tl.float32) * scale
        acc = tl.dot(x, w, acc, input_precision="ieee")
    tl.store(out_ptr + rows[:, None] * n_cols + cols[None, :], acc, mask=row_mask & col_mask)


def triton_kernel_wrapper(x, packed, scales):
    n_rows, n_inner = x.shape
    n_cols = packed.shape[1]
    out = torch.empty((n_rows, n_cols), dtype=torch.float32, device=x.device)
    BLOCK_M, BLOCK_N = 16, 64
    grid = (triton.cdiv(n_cols, BLOCK_N), triton.cdiv(n_rows, BLOCK_M))
    int4_matmul_kernel[grid](
        x, packed, scales, out, n_rows, n_cols, n_inner,
        GROUP=n_inner // scales.shape[0], BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    return out
