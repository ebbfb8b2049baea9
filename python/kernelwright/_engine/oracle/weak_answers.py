"""Answers that compute less than the reference and may pass the tolerance all the same.

Where one passes for an output and misses by far more than the reference itself loses, the tolerance cannot tell a result
from it: `limits_of` then finds a smaller limit for that output.
"""
import contextlib
import math
import time
from dataclasses import dataclass

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from . import inputs as drawing
from .bits import same_bits
from .elements import difference
from .faults import TaskFault
from .index_guard import guarded
from .tf32 import RoundedProducts, rounded

FAR = 64.0         # units of error_units: what is nearer computes the output
SHARE = 1 / 4      # of the weak answer's error is allowed
USEFUL = 3 / 4     # of it: a limit above that would not tell the two apart
COUNTING_BITS = 10  # of the mantissa of operands, with which results count (TF32, float16)
MARGIN = 2.0       # times the error that such operands make
MOST_INPUTS = 8
FITTED = 1 << 20   # elements to which a line is fitted
SLOW_S = 1.0       # of a call of the reference; slower ones are not repeated
FAULTS = (TaskFault, ArithmeticError, MemoryError, RuntimeError, TypeError, ValueError, IndexError)


@dataclass
class Draw:
    """Inputs, their seed, and the reference's outputs."""

    inputs: list
    seed: int
    outputs: object


@dataclass
class Limit:
    """The largest error that one output may have, and the weak answer that made it necessary."""

    allowed: float
    answer: str


def limits_of(reference, draws, units, rule, passing):
    """{position of an output: Limit}.

    `draws` are two Draws, `units` {position: error unit} of the outputs that are examined, and `passing` {position: the
    empty answers that pass}.
    """
    found = {}
    for name, answers in _answers(reference, draws, passing):
        for at in units:
            error = _misses(draws, answers, at, rule)
            if error is not None and error > FAR * units[at] and (at not in found or error < found[at][0]):
                found[at] = error, name
    if not found:
        return {}
    rounding = _of_counting_operands(reference, draws[1], rule)
    limits = {at: Limit(max(SHARE * error, MARGIN * rounding.get(at, 0.0)), name) for at, (error, name) in found.items()}
    return {at: limit for at, limit in limits.items() if limit.allowed <= USEFUL * found[at][0]}


def _answers(reference, draws, passing):
    """(name, [leaves of the answer to each of the two draws, None where there is none]) of each weak answer."""
    yield from _empty_answers(draws, passing)
    yield "a line of an input", [_affine(draws[1 - which], draws[which]) for which in range(2)]
    start = time.monotonic()
    for name, change in _changes(draws):
        if time.monotonic() - start > SLOW_S:
            return
        yield name, _Lazily(lambda which, change=change: _answer(reference, draws[which], change(which)))


class _Lazily:
    """The answers to two draws, each computed when it is asked for."""

    def __init__(self, make):
        self._make, self._known = make, {}

    def __getitem__(self, which):
        if which not in self._known:
            self._known[which] = self._make(which)
        return self._known[which]


def _misses(draws, answers, at, rule):
    """The least error of an answer that passes for an output on both draws; else None."""
    least = math.inf
    for which in (1, 0):
        if (leaves := answers[which]) is None or not isinstance(leaves[at], torch.Tensor):
            return None
        own = tree_flatten(draws[which].outputs)[0][at]
        if leaves[at].shape != own.shape or leaves[at].dtype != own.dtype:
            return None
        seen = difference(own, leaves[at], rule.limits(own.dtype), stop_early=True)
        if seen.mismatched:
            return None
        least = min(least, seen.max_abs)
    return least


def _empty_answers(draws, passing):
    leaves = [tree_flatten(each.outputs)[0] for each in draws]
    makers = {"zeros": torch.zeros_like, "constant": _mean, "stale": lambda each: each}
    for name, make in makers.items():
        where = {at for at, names in passing.items() if name in names}
        if where:
            yield name, [[make(leaves[1 - which][at]) if at in where else None for at in range(len(leaves[0]))]
                         for which in range(2)]
    where = {at for at, names in passing.items() if "echo" in names}
    for number in range(len(drawing.tensors_in(draws[0].inputs))) if where else ():
        yield "echo", [[drawing.tensors_in(each.inputs)[number] if at in where else None for at in range(len(leaves[0]))]
                       for each in draws]


