import torch
import torch.nn as nn


class ChannelAffine(nn.Module):
    """A learnt gain and offset for every channel, then a ReLU."""

    def __init__(self, channels):
        super(ChannelAffine, self).__init__()
        self.gain = nn.Parameter(torch.ones(channels))
        self.offset = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        shape = (1, -1, 1, 1)
        return torch.relu(x * self.gain.view(shape) + self.offset.view(shape))


def get_inputs():
    return [torch.randn([3, 8, 9, 7])]


def get_init_inputs():
    return [[], {'channels': 8}]
