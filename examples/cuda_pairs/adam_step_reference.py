# SPDX-License-Identifier: Apache-2.0
import torch


def adam_step(param, grad):
    moment1, moment2 = (1 - 0.9) * grad, (1 - 0.999) * grad * grad
    step = 1e-3 * (moment1 / (1 - 0.9)) / (torch.sqrt(moment2 / (1 - 0.999)) + 1e-8)
    return param - step, moment1, moment2


def get_inputs():
    return [torch.randn(3000), torch.randn(3000)]
