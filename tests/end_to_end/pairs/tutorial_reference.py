"""A function of any name, as Triton's tutorials compare with."""
import torch


def naive_softmax(x):
    return torch.softmax(x, dim=-1)
