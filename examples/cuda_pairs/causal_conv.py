# SPDX-License-Identifier: Apache-2.0
import torch
import triton
import triton.language as tl


@triton.jit
def rows_at(x_ptr, state_ptr, steps, channels, n_steps, n_channels, WIDTH: tl.constexpr):
    # The rows of the sequence with the state before it: steps -(WIDTH - 1) to -1 are the state's.
    in_columns = channels[None, :] < n_channels
    in_x = (steps[:, None] >= 0) & (steps[:, None] < n_steps) & in_columns
    in_state = (steps[:, None] < 0) & (steps[:, None] > -WIDTH) & in_columns
    new = tl.load(x_ptr + steps[:, None] * n_channels + channels[None, :], mask=in_x, other=0.0)
    rows = steps[:, None] + WIDTH - 1
    old = tl.load(state_ptr + rows * n_channels + channels[None, :], mask=in_state, other=0.0)
    return tl.where(steps[:, None] < 0, old, new)


@triton.jit
def causal_conv_kernel(
    x_ptr, state_ptr, weight_ptr, bias_ptr, out_ptr, next_state_ptr, n_steps, n_channels,
    WIDTH: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr,
):
    # A program owns a tile of steps and channels, and reads the tile once for each tap, shifted by one step.
    sequence = tl.program_id(2)
    x_ptr += sequence * n_steps * n_channels
    out_ptr += sequence * n_steps * n_channels
    state_ptr += sequence * (WIDTH - 1) * n_channels
    next_state_ptr += sequence * (WIDTH - 1) * n_channels
    channels = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    steps = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)
    in_columns = channels < n_channels
    bias = tl.load(bias_ptr + channels, mask=in_columns, other=0.0)
    acc = tl.zeros((BLOCK_T, BLOCK_C), dtype=tl.float32) + bias[None, :]
    for tap in tl.static_range(WIDTH):
        w = tl.load(weight_ptr + tap * n_channels + channels, mask=in_columns, other=0.0)
        rows = rows_at(x_ptr, state_ptr, steps - (WIDTH - 1) + tap, channels, n_steps, n_channels, WIDTH)
        acc += w[None, :] * rows
    mask = (steps[:, None] < n_steps) & in_columns[None, :]
    tl.store(out_ptr + steps[:, None] * n_channels + channels[None, :], acc * tl.sigmoid(acc), mask=mask)

    # The programs of the first tile also write the last WIDTH - 1 rows, where the next part begins.
    if tl.program_id(1) == 0:
        slots = tl.arange(0, triton.next_power_of_2(WIDTH))
        last = rows_at(x_ptr, state_ptr, n_steps - (WIDTH - 1) + slots, channels, n_steps, n_channels, WIDTH)
        is_state = (slots[:, None] < WIDTH - 1) & in_columns[None, :]
        tl.store(next_state_ptr + slots[:, None] * n_channels + channels[None, :], last, mask=is_state)


def triton_kernel_wrapper(x, state, weight, bias):
    n_sequences, n_steps, n_channels = x.shape
    out, next_state = torch.empty_like(x), torch.empty_like(state)
    BLOCK_T, BLOCK_C = 32, 64
    grid = (triton.cdiv(n_channels, BLOCK_C), triton.cdiv(n_steps, BLOCK_T), n_sequences)
    causal_conv_kernel[grid](
        x, state, weight, bias, out, next_state, n_steps, n_channels,
        WIDTH=weight.shape[0], BLOCK_T=BLOCK_T, BLOCK_C=BLOCK_C)
    return out, next_state
