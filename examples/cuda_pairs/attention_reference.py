# SPDX-License-Identifier: Apache-2.0
import torch


def attention(q, k, v):
    return torch.softmax(q @ k.T * 0.125, dim=-1) @ v


def get_inputs():
    return [torch.randn(70, 64), torch.randn(100, 64), torch.randn(100, 64)]
