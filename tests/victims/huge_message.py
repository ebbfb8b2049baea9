"""Raises a message of 100 MB.

Strategy: the verdict should not contain it.
Bound: 100 MB.
"""



def triton_kernel_wrapper(x, y):
    raise ValueError("no " * 35_000_000)
