# SPDX-License-Identifier: Apache-2.0
import torch
import triton
import triton.language as tl


@triton.jit
def selective_scan_kernel(
    x_ptr, delta_ptr, a_ptr, b_ptr, c_ptr, skip_ptr, out_ptr, n_steps, n_channels,
    STATES: tl.constexpr, BLOCK: tl.constexpr,
):
    # A program owns BLOCK channels of a sequence and keeps all their states in registers, from step to step.
    sequence = tl.program_id(1)
    x_ptr += sequence * n_steps * n_channels
    delta_ptr += sequence * n_steps * n_channels
    out_ptr += sequence * n_steps * n_channels
    b_ptr += sequence * n_steps * STATES
    c_ptr += sequence * n_steps * STATES
    channels = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    states = tl.arange(0, STATES)
    mask = channels < n_channels
    decay = tl.load(a_ptr + channels[:, None] * STATES + states[None, :], mask=mask[:, None], other=0.0)
    skip = tl.load(skip_ptr + channels, mask=mask, other=0.0)
    h = tl.zeros((BLOCK, STATES), dtype=tl.float32)
    for step in range(n_steps):
        x = tl.load(x_ptr + step * n_channels + channels, mask=mask, other=0.0)
        delta = tl.load(delta_ptr + step * n_channels + channels, mask=mask, other=0.0)
        b = tl.load(b_ptr + step * STATES + states)
        c = tl.load(c_ptr + step * STATES + states)
        h = tl.exp(delta[:, None] * decay) * h + (delta * x)[:, None] * b[None, :]
        out = tl.sum(h * c[None, :], axis=1) + skip * x
        tl.store(out_ptr + step * n_channels + channels, out, mask=mask)


def triton_kernel_wrapper(x, delta, a, b, c, skip):
    n_sequences, n_steps, n_channels = x.shape
    out = torch.empty_like(x)
    BLOCK = 32
    grid = (triton.cdiv(n_channels, BLOCK), n_sequences)
    selective_scan_kernel[grid](
        x, delta, a, b, c, skip, out, n_steps, n_channels, STATES=a.shape[1], BLOCK=BLOCK)
    return out
