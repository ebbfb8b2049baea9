# SPDX-License-Identifier: Apache-2.0
import torch


def paged_attention(q, k_cache, v_cache, pages, lengths):
    outs = []
    for i, length in enumerate(lengths.tolist()):
        k, v = (cache[pages[i].long()].flatten(0, 1)[:length] for cache in (k_cache, v_cache))
        weights = torch.softmax(torch.einsum("hd,thd->ht", q[i], k) * 0.125, dim=-1)
        outs.append(torch.einsum("ht,thd->hd", weights, v))
    return torch.stack(outs)


def get_inputs():
    pages = torch.randperm(20)[:15].reshape(3, 5).to(torch.int32)
    lengths = torch.randint(1, 81, (3,), dtype=torch.int32)
    return [torch.randn(3, 4, 64), torch.randn(20, 16, 4, 64), torch.randn(20, 16, 4, 64), pages, lengths]
