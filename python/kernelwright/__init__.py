"""Kernelwright: judges Triton kernels against PyTorch references. See docs/python-api.md.

What is exported here is imported when it is first asked for: runner processes import this package too.
"""
import importlib

_API = ("VerifierError", "benchmark_batch", "benchmark_kernelbench", "benchmark_triton_kernel")

__all__ = list(_API)


def __getattr__(name):
    if name in _API:
        return getattr(importlib.import_module(".api", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_API])
