# SPDX-License-Identifier: Apache-2.0
import torch
import triton
import triton.language as tl


@triton.jit
def moe_gating_kernel(
    logits_ptr, weights_ptr, experts_ptr, n_tokens,
    EXPERTS: tl.constexpr, CHOSEN: tl.constexpr, BLOCK: tl.constexpr,
):
    # A program owns BLOCK tokens. Each round takes the best expert that is left out of every row; of equal logits
    # argmax takes the first.
    tokens = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    experts = tl.arange(0, EXPERTS)
    slots = tl.arange(0, CHOSEN)
    mask = tokens[:, None] < n_tokens
    left = tl.load(logits_ptr + tokens[:, None] * EXPERTS + experts[None, :], mask=mask, other=0.0)
    peak = tl.max(left, axis=1)
    weights = tl.zeros((BLOCK, CHOSEN), dtype=tl.float32)
    chosen = tl.zeros((BLOCK, CHOSEN), dtype=tl.int32)
    for k in tl.static_range(CHOSEN):
        best = tl.max(left, axis=1)
        best_expert = tl.argmax(left, axis=1)
        weights = tl.where(slots[None, :] == k, tl.exp(best - peak)[:, None], weights)
        chosen = tl.where(slots[None, :] == k, best_expert[:, None], chosen)
        left = tl.where(experts[None, :] == best_expert[:, None], float("-inf"), left)
    weights = weights / tl.sum(weights, axis=1)[:, None]
    offs = tokens[:, None] * CHOSEN + slots[None, :]
    tl.store(weights_ptr + offs, weights, mask=mask)
    tl.store(experts_ptr + offs, chosen, mask=mask)


def triton_kernel_wrapper(logits):
    n_tokens, n_experts = logits.shape
    CHOSEN = 4
    weights = torch.empty((n_tokens, CHOSEN), dtype=torch.float32, device=logits.device)
    experts = torch.empty((n_tokens, CHOSEN), dtype=torch.int32, device=logits.device)
    BLOCK = 16
    grid = (triton.cdiv(n_tokens, BLOCK),)
    moe_gating_kernel[grid](logits, weights, experts, n_tokens, EXPERTS=n_experts, CHOSEN=CHOSEN, BLOCK=BLOCK)
    return weights, experts
