import torch
import torch.nn as nn


class SigmoidGate(nn.Module):
    """Lets the second half of the features gate the first."""

    def forward(self, x):
        value, gate = x.chunk(2, dim=-1)
        return value * torch.sigmoid(gate)


class GatedUnit(nn.Module):
    """A linear layer whose output gates itself."""

    def __init__(self, features, hidden):
        super(GatedUnit, self).__init__()
        self.fc = nn.Linear(features, 2 * hidden)
        self.gate = SigmoidGate()

    def forward(self, x):
        return self.gate(self.fc(x))


def get_inputs():
    return [torch.randn([5, 9, 40])]


def get_init_inputs():
    return [[], {'features': 40, 'hidden': 24}]
