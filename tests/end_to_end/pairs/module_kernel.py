"""A module with the same weights, under a name of its own."""
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_gate(x_ptr, gate_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=inside, other=0.0)
    gate = tl.load(gate_ptr + cols, mask=inside, other=0.0)
    tl.store(out_ptr + row * n_cols + cols, tl.maximum(x, 0.0) * gate, mask=inside)


class TritonGatedLinear(nn.Module):
    def __init__(self, in_features=24, out_features=10):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.gate = nn.Parameter(torch.ones(out_features))

    def forward(self, x):
        x = self.linear(x)
        out = torch.empty_like(x)
        relu_gate[(x.shape[0],)](x, self.gate, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return out
