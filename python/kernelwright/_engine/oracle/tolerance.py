"""The allowed distance between an output and its expected value.

kernelbench: rtol = atol = 1e-4, for float16, bfloat16 and 8-bit floats 1e-2. seed: 1e-4 for all. strict: an error budget from
float64. Integers and truth values are compared exactly under each of them.
"""
import math
from dataclasses import dataclass

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from ..wire import text
from .elements import difference, rms
from .faults import TaskFault

NAMES = ("kernelbench", "seed", "strict")
STRICT_FACTOR, STRICT_ULPS = 4.0, 4.0
ROUNDING_ULPS = 16    # of varied inputs
COARSEST_ULPS = 2.0 ** 13    # of float32, by which operands of 10 bits of mantissa (float16, TF32) differ
COARSEST_SHARE = 2.0 ** -9   # of the largest output, the error of such operands
_COARSE = (torch.float16, torch.bfloat16)


class Flat:
    """|actual - expected| <= atol + rtol * |expected|, as in torch.allclose."""

    def __init__(self, name="kernelbench", rtol=-1.0, atol=-1.0):
        self.name, self._rtol, self._atol = name, rtol, atol
        self.is_custom = rtol >= 0 or atol >= 0

    def of(self, dtype):
        """(rtol, atol) for outputs of this dtype."""
        default = 1e-2 if dtype in _COARSE or dtype.itemsize == 1 else 1e-4
        default = 1e-4 if self.name == "seed" else default
        return (self._rtol if self._rtol >= 0 else default, self._atol if self._atol >= 0 else default)

    def limits(self, dtype):
        """A function from |expected| in float64 to the allowed distance of each value."""
        rtol, atol = self.of(dtype)
        return lambda magnitude: atol + rtol * magnitude


class Budget:
    """4 times the error of the eager reference against float64, at least 4 output ulps, plus one ulp."""

    name = "strict"

    def __init__(self, loss):
        self.loss = loss  # the largest |eager - float64| over the output

    def of(self, dtype):
        """An equivalent (rtol, atol) for the record."""
        return (STRICT_ULPS + 1) * torch.finfo(dtype).eps, STRICT_FACTOR * self.loss

    def limits(self, dtype):
        """As for Flat."""
        def limit(magnitude):
            step = ulp(magnitude, dtype)
            return torch.clamp(STRICT_ULPS * step, min=STRICT_FACTOR * self.loss) + step
        return limit


class Capped:
    """A rule's limit, and at most a number."""

    def __init__(self, rule, most):
        self.name, self._rule, self._most = rule.name, rule, most

    def of(self, dtype):
        """An equivalent (rtol, atol) for the record."""
        rtol, atol = self._rule.of(dtype)
        return (0.0, self._most) if self._most <= atol else (rtol, atol)

    def limits(self, dtype):
        """As for Flat."""
        own = self._rule.limits(dtype)
        return lambda magnitude: torch.clamp(own(magnitude), max=self._most)


class Scaled:
    """A flat rule for a gradient, which is of any size: the absolute part shrinks with the gradient's root mean square.

    What the order of a sum decides is granted in any case: 4 times the reference's own error, which counts up to what operands
    of 10 bits of mantissa make of the largest value, and 16 ulps of float32 of that value. A gradient that is rounding alone
    has no largest value to speak of, so there the error counts in full.
    """

    def __init__(self, rule, slope):
        self.name, self._rule = rule.name, rule
        self._scale = min(1.0, slope.rms)
        most = math.inf if slope.is_rounding else COARSEST_SHARE * slope.largest
        self._least = max(min(STRICT_FACTOR * (slope.loss or 0.0), most), ROUNDING_ULPS * 2.0 ** -23 * slope.largest)

    def of(self, dtype):
        """An equivalent (rtol, atol) for the record."""
        rtol, atol = self._rule.of(dtype)
        return rtol, max(atol * self._scale, self._least)

    def limits(self, dtype):
        """As for Flat."""
        rtol, atol = self._rule.of(dtype)
        return lambda magnitude: torch.clamp(atol * self._scale + rtol * magnitude, min=self._least)


