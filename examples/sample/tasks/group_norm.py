import torch
import torch.nn as nn


class GroupNormAct(nn.Module):
    """Group normalisation and a ReLU."""

    def __init__(self, channels, groups):
        super(GroupNormAct, self).__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        return torch.relu(self.norm(x))


def get_inputs():
    return [1.0 + torch.randn([3, 6, 5, 7])]


def get_init_inputs():
    return [[], {'channels': 6, 'groups': 2}]
