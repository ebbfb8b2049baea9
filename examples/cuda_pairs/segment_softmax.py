# SPDX-License-Identifier: Apache-2.0
import torch
import triton
import triton.language as tl


@triton.jit
def segment_softmax_kernel(values_ptr, offsets_ptr, out_ptr, BLOCK: tl.constexpr):
    # One program per segment. The first loop finds maximum and sum together; the second one writes.
    segment = tl.program_id(0)
    begin = tl.load(offsets_ptr + segment)
    end = tl.load(offsets_ptr + segment + 1)
    peak = float("-inf")
    total = 0.0
    for start in range(begin, end, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        v = tl.load(values_ptr + offs, mask=offs < end, other=float("-inf"))
        new_peak = tl.maximum(peak, tl.max(v, axis=0))
        total = total * tl.exp(peak - new_peak) + tl.sum(tl.exp(v - new_peak), axis=0)
        peak = new_peak
    for start in range(begin, end, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        v = tl.load(values_ptr + offs, mask=offs < end, other=float("-inf"))
        tl.store(out_ptr + offs, tl.exp(v - peak) / total, mask=offs < end)


def triton_kernel_wrapper(values, offsets):
    out = torch.empty_like(values)
    n_segments = offsets.shape[0] - 1
    segment_softmax_kernel[(n_segments,)](values, offsets, out, BLOCK=128)
    return out
