"""Takes the CPUs from its neighbours, and never returns.

Strategy: two processes compute in a loop while the candidate waits.
Bound: the two end by themselves after ten seconds, the candidate after five minutes.
"""
import os
import time

PROCESSES, SECONDS = 2, 10


def burn(end):
    while time.monotonic() < end:
        pass
    os._exit(0)


def triton_kernel_wrapper(x, y):
    end = time.monotonic() + SECONDS
    for _ in range(PROCESSES):
        if os.fork() == 0:
            burn(end)
    time.sleep(300)
    return x + y
