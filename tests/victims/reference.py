"""The reference of every victim: the sum of two vectors of 1000 floats."""
import torch
import torch.nn as nn

SIZE = 1000


class Model(nn.Module):
    def forward(self, x, y):
        return x + y


def get_inputs():
    return [torch.randn(SIZE), torch.randn(SIZE)]


def get_init_inputs():
    return []
