"""Values of an output that rounding decides, such as those between two steps of a quantisation.

A reference that rounds, compares or selects jumps there, and two right computations can be on different sides of the jump.
Each wrong value is compared with those that the reference gives in float64: as it is, and where its inputs and the results of
its operators differ by a few ulps of float32.
"""
import math
import time

import torch
from torch.utils._pytree import tree_flatten, tree_map_only, tree_unflatten

from ..seeds import of_family
from .compare import compare, names_of, paired
from .elements import outside
from .faults import TaskFault
from .index_guard import guarded
from .soundness import coarse, is_real
from .tolerance import Sound
from .wide import Late

MOVES, ULPS = 10, 16.0          # runs besides the plain one, and how far each value is moved in them at most
MOST = (0.01, 0.05)             # share of an output that may be undecided: in 32 bit, in 16 bit
LEAST = 2.0 ** -40              # relative, by which equal numbers are told apart
STEP_ERROR = 1e-3               # of a step: steps of real numbers are computed, too
GIVES_UP_AFTER = 4              # moved inputs that explain no value
LIMIT_S = 5.0                   # of all runs of the reference
_ODD, _BITS = 0x2545F4914F6CDD1D, 20
_COARSE = 40                    # bits of a result that its move does not depend on, so that opposite moves stay opposite
_SHORT = (torch.float16, torch.bfloat16)
_WHOLE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def settled(prepared, pristine, seed, sides, found, devices, by_a_step=False):
    """The Comparison in which such values are right; `found`, if others are wrong too.

    `sides` are (expected, actual, exact) as compare() takes them, and `found` is its Comparison. With `by_a_step`, the others
    may differ by as much as the reference's own do, in up to 5% of an output: long sums lose more than some ulps.
    """
    reference = prepared.reference
    if found.error_class != "wrong_value" or not found.outputs or prepared.is_large or prepared.is_random:
        return found
    expected, actual, exact = sides
    places = _places(prepared, pristine, sides, by_a_step)
    if not places or not (_are_right(prepared, pristine, seed, places) or by_a_step and all(
            each.differ_by_a_step() for each in places.values())):
        return found
    leaves, spec = tree_flatten(expected)
    leaves = [places[name].taken_over() if name in places else own
              for name, own in zip(names_of(expected, reference.named), leaves, strict=True)]
    again = compare(tree_unflatten(leaves, spec), actual, prepared.rule, exact, devices, named=reference.named)
    again.findings += [f"{name}: some values differ where rounding decides; the reference gives them too, in float64 or where "
                       f"inputs or results inside differ by {ULPS:g} ulps at most" for name in places]
    return again if again.right else found


class _Places:
    """The places where one output is wrong."""

    def __init__(self, own, given, mask, limits):
        self.own, self._limits = own, limits
        self._at = mask.reshape(-1).nonzero().squeeze(-1)
        self._given = _taken(given, self._at)
        self.left = torch.ones_like(self._at, dtype=torch.bool)  # those that no other value explained
        self._expected, self._step = _taken(own, self._at), 0.0  # the largest change of the reference's values

    def explain(self, other):
        """Notes the places where `other`, another output of the reference, has the candidate's values."""
        other = _taken(other, self._at).to(self.own.dtype)
        self._step = max(self._step, _largest_distance(other, self._expected))
        # NaN and infinity are at the same places in every right result.
        self.left &= outside(other, self._given, self._limits) | ~_finite(self._given)

    def differ_by_a_step(self):
        """Whether the candidate's values differ by no more than the reference's have changed."""
        return _largest_distance(self._given, self._expected) <= self._step * (1 + STEP_ERROR)

    def taken_over(self):
        """The reference's output with the candidate's values at the places."""
        values = self.own.clone(memory_format=torch.contiguous_format)
        _bits(values).view(-1)[self._at] = _bits(self._given)
        return self.own.clone().copy_(values)  # in the order of dimensions that compare() looks at


def _bits(tensor):
    """PyTorch does not index 8-bit floats and some unsigned integers."""
    return tensor if tensor.is_complex() else tensor.view(_WHOLE[tensor.dtype.itemsize])


def _taken(tensor, at):
    return _bits(tensor.contiguous()).view(-1)[at].view(tensor.dtype)


def _largest_distance(one, other):
    """Infinite where either is no number."""
    wide = torch.complex128 if one.is_complex() else torch.float64
    return (one.to(wide) - other.to(wide)).abs().nan_to_num(nan=math.inf).max().item()


