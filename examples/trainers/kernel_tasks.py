"""The taskset of a service for verifiers: with this folder on the path, `kernel_tasks` is its id. The name `kernels` is that
of a package which transformers imports."""
from kernelwright.verifiers import KernelTaskset

__all__ = ["KernelTaskset"]
