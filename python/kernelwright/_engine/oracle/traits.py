"""Learns from draws of a task's inputs which of its tensors may be changed, and how.

Tensors that share memory form one unit: a change of one is a change of the others.
"""
import math
from dataclasses import dataclass, field

import torch

from ..layout import span
from . import choices
from .bits import same_bits
from .structure import Structure, structures_of

NORMAL, WITHIN, PROBABILITIES, KEPT = "normal", "within its range", "probabilities", "kept"
CHOSEN = "among the values drawn"  # integers and masks
REAL = (NORMAL, WITHIN, PROBABILITIES)
CENTRED = 0.3            # |mean| over σ, up to which values look normal
OFF_CENTRE, TAILS, MANY = 1.7, 2.5, 1024  # the same, of so many values, some so many σ from their mean on both sides
SAMPLED = 1 << 22        # elements that are examined
FEWEST = 4               # elements; of fewer no distribution can be told
LARGEST_CHOICES = 1 << 24  # elements of integers and masks
_DATA = (torch.int8, torch.uint8)  # hold numbers, such as quantised weights, and no positions
FEW_VALUES = 32          # distinct values that make a tensor a choice among levels
STRUCTURAL_ZEROS = 1 / 256  # share of zeros that are part of a structure, such as a triangle
NEAR_ZERO = 1 / 1024
CLIPPED = 4              # values at either end of the range, and as many times the number of the next one, that a bound leaves
SUM_ERROR = 2e-2         # of rows of probabilities in 16 bit
# Why values are kept, where they may be integers or a mask.
NO_REAL, NOT_FINITE, WHOLE, LEVELS = "no real numbers", "values that are not finite", "whole numbers", "few levels"
_MAYBE_CHOICES = (NO_REAL, NOT_FINITE, WHOLE, LEVELS)


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
    rows: bool = False       # it has several, along its last dimension
    sides: bool = False      # the reference asks on which side of a bound its values are, and does nothing else with them
    clipped: bool = False    # between two bounds, at which values lie
    beyond: tuple = ()       # scales that lead to rare branches of the reference
    side: int = 0            # 1 and -1 in turns where several tensors look normal
    differs: bool = False    # between seeds
    seen: choices.Choices | None = None  # of integers and masks that differ
    fixed: bool = False      # it is kept, and no draw differs
    structure: Structure = Structure()  # of real numbers

    @property
    def from_zero(self):
        """Whether its range begins at zero, or as near as some draws of numbers above zero come."""
        return 0 <= self.low <= self.high * NEAR_ZERO


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


def learned(*draws):
    """The Units with their traits, from the tensors of two draws or more. Integers and masks need more than two."""
    found = units(draws[0])
    for unit in found:
        _learn(unit, draws)
    normal = [unit for unit in found if unit.traits.kind == NORMAL]
    for at, unit in enumerate(normal if len(normal) > 1 else ()):
        unit.traits.side = 1 if at % 2 == 0 else -1
    real = [unit for unit in found if unit.whole and unit.traits.kind in (NORMAL, WITHIN) and draws[0][unit.places[0]].numel()]
    for unit, known in zip(real, structures_of(real, draws[:2])):
        unit.traits.structure = known
    if len(draws) > 2:
        _learn_choices(found, draws)
        for unit in found:
            if unit.traits.kind == KEPT and unit.whole and draws[0][unit.places[0]].numel():
                unit.traits.fixed = _never_differs([draw[unit.places[0]] for draw in draws])
                unit.traits.zeros = unit.traits.zeros and not unit.traits.fixed
    return found


def _never_differs(draws):
    return all(same_bits(draws[0], other) for other in draws[1:])


def _learn(unit, draws):
    tensors, others = draws[:2]
    own = [tensors[at] for at in unit.places]
    if any(each.dtype != own[0].dtype for each in own):
        unit.traits = Traits(own[0].dtype, why="views of several dtypes")
        return
    with torch.no_grad():
        seen = [traits_of(tensors[at].detach(), others[at].detach()) for at in unit.places[:4]]
    unit.traits = next((each for each in seen if each.kind == KEPT), seen[0])
    if unit.traits.kind == PROBABILITIES and not unit.whole:
        unit.traits.kind, unit.traits.why = KEPT, "probabilities in strides"
    unit.traits.rows = unit.whole and own[0].dim() > 1 and own[0].numel() > own[0].shape[-1]


