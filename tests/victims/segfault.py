"""Crashes the process.

Strategy: reads 64 TiB behind an array, through a strided view.
Bound: one read.
"""
import numpy


def triton_kernel_wrapper(x, y):
    far = numpy.lib.stride_tricks.as_strided(numpy.zeros(1, numpy.float32), shape=(2,), strides=(1 << 46,))
    return x + float(far[1])