def _finite(tensor):
    return torch.isfinite(tensor if tensor.is_complex() else tensor.double())


def _places(prepared, pristine, sides, by_a_step):
    """{name: the _Places of each wrong output}, without those that an error budget judges; empty: too many are wrong."""
    reference, rule = prepared.reference, prepared.rule
    most, found = MOST[by_a_step or coarse(reference, pristine, sides[0])], {}
    for name, own, given, precise in paired(*sides, named=reference.named):
        if precise is not None and not (type(precise) is Sound and precise.values is None):
            continue
        limits = (precise.rule(rule) if precise is not None else rule).limits(own.dtype) if is_real(own) else None
        mask = outside(own, given.data, limits)
        count = int(mask.sum())
        if count > max(1, most * own.numel()):
            return {}
        if count:
            found[name] = _Places(own, given.data, mask, limits)
    return found


def _are_right(prepared, pristine, seed, places):
    """Whether the reference has each of the candidate's values, in float64 or for other inputs."""
    try:
        return _explained(prepared, pristine, seed, places)
    except (Late, TaskFault, ArithmeticError, MemoryError, RuntimeError, TypeError, ValueError, IndexError):
        return False
    finally:
        prepared.free_float64()


def _explained(prepared, pristine, seed, places):
    reference, before = prepared.reference, 0
    deadline = time.monotonic() + LIMIT_S
    for number in range(MOVES * (2 if prepared.any_order else 1) + 1):
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return False
        with guarded(prepared.device):  # a moved input may give an index beyond its dimension
            outputs, narrowed = _moved_run(reference, _Moves(seed, number, prepared.any_order), pristine, seed, left_s)
        others = dict(zip(names_of(outputs, reference.named), tree_flatten(outputs)[0]))
        for name, each in places.items():
            other = others.get(name)
            if narrowed or not isinstance(other, torch.Tensor) or other.shape != each.own.shape:
                return False
            each.explain(other)
        left = sum(int(each.left.sum()) for each in places.values())
        if not left:
            return True
        if number == 0:
            before = left
        if number == GIVES_UP_AFTER and left == before:
            return False
    return False


def _moved_run(reference, moves, pristine, seed, limit_s):
    """What call_wide() gives; where the reference refuses its own moved results, with moved inputs alone."""
    inputs = moves.of_inputs(pristine)
    try:
        return reference.call_wide(inputs, seed, limit_s, moves.of_result)
    except (AssertionError, TaskFault, ArithmeticError, RuntimeError, ValueError, IndexError):
        return reference.call_wide(inputs, seed, limit_s)


class _Moves:
    """Moves real numbers in float64 by a share of ULPS that depends on their size: equal numbers stay equal.

    Number 0 moves nothing. Of 1 and 2, 3 and 4, and so on, one moves each number as far up as the other down, so that a value
    is missed only where several moves cancel out in each pair. Inputs that 16 bits hold stay, and so do results that float32
    holds: no rounding has led to a tie among them, such as 0.5 for round(). With `parts_equals`, equal inputs are told apart by
    less than any rounding.
    """

    def __init__(self, seed, number, parts_equals=False):
        self._parts = torch.Generator().manual_seed(of_family(seed, f"parts {number}")) if parts_equals else None
        self._salt = of_family(seed, f"undecided {(number + 1) // 2}")
        self._most = ULPS * 2.0 ** -23 * (-1) ** number if number else 0.0

    def of_inputs(self, inputs):
        def move(tensor):
            if not tensor.is_floating_point():
                return tensor
            wide = tensor.double()
            is_short = any(bool((wide == wide.to(each)).all()) for each in _SHORT)
            if self._parts is not None:
                noise = torch.rand(wide.shape, generator=self._parts, dtype=torch.float64).to(wide.device)
                tensor = wide = wide * (1 + LEAST * noise)
            return tensor if is_short else wide * self._factors(wide.abs(), 0)
        if not self._most:
            return inputs
        with torch.no_grad():
            return tree_map_only(torch.Tensor, move, inputs)

    def of_result(self, tensor):
        if not self._most or tensor.dtype != torch.float64:
            return tensor
        factors = self._factors(tensor.abs(), _COARSE)
        return tensor * factors.masked_fill_(tensor == tensor.float(), 1.0)

    def _factors(self, size, coarse):
        bits = ((size.view(torch.int64) >> coarse) ^ self._salt) * _ODD
        share = ((bits >> (63 - _BITS)) & ((1 << _BITS) - 1)).double() / (1 << (_BITS - 1)) - 1.0
        return 1.0 + self._most * share