def _learn_choices(found, draws):
    """Marks the units that are integers or masks, and differ between draws, as CHOSEN; those that may depend on others stay."""
    chosen = []
    for unit in (each for each in found if each.traits.kind == KEPT and each.traits.why in _MAYBE_CHOICES):
        own = draws[0][unit.places[0]]
        each_draw = [draw[unit.places[0]] for draw in draws]
        if own.numel() > LARGEST_CHOICES or own.is_complex() or own.is_floating_point() and own.dtype.itemsize == 1:
            continue
        if _never_differs(each_draw):
            continue
        if any(draws[0][at] is not own for at in unit.places):
            unit.traits.why = "views of one memory"
            continue
        with torch.no_grad():
            unit.traits.seen = choices.learned([each.detach() for each in each_draw], unit.traits.why == WHOLE)
        if unit.traits.seen.how:
            chosen.append((unit, set() if own.dtype in _DATA else {size for size in own.shape if size > 1}))
        else:
            unit.traits.why = unit.traits.seen.why
    with_zeros = [unit for unit in found if unit.traits.zeros and unit.traits.kind in REAL]
    masked, padded = bool(with_zeros), any(_zeros_move([draw[unit.places[0]] for draw in draws]) for unit in with_zeros)
    offsets = any(unit.traits.seen.how == choices.STEPS for unit, _ in chosen)
    for unit, sizes in chosen:
        # A length may be that of a row of a mask, or the distance of two offsets: alone, a change would contradict the other.
        if any(other is not unit and (offsets or sizes & theirs and not _are_numbers(unit, other))
               for other, theirs in chosen):
            unit.traits.why = "other integers may belong to them"
        elif masked and unit.traits.seen.how in choices.MASKS or padded and not unit.traits.seen.floats:
            unit.traits.why = "zeros of another input may be its own"
        else:
            unit.traits.kind, unit.traits.why, unit.traits.differs = CHOSEN, "", True


def _zeros_move(draws):
    """Whether zeros are at other places in another draw, as behind rows whose lengths are drawn."""
    first, *others = (each.detach() == 0 for each in draws)
    return any(first.shape != each.shape or not torch.equal(first, each) for each in others)


def _are_numbers(*units):
    """Whether they hold whole numbers as floats, which are no positions."""
    return all(unit.traits.seen.floats for unit in units)


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
        found.why = NOT_FINITE
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
        return NO_REAL
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
    found.clipped = found.low < found.high and all(_is_clipped(each, found.low, found.high) for each in draws)


def _is_clipped(values, low, high):
    """Whether a bound on either side, and not rounding, gives many values the least and the greatest number."""
    inner = values[(values > low) & (values < high)]
    if not inner.numel():
        return False
    counts = [[int((values == each).sum()) for each in pair] for pair in ((low, inner.min()), (high, inner.max()))]
    return all(end >= CLIPPED * max(1, following) for end, following in counts)


def _structure(found, draws):
    """Why a tensor is more than numbers from a distribution, or nothing."""
    if found.low == found.high:
        return "constant"
    if all(bool((each == each.round()).all()) for each in draws):
        return WHOLE
    if draws[0].numel() >= 4 * FEW_VALUES and torch.unique(draws[0].reshape(-1)[:1 << 16]).numel() <= FEW_VALUES:
        return LEVELS
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
    tails = count >= MANY and min(found.mean - found.low, found.high - found.mean) >= TAILS * found.sigma
    most = OFF_CENTRE if tails else max(CENTRED, 2.5 / math.sqrt(count))
    centred = abs(found.mean) < most * found.sigma
    return NORMAL if centred and found.low < 0 < found.high and not found.clipped else WITHIN
