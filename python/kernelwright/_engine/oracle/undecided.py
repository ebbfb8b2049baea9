"""Values of an output that rounding decides, such as those between two steps of a quantisation.

A reference that rounds, compares or selects jumps there, and two right computations can be on different sides of the jump.
Each wrong value is compared with those that the reference gives in float64, for its inputs and for inputs that differ by a
few ulps of float32.
"""
import time

import torch
from torch.utils._pytree import tree_flatten, tree_map_only, tree_unflatten

from ..seeds import of_family
from .compare import compare, names_of, paired
from .elements import outside
from .faults import TaskFault
from .soundness import coarse, is_real

MOVES, ULPS = 10, 16.0          # inputs that are tried besides the given ones, and how far each value is moved at most
MOST = (0.01, 0.05)             # share of an output that may be undecided: in 32 bit, in 16 bit
GIVES_UP_AFTER = 4              # inputs that explain no value
LIMIT_S = 5.0                   # of all runs of the reference
_ODD, _BITS = 0x2545F4914F6CDD1D, 20


def settled(prepared, pristine, seed, sides, found, devices):
    """The Comparison in which such values are right; `found`, if others are wrong too.

    `sides` are (expected, actual, exact) as compare() takes them, and `found` is its Comparison.
    """
    reference = prepared.reference
    if found.error_class != "wrong_value" or not found.outputs or prepared.is_large or prepared.is_random:
        return found
    expected, actual, exact = sides
    wrong = _wrong(prepared, pristine, sides)
    if wrong is None or not _are_right(reference, prepared.rule, pristine, seed, wrong):
        return found
    leaves, spec = tree_flatten(expected)
    leaves = [wrong[name].taken_over() if name in wrong else own
              for name, own in zip(names_of(expected, reference.named), leaves, strict=True)]
    again = compare(tree_unflatten(leaves, spec), actual, prepared.rule, exact, devices, named=reference.named)
    again.findings += [f"{name}: some values differ where rounding decides; the reference gives them too, in float64 or for "
                       f"inputs that differ by {ULPS:g} ulps at most" for name in wrong]
    return again if again.right else found


class _Wrong:
    """The places where one output is wrong."""

    def __init__(self, own, given, mask):
        self.own, self._at = own, mask.reshape(-1).nonzero().squeeze(-1)
        self._given = _bits(given).reshape(-1)[self._at]
        self.left = torch.ones_like(self._given, dtype=torch.bool)  # of the places: those that no other value explained

    def explain(self, other, rule):
        """Notes the places where `other`, another output of the reference, has the candidate's values."""
        other = other.reshape(-1)[self._at].to(self.own.dtype)
        limits = rule.limits(self.own.dtype) if is_real(self.own) else None
        self.left &= outside(other, self._given.view(self.own.dtype), limits)

    def taken_over(self):
        """The reference's output with the candidate's values at the places."""
        values = self.own.clone(memory_format=torch.contiguous_format)
        _bits(values).view(-1)[self._at] = self._given
        return self.own.clone().copy_(values)  # in the order of dimensions that compare() looks at


def _bits(tensor):
    """PyTorch does not index 8-bit floats."""
    return tensor.view(torch.uint8) if tensor.is_floating_point() and tensor.dtype.itemsize == 1 else tensor


def _wrong(prepared, pristine, sides):
    """{name: the _Wrong of each output that has one}; None: too many are, or one is judged by an error budget."""
    reference, rule = prepared.reference, prepared.rule
    most, found = MOST[coarse(reference, pristine, sides[0])], {}
    for name, own, given, precise in paired(*sides, named=reference.named):
        if precise is not None:
            continue  # compare() judges it
        mask = outside(own, given.data, rule.limits(own.dtype) if is_real(own) else None)
        count = int(mask.sum())
        if count > max(1, most * own.numel()):
            return None
        if count:
            found[name] = _Wrong(own, given.data, mask)
    return found


def _are_right(reference, rule, pristine, seed, wrong):
    """Whether the reference has each of the candidate's values, in float64 or for other inputs."""
    deadline, before = time.monotonic() + LIMIT_S, None
    for number in range(MOVES + 1):
        try:
            outputs, narrowed = reference.call_wide(_moved(pristine, seed, number), seed, deadline - time.monotonic())
        except (TaskFault, ArithmeticError, MemoryError, RuntimeError, TypeError, ValueError):
            return False
        others = dict(zip(names_of(outputs, reference.named), tree_flatten(outputs)[0]))
        for name, each in wrong.items():
            other = others.get(name)
            if narrowed or not isinstance(other, torch.Tensor) or other.shape != each.own.shape:
                return False
            each.explain(other, rule)
        left = sum(int(each.left.sum()) for each in wrong.values())
        if not left:
            return True
        if number == GIVES_UP_AFTER and left == before:
            return False
        before = left if number == 0 else before
    return False


def _moved(inputs, seed, number):
    """The inputs in float64, each real number moved by a share of ULPS that depends on its value: equal numbers stay equal.

    Number 0 are the inputs as they are. Of 1 and 2, 3 and 4, and so on, one moves each number as far up as the other down, so
    that a value is missed only where the moves of several inputs cancel out in each pair.
    """
    if not number:
        return inputs
    salt = of_family(seed, f"undecided {(number + 1) // 2}")
    most = ULPS * 2.0 ** -23 * (-1) ** number

    def move(tensor):
        if not tensor.is_floating_point() or bool((tensor == tensor.round()).all()):
            return tensor
        wide = tensor.double()
        bits = (wide.view(torch.int64) ^ salt) * _ODD
        share = ((bits >> (63 - _BITS)) & ((1 << _BITS) - 1)).double() / (1 << (_BITS - 1)) - 1.0
        return wide * (1.0 + most * share)
    with torch.no_grad():
        return tree_map_only(torch.Tensor, move, inputs)
