"""Never reaches its function.

Strategy: loops at import.
Bound: ends by itself after five minutes.
"""
import time

END = time.monotonic() + 300
while time.monotonic() < END:
    pass


def triton_kernel_wrapper(x, y):
    return x + y
