"""Properties of real inputs that two draws share, and that families keep.

A kernel may read one of several equal parts alone, such as one half of a table of cosines, one of the heads that share their
keys, or one of two matrices of which the other is the transposed one. It may take rows of unit length for granted, too.
"""
from typing import NamedTuple

import torch

MOST_PARTS = 64
LARGEST = 1 << 28        # elements that are examined
UNIT_ERROR = 1e-3        # of the square of a row's length; 16 bit lose more
CORNER = 4               # elements along each dimension that are compared first


class Repeat(NamedTuple):
    """Equal parts along a dimension: `count` of them, one behind the other, or each slice that often."""

    dim: int
    count: int
    tiled: bool

    def parts_of(self, tensor):
        """(a view of the parts, the dimension of the view along which they lie)."""
        size = tensor.shape[self.dim] // self.count
        shape = (self.count, size) if self.tiled else (size, self.count)
        return tensor.unflatten(self.dim, shape), self.dim + (0 if self.tiled else 1)


class Twin(NamedTuple):
    """Another tensor of the inputs that has the same numbers, or the same in transposed matrices."""

    place: int
    transposed: bool


class Structure(NamedTuple):
    """The properties of one tensor."""

    repeats: tuple = ()
    twin: Twin | None = None
    unit_rows: bool = False


def structures_of(units, draws):
    """The Structure of each unit, a tensor of its own, from two draws of all tensors."""
    found = []
    with torch.no_grad():
        for at, unit in enumerate(units):
            own = _of(unit, draws)
            if own[0].numel() > LARGEST or any(each.shape != own[0].shape for each in own):
                found.append(Structure())
                continue
            others = (unit for unit, known in zip(units[:at], found) if not known.twin)
            twins = (_twin(own, _of(each, draws), each.places[0]) for each in others)
            repeats = tuple(each for dim in range(own[0].dim()) if (each := _repeat_along(own, dim)))
            found.append(Structure(repeats, next((each for each in twins if each), None), _has_unit_rows(own)))
    return found


def _of(unit, draws):
    found = [draw[unit.places[0]].detach() for draw in draws]
    return [each.float() if each.dtype.itemsize == 1 else each for each in found]  # PyTorch compares no 8-bit floats


def _repeat_along(draws, dim):
    """The Repeat with the most parts, or None."""
    size = draws[0].shape[dim]
    for count in (count for count in range(min(size, MOST_PARTS), 1, -1) if size % count == 0):
        for tiled in (True, False):
            found = Repeat(dim, count, tiled)
            if all(_are_equal(*found.parts_of(each)) for each in draws):
                return found
    return None


def _are_equal(parts, along):
    corner = parts[tuple(slice(0, CORNER) for _ in parts.shape)]
    return all(bool((each == each.narrow(along, 0, 1)).all()) for each in (corner, parts))


def _twin(own, theirs, place):
    if any(a.dtype != b.dtype or a.numel() != b.numel() for a, b in zip(own, theirs)):
        return None
    if all(a.shape == b.shape and torch.equal(a, b) for a, b in zip(own, theirs)):
        return Twin(place, False)
    if all(a.dim() > 1 and a.shape == b.mT.shape and torch.equal(a, b.mT) for a, b in zip(own, theirs)):
        return Twin(place, True)
    return None


def _has_unit_rows(draws):
    error = UNIT_ERROR if draws[0].dtype.itemsize >= 4 else 16 * UNIT_ERROR
    return all(each.dim() > 1 and each.shape[-1] > 1
               and bool(((each.double().square().sum(-1) - 1).abs() <= error).all()) for each in draws)


def restore(new, base, structure):
    """Gives a tensor's changed numbers its structure again, in place. `base` are those drawn; twins are the caller's."""
    if structure.unit_rows:
        length = new.double().norm(dim=-1, keepdim=True)
        usable = (length > 0) & torch.isfinite(length)
        new.copy_(torch.where(usable, new / torch.where(usable, length, 1.0), base))
    for each in structure.repeats:
        parts, along = each.parts_of(new)
        parts.copy_(parts.narrow(along, 0, 1).clone())
