"""Never gets as far as its function.

Strategy: loops while it is imported.
Bound: ends by itself after five minutes.
"""
import time

END = time.monotonic() + 300
while time.monotonic() < END:
    pass


def triton_kernel_wrapper(x, y):
    return x + y
