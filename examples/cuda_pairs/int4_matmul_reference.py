# SPDX-License-Identifier: Apache-2.0
import torch


def int4_matmul(x, packed, scales):
    shifts = torch.arange(0, 32, 4, device=packed.device)
    bits = (packed[:, None, :] >> shifts[None, :, None]) & 15
    weight = (bits.flatten(0, 1) - 8).to(x.dtype) * scales.repeat_interleave(32, dim=0)
    return x @ weight


def get_inputs():
    packed = torch.randint(-2**31, 2**31 - 1, (16, 100), dtype=torch.int32)
    return [torch.randn(40, 128), packed, torch.rand(4, 100) * 0.1 + 0.05]
