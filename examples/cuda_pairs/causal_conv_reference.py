# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn.functional as F


def causal_conv(x, state, weight, bias):
    width, n_channels = weight.shape
    rows = torch.cat([state, x], dim=1)
    out = F.conv1d(rows.transpose(1, 2), weight.T[:, None, :], bias, groups=n_channels).transpose(1, 2)
    return F.silu(out), rows[:, -(width - 1):]


def get_inputs():
    return [torch.randn(2, 70, 90), torch.randn(2, 3, 90), torch.randn(4, 90), torch.randn(90)]
