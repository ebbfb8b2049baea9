"""Aborts the process.

Strategy: raises SIGABRT in its own process.
Bound: one call.
"""
import os


def triton_kernel_wrapper(x, y):
    os.abort()
