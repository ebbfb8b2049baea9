"""Compares two tensors of one shape value by value, in chunks, so that gigabytes need no further copies."""
import math
from dataclasses import dataclass

import torch

_FIRST_CHUNK = 1 << 16  # elements; a small one first, since most wrong outputs show at once
_CHUNK = {"cpu": 1 << 18, "cuda": 1 << 24}


@dataclass
class Difference:
    """What was found in one output."""

    total: int = 0
    mismatched: int = 0      # values outside the tolerance, nonfinite ones included
    nonfinite: int = 0       # of which: where one side is NaN or infinite and the other is not the same
    max_abs: float = 0.0     # over values finite on both sides
    max_rel: float = 0.0     # over those with expected != 0
    first: tuple = ()        # (flat position, expected, actual) of the first mismatch
    first_nonfinite: tuple = ()


def difference(expected, actual, limits, exact=None, stop_early=False):
    """The Difference of two tensors; `limits` maps |expected| to the distance allowed, None: must be equal.

    Where `exact` is given (float64), it is what values are measured against; NaN and infinities are the
    expected tensor's. With `stop_early` the search ends after the first chunk that holds a mismatch.
    """
    found = Difference(total=expected.numel())
    with torch.no_grad():
        flats = [None if each is None else each.resolve_conj().resolve_neg().reshape(-1)
                 for each in (expected, actual, exact)]
        start, size = 0, _FIRST_CHUNK
        while start < found.total:
            _chunk(found, start, *(None if each is None else each[start:start + size] for each in flats), limits)
            if stop_early and found.mismatched:
                break
            start, size = start + size, min(size * 8, _CHUNK[expected.device.type])
    return found


def _chunk(found, start, expected, actual, exact, limits):
    wrong = expected != actual if limits is None else None
    wide = _wide(expected, actual)
    if limits is None:
        distance = (wide[1] - wide[0]).abs()
        _note(found, start, wrong, None, wide)
        _largest(found, distance, wide[0].abs(), None)
        return
    finite = torch.isfinite(wide[0]) & torch.isfinite(wide[1])
    same = (wide[0] == wide[1]) | (torch.isnan(wide[0]) & torch.isnan(wide[1]))
    strange = ~finite & ~same
    measure = wide[0] if exact is None else torch.where(torch.isfinite(exact), exact.to(wide[0].dtype), wide[0])
    magnitude = measure.abs()
    distance = (wide[1] - measure).abs()
    wrong = (finite & (distance > limits(magnitude))) | strange
    _note(found, start, wrong, strange, wide)
    _largest(found, distance, magnitude, finite)


def _wide(*tensors):
    return [each.to(torch.complex128 if each.is_complex() else torch.float64) for each in tensors]


def _note(found, start, wrong, strange, wide):
    count = int(wrong.sum())
    if not count:
        return
    if not found.first:
        found.first = _at(wrong, start, wide)
    found.mismatched += count
    if strange is not None and (odd := int(strange.sum())):
        if not found.first_nonfinite:
            found.first_nonfinite = _at(strange, start, wide)
        found.nonfinite += odd


def _at(mask, start, wide):
    at = int(mask.to(torch.uint8).argmax())
    return start + at, wide[0][at].item(), wide[1][at].item()


def _largest(found, distance, magnitude, finite):
    if finite is not None:
        distance = torch.where(finite, distance, 0.0)
    found.max_abs = max(found.max_abs, distance.max().item())
    relative = torch.where(magnitude > 0, distance / magnitude, 0.0)
    largest = relative.max().item()
    if math.isfinite(largest):
        found.max_rel = max(found.max_rel, largest)
