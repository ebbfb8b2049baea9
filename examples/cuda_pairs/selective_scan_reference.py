# SPDX-License-Identifier: Apache-2.0
import torch


def selective_scan(x, delta, a, b, c, skip):
    h = torch.zeros(x.shape[0], *a.shape, dtype=x.dtype, device=x.device)
    outs = []
    for step in range(x.shape[1]):
        width, value = delta[:, step, :, None], x[:, step, :, None]
        h = torch.exp(width * a) * h + width * b[:, step, None, :] * value
        outs.append((h * c[:, step, None, :]).sum(dim=-1) + skip * x[:, step])
    return torch.stack(outs, dim=1)


def get_inputs():
    x, delta = torch.randn(2, 30, 50), torch.rand(2, 30, 50) * 0.2 + 0.01
    b, c = torch.randn(2, 30, 16), torch.randn(2, 30, 16)
    return [x, delta, -torch.rand(50, 16) * 4 - 0.1, b, c, torch.randn(50)]
