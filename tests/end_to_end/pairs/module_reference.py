"""A module with weights, without get_inputs."""
import torch
from torch import nn


class GatedLinear(nn.Module):
    def __init__(self, in_features=24, out_features=10):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.gate = nn.Parameter(torch.ones(out_features))

    def forward(self, x):
        return torch.relu(self.linear(x)) * self.gate
