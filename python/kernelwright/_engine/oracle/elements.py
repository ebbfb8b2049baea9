"""Compares two tensors of one shape value by value, in chunks, so that outputs of gigabytes need no full copies."""
import math
from dataclasses import dataclass

import torch

_FIRST_CHUNK = 1 << 16  # elements; small, because most wrong outputs differ early
_CHUNK = {"cpu": 1 << 18, "cuda": 1 << 24}
NEAR = 8  # values on each side of a mismatch


@dataclass
class Difference:
    """The differences in one output."""

    total: int = 0
    mismatched: int = 0      # values outside the tolerance, nonfinite ones included
    nonfinite: int = 0       # of these: one side is NaN or infinite and the other is not equal to it
    max_abs: float = 0.0     # over values finite on both sides
    max_rel: float = 0.0     # over values with expected != 0
    max_over: float = 0.0    # error over the allowed error; 0 where values must be equal, and where a search stops early
    first: tuple = ()        # (flat position, expected, actual) of the first mismatch
    first_nonfinite: tuple = ()


def finite(tensor):
    """Whether all its values are finite."""
    if tensor.is_floating_point() and tensor.element_size() == 1:
        tensor = tensor.float()  # PyTorch does not answer for 8-bit floats
    return bool(torch.isfinite(tensor).all())


@dataclass
class Summary:
    """The values of one tensor; of complex ones their magnitudes."""

    finite: int = 0
    min: float = 0.0  # of the finite values
    max: float = 0.0
    nan: int = 0
    infinite: int = 0


def difference(expected, actual, limits, exact=None, stop_early=False):
    """The Difference of two tensors; `limits` maps |expected| to the allowed distance; None means exactly equal.

    Where `exact` is given (float64), distances are measured from it; NaN and infinities are the expected tensor's. With
    `stop_early` the search ends after the first chunk that holds a mismatch.
    """
    found = Difference(total=expected.numel())
    with torch.no_grad():
        for start, parts in _chunks(expected, actual, exact, _CHUNK[expected.device.type], _FIRST_CHUNK):
            wrong, strange, distance, magnitude, wide, allowed = _measured(*parts, limits)
            _note(found, start, wrong, strange, wide)
            _largest(found, distance, magnitude)
            if stop_early:
                if found.mismatched:
                    break
            elif allowed is not None:
                found.max_over = max(found.max_over, _over(distance, allowed))
    return found


def outside(expected, actual, limits):
    """Which values are outside their limits, as a mask of the tensors' shape."""
    with torch.no_grad():
        parts = [_measured(*parts, limits)[0] for _, parts in _chunks(expected, actual, None, _CHUNK[expected.device.type])]
    return torch.cat(parts).reshape(expected.shape) if parts else torch.zeros(expected.shape, dtype=torch.bool)


def begins_wrong(expected, actual, limits, exact=None):
    """Whether one of the first elements is outside its limits."""
    with torch.no_grad():
        for _, parts in _chunks(expected, actual, exact, _CHUNK[expected.device.type], _FIRST_CHUNK):
            return bool(_measured(*parts, limits)[0].any())
    return False


def at_once(leaves):
    """The Differences of outputs that all lie within their limits; None as soon as one does not.

    `leaves` are (expected, actual, limits, exact). All work is enqueued and then waited for once, because processes that
    share a device delay each other by every wait.
    """
    figures = []
    with torch.no_grad():
        for expected, actual, limits, exact in leaves:
            for _, parts in _chunks(expected, actual, exact, _CHUNK[expected.device.type]):
                figures.append(_figures(*_measured(*parts, limits)))
        if not figures:
            return [Difference(total=each[0].numel()) for each in leaves]
        read = iter(torch.stack(figures).tolist())
    found = []
    for expected, *_ in leaves:
        found.append(Difference(total=expected.numel()))
        for _ in range(0, expected.numel(), _CHUNK[expected.device.type]):
            wrong, largest, relative, over = next(read)
            if wrong:
                return None
            found[-1].max_abs = max(found[-1].max_abs, largest)
            found[-1].max_over = max(found[-1].max_over, over)
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


def _figures(wrong, strange, distance, magnitude, wide, allowed):
    """Whether any value is wrong, and the largest distance, relative one and one over its limit, on the device."""
    relative = torch.where(magnitude > 0, distance / magnitude, 0.0)
    over = torch.zeros_like(distance[:1]) if allowed is None else torch.where(distance > 0, distance / allowed, 0.0)
    return torch.stack([wrong.any().to(torch.float64), distance.max(), relative.max(), over.max()])


def _over(distance, allowed):
    """The largest distance over what is allowed; infinite where nothing is. No distance is 0, whatever is allowed."""
    largest = (distance / allowed).max().item()
    return torch.where(distance > 0, distance / allowed, 0.0).max().item() if math.isnan(largest) else largest


def near(expected, actual, limits, index, exact=None):
    """(first position, expected, actual, wrong) of the values at most NEAR beside `index` along the last dimension."""
    if not index:
        start, parts = 0, [None if each is None else each.reshape(1) for each in (expected, actual, exact)]
    else:
        start, row = max(0, index[-1] - NEAR), tuple(index[:-1])
        parts = [None if each is None else each[row][start:index[-1] + NEAR + 1].resolve_conj().resolve_neg()
                 for each in (expected, actual, exact)]
    with torch.no_grad():
        wrong, *_, wide, _ = _measured(*parts, limits)
    return start, *(_real(each).tolist() for each in wide), wrong.tolist()


def summary(tensor):
    """The Summary of a tensor."""
    found = Summary()
    with torch.no_grad():
        for _, (part, *_) in _chunks(tensor, tensor, None, _CHUNK[tensor.device.type]):
            values = _real(_wide(part)[0])
            nan, finite = torch.isnan(values), torch.isfinite(values)
            count = int(finite.sum())
            found.nan += int(nan.sum())
            found.infinite += values.numel() - count - int(nan.sum())
            if count:
                low = torch.where(finite, values, math.inf).min().item()
                high = torch.where(finite, values, -math.inf).max().item()
                found.min, found.max = (low, high) if not found.finite else (min(found.min, low), max(found.max, high))
            found.finite += count
    return found


def rms(tensor, other=None):
    """The root mean square of a tensor's values, or of their distances from those of another."""
    total = 0.0
    with torch.no_grad():
        for _, (part, beside, *_) in _chunks(tensor, tensor if other is None else other, None, _CHUNK[tensor.device.type]):
            wide = _wide(part)[0]
            total += (wide if other is None else wide - _wide(beside)[0]).abs().square().sum().item()
    return math.sqrt(total / max(1, tensor.numel()))


def _real(wide):
    return wide.abs() if wide.is_complex() else wide


def _measured(expected, actual, exact, limits):
    """(wrong, strange, distance where both are finite, magnitude, both in wide types, allowed distance) of each element."""
    wide = _wide(expected, actual)
    if limits is None:
        return expected != actual, None, (wide[1] - wide[0]).abs(), wide[0].abs(), wide, None
    finite = torch.isfinite(wide[0]) & torch.isfinite(wide[1])
    same = (wide[0] == wide[1]) | (torch.isnan(wide[0]) & torch.isnan(wide[1]))
    strange = ~finite & ~same
    measure = wide[0] if exact is None else torch.where(torch.isfinite(exact), exact.to(wide[0].dtype), wide[0])
    magnitude = measure.abs()
    distance = (wide[1] - measure).abs()
    allowed = limits(magnitude)
    wrong = (finite & (distance > allowed)) | strange
    return wrong, strange, torch.where(finite, distance, 0.0), magnitude, wide, allowed


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
