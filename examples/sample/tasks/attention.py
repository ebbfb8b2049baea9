import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """Causal scaled dot-product attention, written out."""

    def __init__(self):
        super().__init__()

    def forward(self, q, k, v):
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
        length = q.shape[-2]
        future = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, float("-inf")), dim=-1)
        return torch.matmul(weights, v)


batch = 2
heads = 3
length = 80
head_dim = 32


def get_inputs():
    return [torch.randn(batch, heads, length, head_dim) for _ in range(3)]


def get_init_inputs():
    return []
