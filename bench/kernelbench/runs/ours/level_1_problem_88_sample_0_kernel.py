"""KernelBench level 1, problem 88 (MinGPT NewGELU): seven element-wise steps of the reference in one pass."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def new_gelu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, eviction_policy="evict_first")
    z = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    # x/2 * (1 + tanh(z)) = x * sigmoid(2z); exp may overflow to infinity, and the quotient is then zero.
    y = x / (1.0 + tl.exp(-2.0 * z))
    tl.store(out_ptr + offsets, y, mask=mask, eviction_policy="evict_first")


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        n = x.numel()
        block = 2048
        new_gelu_kernel[(triton.cdiv(n, block),)](x, out, n, BLOCK=block, num_warps=8)
        return out
