"""Pairs of a CUDA C++ kernel and a Triton kernel, with a PyTorch reference, written from one description."""
