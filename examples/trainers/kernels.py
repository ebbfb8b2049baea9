"""The taskset of a service for verifiers: with this folder on the path, `kernels` is its id."""
from kernelwright.verifiers import KernelTaskset

__all__ = ["KernelTaskset"]
