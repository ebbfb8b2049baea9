"""Kernelwright: judges Triton kernels against PyTorch references. See docs/python-api.md.

Exported names are imported at their first use, because runner processes import this package too.
"""
import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .api import benchmark_batch, benchmark_kernelbench, benchmark_triton_kernel
    from .client import Client, Conversation, Evaluation, Evaluator, Refused, ServiceError, Unreachable
    from .judging import NotSelfContained, judge
    from .program import VerifierError
    from .rewards import KernelReward
    from .verdict import Verdict

    __version__: str

__all__ = ["Client", "Conversation", "Evaluation", "Evaluator", "KernelReward", "NotSelfContained", "Refused", "ServiceError",
           "Unreachable", "Verdict", "VerifierError", "benchmark_batch", "benchmark_kernelbench", "benchmark_triton_kernel",
           "judge"]

_CLIENT = ("Client", "Conversation", "Evaluation", "Evaluator", "Refused", "ServiceError", "Unreachable")
_MODULES = dict.fromkeys(_CLIENT, ".client")
_MODULES |= {"KernelReward": ".rewards", "NotSelfContained": ".judging", "Verdict": ".verdict", "VerifierError": ".program",
             "judge": ".judging"}


def __getattr__(name: str) -> object:
    if name == "__version__":
        return importlib.import_module(".launcher", __name__).version()
    if name in __all__:
        return getattr(importlib.import_module(_MODULES.get(name, ".api"), __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
