"""Takes all memory.

Strategy: allocates and touches 256 MiB at a time, and keeps it.
Bound: 64 GB, or until the machine has less than 2 GiB left; asks to be the first that the kernel ends.
"""
import torch

STEP, STEPS = 256 << 20, 256


def volunteer():
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        pass


def machine_is_full():
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            left = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return False
    return left < 2 << 20


def triton_kernel_wrapper(x, y):
    volunteer()
    kept = []
    for _ in range(STEPS):
        if machine_is_full():
            break
        kept.append(torch.ones(STEP, dtype=torch.uint8))
    return torch.zeros_like(x)
