import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """GELU in its tanh approximation."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        return F.gelu(x, approximate="tanh")


batch_size = 60
dim = 500


def get_inputs():
    return [2.0 * torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