class Widened:
    """The largest of a rule's limit, 4 times the reference's own error, 8 times its change under one ulp of the inputs, and
    16 ulps of float32 of the largest output: some of a CPU's sums are in float64, which no kernel needs to match. On
    sorted rows the latter three are four times as large.

    Where a flat rule grants the task's own outputs many of their units, it grants as many here, up to what operands of 10 bits
    of mantissa need: a kernel with such operands counts where the task's numbers are small, and is general.
    """

    def __init__(self, rule, sound):
        self.name, self._rule = rule.name, rule
        self._least = sound.room * max(STRICT_FACTOR * max(sound.loss, 2 * sound.sensitivity),
                                       ROUNDING_ULPS * 2.0 ** -23 * sound.largest)
        self._unit, self._own_unit = max(sound.loss, sound.sensitivity), sound.own_unit
        self._most = COARSEST_SHARE * sound.largest

    def least(self, dtype):
        """The limit of the smallest values."""
        if not self._own_unit or not isinstance(self._rule, Flat):
            return self._least
        granted = min(self._rule.of(dtype)[1] / self._own_unit, COARSEST_ULPS)
        return max(self._least, min(granted * self._unit, self._most))

    def of(self, dtype):
        """An equivalent (rtol, atol) for the record."""
        rtol, atol = self._rule.of(dtype)
        return rtol, max(atol, self.least(dtype))

    def limits(self, dtype):
        """As for Flat."""
        own, least = self._rule.limits(dtype), self.least(dtype)
        return lambda magnitude: torch.clamp(own(magnitude), min=least)


@dataclass
class Exact:
    """One output in float64, and the largest error of the eager reference against it."""

    values: torch.Tensor | None  # None: distances are measured from the eager output
    loss: float
    sensitivity: float | None = None

    def rule(self, _):
        """The rule that holds in place of the task's."""
        return Budget(self.loss)

    def measure(self, own, given):
        """The values from which the distances of `given` are measured; None: from the reference's own."""
        return self.values


@dataclass
class Sound(Exact):
    """The error of the reference on varied inputs, its change under one ulp of them, and the largest output.

    `room` is a factor of the limit where the order of a sum matters more than elsewhere.
    """

    largest: float = 0.0
    own_unit: float | None = None  # error_units.Unit of the task's own inputs
    room: float = 1.0

    def rule(self, own):
        """As for Exact; the exact values are kept where the task's rule is measured from them."""
        return Widened(own if self.values is None else Budget(self.loss), self)


class Finite:
    """Every finite value is right where a finite one is expected."""

    name = "finite"

    def of(self, dtype):
        """An equivalent (rtol, atol) for the record."""
        return 0.0, math.inf

    def limits(self, dtype):
        """As for Flat."""
        return lambda magnitude: torch.full_like(magnitude, math.inf)


class AnyFinite(Exact):
    """An output on varied inputs that are too inexact to compare values. `most_rms` limits all their errors together."""

    def __init__(self, most_rms=None):
        super().__init__(None, None)
        self.most_rms = most_rms

    def rule(self, own):
        """As for Exact."""
        return Finite()


@dataclass
class Slope(Exact):
    """A gradient: the error of the reference, the root mean square of its values, and the largest of them.

    `is_rounding`: in float64 no value is larger than the reference's error, as of a bias in front of a batch norm.
    """

    rms: float = 1.0
    largest: float = 0.0
    is_rounding: bool = False

    @classmethod
    def of(cls, own, exact):
        """The Slope of a reference's gradient and its Exact, which may be None."""
        largest = own.abs().max().item() if own.numel() else 0.0
        size = rms(own)
        if not math.isfinite(largest) or not math.isfinite(size):
            return None
        if exact is None:
            return cls(None, None, rms=size, largest=largest)
        is_rounding = own.numel() > 0 and exact.values.abs().max().item() <= exact.loss
        return cls(exact.values, exact.loss, rms=size, largest=largest, is_rounding=is_rounding)

    def measure(self, own, given):
        """Of each value the nearer one: where a gradient jumps, rounding decides, and float64 may be on the other side."""
        if self.values is None or not own.numel():
            return None
        wide = own.double()
        return torch.where((given - self.values).abs() < (given - wide).abs(), self.values, wide)

    def rule(self, own):
        """As for Exact."""
        return Scaled(own, self)


