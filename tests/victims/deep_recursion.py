"""Recurses without end.

Strategy: through C frames, with the interpreter's own limit lifted.
Bound: a million levels, or the end of the stack.
"""
import sys


class Deep:
    level = 0

    def __repr__(self):
        Deep.level += 1
        return "" if Deep.level > 1_000_000 else repr([self])


def triton_kernel_wrapper(x, y):
    sys.setrecursionlimit(1 << 30)
    repr(Deep())
    return x - y
