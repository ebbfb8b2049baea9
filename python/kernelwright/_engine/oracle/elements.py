"""Compares two tensors of one shape value by value, in chunks, so that outputs of gigabytes need no full copies."""
import math
from dataclasses import dataclass

import torch

_FIRST_CHUNK = 1 << 16  # elements; small, because most wrong outputs differ early
_CHUNK = {"cpu": 1 << 18, "cuda": 1 << 24}


@dataclass
class Difference:
    """The differences in one output."""

    total: int = 0
    mismatched: int = 0      # values outside the tolerance, nonfinite ones included
    nonfinite: int = 0       # of these: one side is NaN or infinite and the other is not equal to it
    max_abs: float = 0.0     # over values finite on both sides
    max_rel: float = 0.0     # over values with expected != 0
    first: tuple = ()        # (flat position, expected, actual) of the first mismatch
    first_nonfinite: tuple = ()


def difference(expected, actual, limits, exact=None, stop_early=False):
    """The Difference of two tensors; `limits` maps |expected| to the allowed distance; None means exactly equal.

    Where `exact` is given (float64), distances are measured from it; NaN and infinities are the expected tensor's. With
    `stop_early` the search ends after the first chunk that holds a mismatch.
    """
    found = Difference(total=expected.numel())
    with torch.no_grad():
        for start, parts in _chunks(expected, actual, exact, _CHUNK[expected.device.type], _FIRST_CHUNK):
            wrong, strange, distance, magnitude, wide = _measured(*parts, limits)
            _note(found, start, wrong, strange, wide)
            _largest(found, distance, magnitude)
            if stop_early and found.mismatched:
                break
    return found


def at_once(leaves):
    """The Differences of outputs that all lie within their limits; None as soon as one does not.

    `leaves` are (expected, actual, limits, exact). All work is enqueued and then waited for once, because processes that
    share a device delay each other by every wait.
    """
    figures = []
    with torch.no_grad():
        for expected, actual, limits, exact in leaves:
            for _, parts in _chunks(expected, actual, exact, _CHUNK[expected.device.type]):
                figures.append(_figures(*_measured(*parts, limits)[:4]))
        if not figures:
            return [Difference(total=each[0].numel()) for each in leaves]
        read = iter(torch.stack(figures).tolist())
    found = []
    for expected, *_ in leaves:
        found.append(Difference(total=expected.numel()))
        for _ in range(0, expected.numel(), _CHUNK[expected.device.type]):
            wrong, largest, relative = next(read)
            if wrong:
                return None
            found[-1].max_abs = max(found[-1].max_abs, largest)
            if math.isfinite(relative):
                found[-1].max_rel = max(found[-1].max_rel, relative)
    return found


def _chunks(expected, actual, exact, size, first=None):
    """(start, the elements of the three tensors there); None stays None. The first chunk may have another size."""
    flats = [None if each is None else each.resolve_conj().resolve_neg().reshape(-1)
             for each in (expected, actual, exact)]
    start, step = 0, first or size
    while start < expected.numel():
        yield start, [None if each is None else each[start:start + step] for each in flats]
        start, step = start + step, min(step * 8, size)


def _figures(wrong, strange, distance, magnitude):
    """Whether any value is wrong, the largest distance and the largest relative one, as three values on the device."""
    relative = torch.where(magnitude > 0, distance / magnitude, 0.0)
    return torch.stack([wrong.any().to(torch.float64), distance.max(), relative.max()])


def _measured(expected, actual, exact, limits):
    """(wrong, strange, distance where both are finite, magnitude, both in wide types) of each element."""
    wide = _wide(expected, actual)
    if limits is None:
        return expected != actual, None, (wide[1] - wide[0]).abs(), wide[0].abs(), wide
    finite = torch.isfinite(wide[0]) & torch.isfinite(wide[1])
    same = (wide[0] == wide[1]) | (torch.isnan(wide[0]) & torch.isnan(wide[1]))
    strange = ~finite & ~same
    measure = wide[0] if exact is None else torch.where(torch.isfinite(exact), exact.to(wide[0].dtype), wide[0])
    magnitude = measure.abs()
    distance = (wide[1] - measure).abs()
    wrong = (finite & (distance > limits(magnitude))) | strange
    return wrong, strange, torch.where(finite, distance, 0.0), magnitude, wide


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


def _largest(found, distance, magnitude):
    found.max_abs = max(found.max_abs, distance.max().item())
    relative = torch.where(magnitude > 0, distance / magnitude, 0.0)
    largest = relative.max().item()
    if math.isfinite(largest):
        found.max_rel = max(found.max_rel, largest)
