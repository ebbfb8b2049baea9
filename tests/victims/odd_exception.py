"""Raises an exception that cannot be printed.

Strategy: an exception whose texts and attributes raise themselves.
Bound: one raise.
"""



class Unprintable(Exception):
    def __str__(self):
        raise self

    __repr__ = __str__

    def __getattribute__(self, name):
        raise self


def triton_kernel_wrapper(x, y):
    raise Unprintable
