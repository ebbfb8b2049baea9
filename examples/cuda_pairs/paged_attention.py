# SPDX-License-Identifier: Apache-2.0
import torch
import triton
import triton.language as tl


@triton.jit
def paged_attention_kernel(
    q_ptr, k_cache_ptr, v_cache_ptr, pages_ptr, lengths_ptr, out_ptr, n_heads, max_pages, scale,
    PAGE: tl.constexpr, HEAD_DIM: tl.constexpr,
):
    # A program owns a head of a sequence and walks over its pages with an online softmax. The first page has at least
    # one token, so the peak is finite from there on.
    head = tl.program_id(0)
    sequence = tl.program_id(1)
    dims = tl.arange(0, HEAD_DIM)
    slots = tl.arange(0, PAGE)
    q = tl.load(q_ptr + (sequence * n_heads + head) * HEAD_DIM + dims) * scale
    length = tl.load(lengths_ptr + sequence)
    peak = float("-inf")
    total = 0.0
    acc = tl.zeros((HEAD_DIM,), dtype=tl.float32)
    for number in range(tl.cdiv(length, PAGE)):
        page = tl.load(pages_ptr + sequence * max_pages + number).to(tl.int64)
        mask = number * PAGE + slots < length
        rows = (page * PAGE + slots) * n_heads + head
        offs = rows[:, None] * HEAD_DIM + dims[None, :]
        k = tl.load(k_cache_ptr + offs, mask=mask[:, None], other=0.0)
        v = tl.load(v_cache_ptr + offs, mask=mask[:, None], other=0.0)
        scores = tl.where(mask, tl.sum(k * q[None, :], axis=1), float("-inf"))
        new_peak = tl.maximum(peak, tl.max(scores, axis=0))
        rescale = tl.exp(peak - new_peak)
        weights = tl.exp(scores - new_peak)
        total = total * rescale + tl.sum(weights, axis=0)
        acc = acc * rescale + tl.sum(weights[:, None] * v, axis=0)
        peak = new_peak
    tl.store(out_ptr + (sequence * n_heads + head) * HEAD_DIM + dims, acc / total)


def triton_kernel_wrapper(q, k_cache, v_cache, pages, lengths):
    n_sequences, n_heads, head_dim = q.shape
    out = torch.empty_like(q)
    paged_attention_kernel[(n_heads, n_sequences)](
        q, k_cache, v_cache, pages, lengths, out, n_heads, pages.shape[1], head_dim ** -0.5,
        PAGE=k_cache.shape[1], HEAD_DIM=head_dim)
    return out
