"""Learns from draws of a task's inputs which of its tensors may be changed, and how.

Tensors that share memory form one unit: a change of one is a change of the others.
"""
import math
from dataclasses import dataclass, field

import torch

from ..layout import span
from .bits import same_bits

NORMAL, WITHIN, PROBABILITIES, KEPT = "normal", "within its range", "probabilities", "kept"
CENTRED = 0.3            # |mean| over σ, up to which values look normal
SAMPLED = 1 << 22        # elements that are examined
FEWEST = 4               # elements; of fewer no distribution can be told
FEW_VALUES = 32          # distinct values that make a tensor a choice among levels
STRUCTURAL_ZEROS = 1 / 256  # share of zeros that are part of a structure, such as a triangle
SUM_ERROR = 2e-2         # of rows of probabilities in 16 bit


@dataclass
class Traits:
    """The properties of one unit's values."""

    dtype: torch.dtype
    kind: str = KEPT
    why: str = ""            # it is kept
    mean: float = 0.0
    sigma: float = 0.0
    low: float = 0.0
    high: float = 0.0
    zeros: bool = False      # zeros belong to its structure
    symmetric: bool = False
    sum_dim: int | None = None
    differs: bool = False    # between seeds


@dataclass
class Unit:
    """Tensors of the inputs that share their memory, by position among all tensors."""

    places: list
    whole: bool = True       # one contiguous tensor; others are changed in the order of their memory
    traits: Traits = field(default=None)


def units(tensors):
    """The Units of these tensors, without traits."""
    found = {}
    for at, tensor in enumerate(tensors):
        key = tensor.untyped_storage()._cdata if tensor.numel() else -at - 1
        found.setdefault(key, Unit([])).places.append(at)
    for unit in found.values():
        own = [tensors[at] for at in unit.places]
        unit.whole = all(each is own[0] for each in own) and own[0].is_contiguous()
    return list(found.values())


def flat_of(tensors):
    """(all memory from the first to the last element of tensors in one storage, where it starts)."""
    start = min(each.storage_offset() for each in tensors)
    end = max(each.storage_offset() + span(each.shape, each.stride()) for each in tensors)
    return torch.as_strided(tensors[0], (end - start,), (1,), start), start


def learned(tensors, others):
    """The Units with their traits, from the tensors of two draws."""
    found = units(tensors)
    for unit in found:
        own = [tensors[at] for at in unit.places]
        if any(each.dtype != own[0].dtype for each in own):
            unit.traits = Traits(own[0].dtype, why="views of several dtypes")
            continue
        with torch.no_grad():
            seen = [traits_of(tensors[at].detach(), others[at].detach()) for at in unit.places[:4]]
        unit.traits = next((each for each in seen if each.kind == KEPT), seen[0])
        if unit.traits.kind == PROBABILITIES and not unit.whole:
            unit.traits.kind, unit.traits.why = KEPT, "probabilities in strides"
    return found


def traits_of(first, second):
    """The Traits of one tensor in two draws."""
    found = Traits(first.dtype)
    found.why = _not_variable(first)
    if found.why:
        return found
    found.differs = not same_bits(first, second)
    draws = [_sample(each) for each in ((first, second) if found.differs else (first,))]
    draws = [each.float() if each.dtype.itemsize < 4 else each for each in draws]
    if not all(bool(torch.isfinite(each).all()) for each in draws):
        found.why = "values that are not finite"
        return found
    _measure(found, draws)
    found.why = _structure(found, draws)
    if not found.why:
        found.symmetric = all(_symmetric(each) for each in (first, second))
        found.sum_dim = _sum_dim(found, first, draws)
        found.kind = _kind(found, sum(each.numel() for each in draws))
    return found


def _not_variable(tensor):
    if tensor.layout is not torch.strided:
        return "not strided"
    if not tensor.is_floating_point():
        return "no real numbers"
    return "too few values" if tensor.numel() < FEWEST else ""


def _sample(tensor):
    """At most SAMPLED elements of a tensor: its first slices."""
    while tensor.numel() > SAMPLED:
        if tensor.shape[0] == 1:
            tensor = tensor[0]
        else:
            tensor = tensor[:max(1, tensor.shape[0] * SAMPLED // tensor.numel())]
    return tensor


def _measure(found, draws):
    count = sum(each.numel() for each in draws)
    found.mean = sum(each.sum(dtype=torch.float64).item() for each in draws) / count
    squares = sum((each.double() - found.mean).square().sum().item() for each in draws)
    found.sigma = math.sqrt(squares / count)
    found.low = min(each.min().item() for each in draws)
    found.high = max(each.max().item() for each in draws)
    zeros = sum(int((each == 0).sum()) for each in draws)
    found.zeros = zeros >= max(2, STRUCTURAL_ZEROS * count)


def _structure(found, draws):
    """Why a tensor is more than numbers from a distribution, or nothing."""
    if found.low == found.high:
        return "constant"
    if all(bool((each == each.round()).all()) for each in draws):
        return "whole numbers"
    if draws[0].numel() >= 4 * FEW_VALUES and torch.unique(draws[0].reshape(-1)[:1 << 16]).numel() <= FEW_VALUES:
        return "few levels"
    return "sorted" if any(all(_ordered(each, sign) for each in draws) for sign in (1, -1)) else ""


def _ordered(values, sign):
    """Whether all rows ascend (sign 1) or descend; of few values that may be chance."""
    if values.dim() == 0 or values.shape[-1] < 2 or values.numel() - values.numel() // values.shape[-1] < 7:
        return False
    steps = sign * (values[..., 1:] - values[..., :-1])
    return bool((steps >= 0).all()) and bool((steps > 0).any())


def _symmetric(tensor):
    if tensor.dim() < 2 or tensor.shape[-1] != tensor.shape[-2] or tensor.shape[-1] < 2:
        return False
    matrix = tensor[(0,) * (tensor.dim() - 2)]
    return bool((matrix == matrix.T).all())


def _sum_dim(found, tensor, draws):
    """The dimension along which values are probabilities, or None."""
    if found.low < 0 or found.high > 1 + SUM_ERROR:
        return None
    error = SUM_ERROR if tensor.dtype.itemsize < 4 else 1e-4
    for dim in range(-1, -tensor.dim() - 1, -1):
        complete = all(each.dim() >= -dim and each.shape[dim] == tensor.shape[dim] for each in draws)
        if complete and tensor.shape[dim] > 1 and all(
                bool(((each.sum(dim, dtype=torch.float64) - 1).abs() <= error).all()) for each in draws):
            return dim
    return None


def _kind(found, count):
    if found.sum_dim is not None:
        return PROBABILITIES
    centred = abs(found.mean) < max(CENTRED, 2.5 / math.sqrt(count)) * found.sigma
    return NORMAL if centred and found.low < 0 < found.high else WITHIN
