"""A kernel that never ends.

Strategy: waits on the GPU for a flag in memory that is never set.
Bound: gives up after 2^30 reads, some minutes; it ends with its context before that.
"""
import torch
import triton
import triton.language as tl


@triton.jit
def wait_kernel(x_ptr, y_ptr, out_ptr, flag_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    reads = 0
    while (tl.load(flag_ptr, volatile=True) == 0) & (reads < 1 << 30):
        reads += 1
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def triton_kernel_wrapper(x, y):
    out = torch.empty_like(x)
    flag = torch.zeros(1, dtype=torch.int32, device=x.device)
    wait_kernel[(triton.cdiv(x.numel(), 256),)](x, y, out, flag, x.numel(), BLOCK=256)
    return out
