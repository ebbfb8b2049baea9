"""Checks that a right answer is evidence: each empty answer must be wrong on most input sets."""
from collections import Counter

import torch
from torch.utils._pytree import tree_flatten

from . import inputs as drawing
from .compare import Returned, compare, returned

ANSWERS = ("zeros", "constant", "echo", "stale")


def passing_answers(sets, rule):
    """Those of ANSWERS that are right on more than half of the sets.

    `sets` yields (inputs, outputs, exact outputs or None) for K + 1 seeds. The first set serves only as a predecessor:
    each of the K following sets is answered with the outputs of the set before it. A single number, such as a loss,
    equals that of another set now and then; an answer that is right on half of the sets fails the trials of a verdict.
    """
    return passing_by_output(sets, rule)[0]


def passing_by_output(sets, rule):
    """(passing_answers of all outputs together, {position: those of one output alone}).

    A position counts the leaves of the outputs. Outputs for which nothing passes have no entry, nor has an only output.
    """
    passing, alone, asked, before = Counter(), Counter(), 0, None
    for given, expected, exact in sets:
        if before is not None:
            asked += 1
            for name, answer in _ANSWERS:
                passing[name] += answer(given, expected, before, rule, exact)
            for at, own, old, precise in _each(expected, before, exact):
                for name, answer in _ANSWERS:
                    alone[at, name] += answer(given, own, old, rule, precise)
        before = expected
    right = {at: [name for name in ANSWERS if 2 * alone[at, name] > asked] for at, _ in alone}
    return ([name for name in ANSWERS if 2 * passing[name] > asked],
            {at: names for at, names in sorted(right.items()) if names})


def _each(expected, before, exact):
    """(position, expected, that of the set before, exact or None) of each tensor, where there are several."""
    own, old = tree_flatten(expected)[0], tree_flatten(before)[0]
    precise = tree_flatten(exact)[0] if exact is not None else [None] * len(own)
    found = [each for each in zip(range(len(own)), own, old, precise) if isinstance(each[1], torch.Tensor)]
    return found if len(found) > 1 and len(own) == len(old) == len(precise) else []


def _passes(expected, actual, rule, exact):
    return compare(expected, actual, rule, exact, stop_early=True).right


def _zeros(given, expected, before, rule, exact):
    return _passes(expected, returned(expected, torch.zeros_like), rule, exact)


def _constant(given, expected, before, rule, exact):
    return _passes(expected, returned(before, _mean), rule, exact)


def _mean(tensor):
    """A tensor of its own mean, in the nearest value of its dtype."""
    if not tensor.numel() or tensor.dtype.is_complex:
        return torch.full_like(tensor, tensor.mean() if tensor.numel() else 0)
    mean = tensor.mean(dtype=torch.float64).item() if tensor.dtype is not torch.bool else \
        tensor.to(torch.uint8).mean(dtype=torch.float64).item()
    if not tensor.is_floating_point():
        mean = round(mean)
    return torch.full_like(tensor, bool(mean) if tensor.dtype is torch.bool else mean)


def _stale(given, expected, before, rule, exact):
    return _passes(expected, returned(before, lambda tensor: tensor), rule, exact)


def _echo(given, expected, before, rule, exact):
    """Whether each output is right when some input is returned in its place."""
    inputs = drawing.tensors_in(given)
    outputs, precise = drawing.tensors_in(expected), _exacts(expected, exact)
    return all(any(_passes(output, Returned.of(each), rule, third) for each in inputs
                   if each.shape == output.shape and each.dtype == output.dtype)
               for output, third in zip(outputs, precise))


def _exacts(expected, exact):
    """The Exact of each output tensor, or None."""
    if isinstance(expected, torch.Tensor):
        return [exact]
    if isinstance(expected, dict):
        expected, exact = list(expected.values()), list(exact.values()) if exact is not None else None
    if not isinstance(expected, (list, tuple)):
        return []
    return [found for at, each in enumerate(expected)
            for found in _exacts(each, exact[at] if exact is not None else None)]


_ANSWERS = (("zeros", _zeros), ("constant", _constant), ("echo", _echo), ("stale", _stale))
