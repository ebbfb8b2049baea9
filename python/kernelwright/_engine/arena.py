"""Tensors in memory that two processes share: a memory file, or a device allocation.

A mapping lives as long as its last tensor, beyond close(), because a candidate may keep its inputs.
"""
from .cpu_arena import CpuArena
from .cuda_arena import CudaArena


def open_arena(fd, size, device, wanted=0):
    """The arena behind a descriptor, on CUDA device `device`, or on the CPU where `device` is negative.

    On a device it is mapped at the address `wanted`, unless that is 0.
    """
    if device < 0:
        return CpuArena.map(fd, size)
    return CudaArena.import_fd(fd, size, device, wanted)


def create_arena(size, device):
    """A new arena on this device."""
    if device < 0:
        return CpuArena.create(size)
    return CudaArena.create(size, device)
