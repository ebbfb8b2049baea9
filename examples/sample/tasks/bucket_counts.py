"""How many entries of a row fall into each of eight buckets (integer output)."""
import torch
import torch.nn.functional as F


def reference_impl(x):
    bucket = ((x.clamp(-2.0, 1.99) + 2.0) * 2.0).to(torch.int64)
    return F.one_hot(bucket, 8).sum(dim=1)
