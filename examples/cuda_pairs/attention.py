# SPDX-License-Identifier: Apache-2.0
import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, n_queries, n_keys, scale,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    # A program owns BLOCK_M queries and walks over the keys in blocks of BLOCK_N. Sum and output are rescaled
    # whenever the maximum of a row grows, so no score leaves the program.
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, HEAD_DIM)
    row_mask = rows[:, None] < n_queries
    q = tl.load(q_ptr + rows[:, None] * HEAD_DIM + dims[None, :], mask=row_mask, other=0.0) * scale
    peak = tl.full((BLOCK_M,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    for start in range(0, n_keys, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        key_mask = keys < n_keys
        k = tl.load(k_ptr + keys[None, :] * HEAD_DIM + dims[:, None], mask=key_mask[None, :], other=0.0)
        v = tl.load(v_ptr + keys[:, None] * HEAD_DIM + dims[None, :], mask=key_mask[:, None], other=0.0)
        scores = tl.dot(q, k, input_precision="ieee")
        scores = tl.where(key_mask[None, :], scores, float("-inf"))
        new_peak = tl.maximum(peak, tl.max(scores, axis=1))
        rescale = tl.exp(peak - new_peak)
        weights = tl.exp(scores - new_peak[:, None])
        total = total * rescale + tl.sum(weights, axis=1)
        acc = tl.dot(weights, v, acc * rescale[:, None], input_precision="ieee")
        peak = new_peak
    tl.store(out_ptr + rows[:, None] * HEAD_DIM + dims[None, :], acc / total[:, None], mask=row_mask)


def triton_kernel_wrapper(q, k, v):
    n_queries, head_dim = q.shape
    out = torch.empty_like(q)
    BLOCK_M = 32
    grid = (triton.cdiv(n_queries, BLOCK_M),)
    attention_kernel[grid](
        q, k, v, out, n_queries, k.shape[0], head_dim ** -0.5, HEAD_DIM=head_dim, BLOCK_M=BLOCK_M, BLOCK_N=32)
    return out
