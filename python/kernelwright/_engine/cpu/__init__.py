"""Runs candidates without a GPU: `interpret` runs kernels, `compile_only` compiles them for sm_90.

A process imports one of the two, because Triton chooses its mode when it is imported. This package imports neither.
"""
