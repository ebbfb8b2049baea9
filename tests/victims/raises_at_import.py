"""Raises while it is imported.

Strategy: an exception of its own.
Bound: one raise.
"""



class Refusal(Exception):
    pass


raise Refusal("not today")


def triton_kernel_wrapper(x, y):
    return x + y
