"""The unit in which a candidate's error is stated: what the reference itself loses against float64, once a task."""
import math
from dataclasses import dataclass

import torch
from torch.utils._pytree import tree_flatten

from .compare import names_of
from .elements import difference, rms
from .faults import TaskFault
from .tolerance import ulp
from .wide import wider

LIMIT_S = 5.0           # of the run in float64
LIMIT_BYTES = 1 << 30   # of inputs, weights and outputs: float64 needs twice the memory
LIMIT_PEAK = 4 << 30    # of device memory that the task needs at once, for the same reason

# Why an output has no unit. The supervisor knows the same words (kw::NoErrorRatio).
RANDOM, TOO_LARGE, NO_FLOAT64, NARROWED = "random", "too_large", "no_float64", "narrowed"
EXACT, FLOAT64, NONFINITE = "exact", "float64", "nonfinite"


@dataclass
class Unit:
    """Of one output: the unit, or None and why there is none."""

    value: float | None
    why: str = ""


def of_task(reference, inputs, outputs, seed, unusable=""):
    """{name of an output: its Unit}; `outputs` are the reference's own for these inputs and this seed.

    `unusable` is why nothing is to be run in float64; empty: nothing speaks against it.
    """
    named = reference.named
    own = dict(zip(names_of(outputs, named), tree_flatten(outputs)[0], strict=True))
    own = {name: each for name, each in own.items() if isinstance(each, torch.Tensor)}
    plain = {name: why for name, each in own.items() if (why := _needs_none(each))}
    if len(plain) < len(own) and not unusable:
        exact, unusable = _in_float64(reference, inputs, outputs, seed, named)
    return {name: Unit(None, plain.get(name) or unusable) if name in plain or unusable else _unit(each, exact[name])
            for name, each in own.items()}


def _needs_none(tensor):
    if not tensor.is_floating_point() and not tensor.is_complex():
        return EXACT
    return FLOAT64 if tensor.dtype == wider(tensor.dtype) else ""


def _in_float64(reference, inputs, outputs, seed, named):
    """({name: output in float64}, "" or why it is of no use)."""
    try:
        found, narrowed = reference.call_wide(inputs, seed, LIMIT_S)
    except (TaskFault, ArithmeticError, MemoryError, RuntimeError, TypeError, ValueError):
        return {}, NO_FLOAT64
    if narrowed:
        return {}, NARROWED
    if tree_flatten(found)[1] != tree_flatten(outputs)[1]:
        return {}, NO_FLOAT64
    return dict(zip(names_of(found, named), tree_flatten(found)[0], strict=True)), ""


def _unit(own, exact):
    if not isinstance(exact, torch.Tensor) or exact.shape != own.shape:
        return Unit(None, NO_FLOAT64)
    if exact.dtype != wider(own.dtype):
        return Unit(None, NARROWED)
    size = rms(own)
    if not math.isfinite(size) or not math.isfinite(rms(exact)):
        return Unit(None, NONFINITE)
    loss = difference(exact, own, lambda magnitude: torch.full_like(magnitude, math.inf)).max_abs
    return Unit(max(loss, ulp(torch.tensor(size, dtype=torch.float64), own.dtype).item()))
