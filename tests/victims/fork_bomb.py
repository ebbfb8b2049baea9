"""Forks repeatedly.

Strategy: every process forks, and so do its children, for eight rounds; they outlive their parent.
Bound: at most 255 forks, once a process; children end by themselves after 50 seconds.
"""
import os
import time

ROUNDS = 8


def triton_kernel_wrapper(x, y):
    origin, refused = os.getpid(), 0
    for _ in range(ROUNDS):
        try:
            os.fork()
        except OSError:
            refused += 1
    if os.getpid() != origin:
        time.sleep(50)
        os._exit(0)
    raise RuntimeError(f"forked; {refused} of {ROUNDS} rounds refused")