def _mean(tensor):
    return torch.full_like(tensor, tensor.mean(dtype=torch.float64).item()) if tensor.is_floating_point() and tensor.numel() \
        else tensor


def _affine(fitted_to, draw):
    """a * input + b for each output of real numbers, with a and b of the other draw."""
    found, inputs = [], drawing.tensors_in(draw.inputs)
    for own in tree_flatten(fitted_to.outputs)[0]:
        is_real = isinstance(own, torch.Tensor) and own.is_floating_point() and own.numel()
        fit = fitted(own, drawing.tensors_in(fitted_to.inputs)) if is_real else None
        found.append(applied(fit, inputs, own) if fit else None)
    return found


def _changes(draws):
    """(name, function from the number of a draw to changed inputs)."""
    yield "half of every input", lambda which: replaced(
        draws[which].inputs, lambda _, each: halved(each) if each.is_floating_point() else each)
    tensors = [drawing.tensors_in(each.inputs) for each in draws]
    if len(tensors[0]) < 2 or len(tensors[0]) != len(tensors[1]):
        return
    for number in range(min(len(tensors[0]), MOST_INPUTS)):
        if not same_bits(tensors[0][number], tensors[1][number]):
            yield "one without an input", lambda which, number=number: replaced(
                draws[which].inputs, lambda at, each: tensors[1 - which][number] if at == number else each)


def _answer(reference, draw, inputs):
    """The leaves of the reference's outputs for other inputs, or None where it refuses them or they are no others."""
    if all(own is other for own, other in zip(drawing.tensors_in(inputs), drawing.tensors_in(draw.inputs))):
        return None
    try:
        with guarded(reference.device):
            leaves, spec = tree_flatten(reference.call(inputs, draw.seed))
    except FAULTS:
        return None
    return leaves if spec == tree_flatten(draw.outputs)[1] else None


def _of_counting_operands(reference, draw, rule):
    """{position of an output: the error of operands with COUNTING_BITS, where the tolerance passes it}."""
    found, own = {}, tree_flatten(draw.outputs)[0]
    for context, change in ((RoundedProducts(COUNTING_BITS), lambda each: each),
                            (contextlib.nullcontext(), lambda each: rounded(each, COUNTING_BITS))):
        try:
            with context:
                leaves = tree_flatten(reference.call_with(draw.inputs, draw.seed, change))[0]
        except FAULTS:
            continue
        for at, (one, other) in enumerate(zip(own, leaves)):
            if isinstance(one, torch.Tensor) and one.is_floating_point() and getattr(other, "shape", None) == one.shape:
                seen = difference(one, other, rule.limits(one.dtype), stop_early=True)
                found[at] = max(found.get(at, 0.0), 0.0 if seen.mismatched else seen.max_abs)
    return found


def halved(tensor):
    """The tensor with the second half, along its longest dimension, a copy of the first."""
    if not tensor.numel() or max(tensor.shape, default=0) < 2:
        return tensor
    along = max(range(tensor.dim()), key=lambda each: tensor.shape[each])
    half = tensor.shape[along] // 2
    first = tensor.narrow(along, 0, half)
    return torch.cat([first, first, tensor.narrow(along, 2 * half, tensor.shape[along] - 2 * half)], along)


def fitted(own, inputs):
    """(position of an input, a, b) with the least mean square error of a * input + b, or None."""
    best = None
    for at, each in enumerate(inputs):
        if each.shape != own.shape or not each.is_floating_point():
            continue
        x, y = (tensor.reshape(-1)[:FITTED].double() for tensor in (each, own))
        spread = (x - x.mean()).square().mean().item()
        a = ((x - x.mean()) * (y - y.mean())).mean().item() / spread if spread else 0.0
        b = (y.mean() - a * x.mean()).item()
        error = (a * x + b - y).square().mean().item()
        if math.isfinite(error) and (best is None or error < best[0]):
            best = error, at, a, b
    return best[1:] if best else None


def applied(fit, inputs, own):
    """The line of a fit, in the dtype of an output."""
    at, a, b = fit
    given = inputs[at]
    return ((given if given.dtype.itemsize > 4 else given.float()) * a + b).to(own.dtype)


def replaced(inputs, function):
    """The inputs with each tensor replaced by function(position, tensor)."""
    leaves, spec = tree_flatten(inputs)
    at = -1
    for position, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor):
            at += 1
            with torch.no_grad():
                leaves[position] = function(at, leaf)
    return tree_unflatten(leaves, spec)
