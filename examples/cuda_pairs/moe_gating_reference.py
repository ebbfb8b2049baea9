# SPDX-License-Identifier: Apache-2.0
import torch


def moe_gating(logits):
    ordered, experts = torch.sort(logits, dim=-1, descending=True, stable=True)
    return torch.softmax(ordered[:, :4], dim=-1), experts[:, :4].to(torch.int32)


def get_inputs():
    return [torch.randn(75, 64)]