class Limited(Exact):
    """The largest error of one output that no weak answer has; distances are measured from the eager output.

    `within` is the Exact whose rule holds besides, or None.
    """

    def __init__(self, most, within=None):
        super().__init__(None, within and within.loss)
        self._most, self._within = most, within

    def rule(self, own):
        """As for Exact."""
        return Capped(self._within.rule(own) if self._within else own, self._most)


def exact_of(outputs, precise):
    """The Exact of each output in the same structure; None for outputs without a counterpart in float64."""
    if isinstance(outputs, (list, tuple)):
        fits = isinstance(precise, (list, tuple)) and len(precise) == len(outputs)
        return type(outputs)(exact_of(each, precise[at] if fits else None) for at, each in enumerate(outputs))
    if isinstance(outputs, dict):
        return {key: exact_of(each, precise.get(key) if isinstance(precise, dict) else None)
                for key, each in outputs.items()}
    if not isinstance(outputs, torch.Tensor) or not isinstance(precise, torch.Tensor) \
            or not outputs.is_floating_point() or not precise.is_floating_point() or precise.shape != outputs.shape:
        return None
    return Exact(precise, difference(precise, outputs, lambda magnitude: float("inf")).max_abs)


def granting(exact, outputs):
    """The exacts, each with the larger of its loss and that of these outputs, which the reference gives in another way."""
    leaves, spec = tree_flatten(exact, is_leaf=lambda each: each is None)
    for own, other in zip(leaves, tree_flatten(outputs)[0]):
        if own is not None:
            own.loss = max(own.loss, difference(own.values, other, lambda magnitude: float("inf")).max_abs)
    return tree_unflatten(leaves, spec)


def chosen_exacts(outputs, exact, tight, outputs_name=None):
    """The exacts that a flat rule leaves in force, in the structure of `outputs`; `exact` may be None.

    These are the leaves at the positions `tight`, and, with the name of the outputs among the results, a Slope of each other
    result, which is a gradient.
    """
    leaves, spec = tree_flatten(outputs)
    precise = [None] * len(leaves) if exact is None else tree_flatten(exact, is_leaf=lambda each: each is None)[0]
    first = len(leaves) if outputs_name is None else len(tree_flatten(outputs[outputs_name])[0])
    found = [each if at in tight else Slope.of(own, each) if at >= first else None
             for at, (own, each) in enumerate(zip(leaves, precise))]
    return None if all(each is None for each in found) else tree_unflatten(found, spec)


def limited(outputs, exact, limits):
    """The exacts, with a Limited in place of each leaf of `outputs` whose position has a limit; `exact` may be None."""
    leaves, spec = tree_flatten(outputs)
    precise = tree_flatten(exact, is_leaf=lambda each: each is None)[0] if exact is not None else [None] * len(leaves)
    return tree_unflatten([Limited(limits[at], each) if at in limits else each for at, each in enumerate(precise)], spec)


def ulp(magnitude, dtype):
    """The distance to the next value of `dtype` at each magnitude, as float64."""
    info = torch.finfo(dtype)
    _, exponent = torch.frexp(torch.clamp(magnitude, min=info.tiny))
    return torch.ldexp(torch.full_like(magnitude, info.eps), exponent - 1)


def chosen(tolerance):
    """The Flat of a ToleranceT. Strict tasks use it for outputs without a float64 counterpart."""
    name = text(tolerance.name) if tolerance is not None else ""
    rtol = tolerance.rtol if tolerance is not None else -1.0
    atol = tolerance.atol if tolerance is not None else -1.0
    if name in ("", "custom"):
        name = "kernelbench"
    if name not in NAMES:
        raise TaskFault(f"no tolerance is called {name!r}; there are {', '.join(NAMES)}, or give rtol and atol")
    return Flat(name, rtol, atol)
