"""Seeks rare branches of a reference: sides of its bounds on which no number of the task's inputs lies.

A bound is one of an operator (`x > 1000`, `clamp`, `maximum`), or a condition of Python's on a number that is read from a
tensor, which shows as another sequence of operators. Inputs that look normal are scaled until the other side is met.
"""
import contextlib
import math
import time

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from . import inputs as drawing
from .bits import same_bits
from .faults import TaskFault
from .index_guard import guarded
from .traits import NORMAL

TRIED_BY_OTHERS = (60.0, -1.0)  # scales of other families
STEP, STEPS = 30.0, 5  # of the search: from 60 to 1.5e9
HALVINGS = 4           # of the last step, in its logarithm
BEYOND = 4.0           # times the least scale found: a quarter of the normal numbers that lead there are as large
MOST = 3               # scales of one task
ROOM = 1 / 16          # of the largest number of an input's dtype
LIMIT_S = 1.0          # of the search
_COMPARISONS = {"gt", "ge", "lt", "le"}
_WITH_BOUNDS = {"clamp", "clamp_min", "clamp_max", "hardtanh", "threshold", "hardshrink", "softshrink"}
_AT_ZERO = {"relu", "leaky_relu", "elu", "prelu", "_prelu_kernel", "abs", "sign"}
_OF_TWO = {"maximum", "minimum", "fmax", "fmin"}
_READS = {"_local_scalar_dense", "is_nonzero", "item", "equal"}


class Sides(TorchDispatchMode):
    """Which sides of the reference's bounds some number lies on."""

    def __init__(self, end=math.inf):
        super().__init__()
        self._path, self._seen, self._reads, self._end = [], [], False, end

    def met(self):
        """(the operators in their order, or () if Python reads no number; the sides met, each a pair of numbers)."""
        seen = frozenset(side for side, any_there in self._seen if bool(any_there))
        return tuple(self._path) if self._reads else (), seen

    def asked(self):
        """The sides of all bounds."""
        return frozenset(side for side, _ in self._seen)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.name().split("::")[1].partition(".")[0].removesuffix("_")
        if time.monotonic() > self._end:
            raise TimeoutError("the search for rare branches has ended")
        at = len(self._path)
        self._path.append(name)
        self._reads = self._reads or name in _READS
        if name not in _COMPARISONS and args and isinstance(args[0], torch.Tensor) and not args[0].is_complex():
            self._note(at, args[0].detach(), _bounds_of(name, func, args, kwargs or {}))  # before it is written in place
        found = func(*args, **(kwargs or {}))
        if name in _COMPARISONS and isinstance(found, torch.Tensor) and _holds_reals(args):
            self._seen += [((at, 0), found.any()), ((at, 1), found.logical_not().any())]
        return found

    def _note(self, at, values, bounds):
        for number, bound in enumerate(bounds):
            self._seen += [((at, 2 * number), (values < bound).any()), ((at, 2 * number + 1), (values > bound).any())]


def _holds_reals(args):
    return any(isinstance(each, torch.Tensor) and each.is_floating_point() for each in args)


def _bounds_of(name, func, args, kwargs):
    """The bounds that an operator compares its first tensor with: numbers or tensors."""
    if name in _AT_ZERO:
        return (0.0,)
    if name in _OF_TWO:
        return args[1:2]
    if name not in _WITH_BOUNDS:
        return ()
    left_out = [each.default_value for each in func._schema.arguments[len(args):] if each.name not in kwargs]
    given = [each for each in (*args[1:], *kwargs.values(), *left_out) if isinstance(each, (int, float, torch.Tensor))]
    given = given[:1] if name == "threshold" else given  # its second number is a value
    return [-abs(each) for each in given] + [abs(each) for each in given] if name.endswith("shrink") else given


def scales(reference, inputs, units, seed, sides):
    """The factors, at most MOST, by which inputs that look normal are to be scaled so that the reference takes a rare branch.

    `sides` has watched the reference on these inputs. None where there is no bound with a side that no number is on, no
    factor up to 1.5e9 leads there within LIMIT_S, or memory for a copy of the weights is short.
    """
    search = _Search(reference, inputs, units, seed, sides)
    if not search.is_needed:
        return ()
    try:
        with _weights_stay(reference):
            return search.found()
    except (MemoryError, torch.OutOfMemoryError):
        return ()


@contextlib.contextmanager
def _weights_stay(reference):
    """Puts back weights that a rare branch changes: calls restore those alone that a draw of the task changes."""
    parameters = list(reference.target.parameters()) if reference.is_module else []
    before = [each.detach().clone() for each in parameters]
    try:
        yield
    finally:
        with torch.no_grad():
            for own, kept in zip(parameters, before):
                if not same_bits(own, kept):
                    own.copy_(kept)


class _Search:
    def __init__(self, reference, inputs, units, seed, sides):
        self._reference, self._inputs, self._seed = reference, inputs, seed
        tensors = drawing.tensors_in(inputs)
        normal = [unit for unit in units if unit.traits.kind == NORMAL]
        self._changed = {id(tensors[at]) for unit in normal for at in unit.places}
        self._most = min((ROOM * torch.finfo(unit.traits.dtype).max / max(abs(unit.traits.low), abs(unit.traits.high))
                         for unit in normal), default=0.0)
        self._known, self._end = set(), time.monotonic() + LIMIT_S
        self._asked, self._path = sides.asked(), sides.met()[0]
        self._learn(sides.met())

    @property
    def is_needed(self):
        """Whether a side has no number, or Python's conditions may decide, and the inputs can be scaled."""
        return bool(self._path or self._asked - self._known) and self._most >= TRIED_BY_OTHERS[0]

    def found(self):
        found, tried = [], list(TRIED_BY_OTHERS)
        while len(found) < MOST and self.is_needed and time.monotonic() < self._end:
            if tried:
                self._learn(self._met(tried.pop()))
            elif (least := self._least()) is None or least in found:
                break
            else:
                found.append(least)
                self._learn(self._met(least))
        return tuple(found)

    def _learn(self, found):
        """What was met, if anything, is known from now on."""
        if found is not None:
            self._known |= {found[0], *found[1]}

    def _least(self):
        """A scale of the least size that meets what is not known yet, or None."""
        below = TRIED_BY_OTHERS[0]
        sizes = [below] + [min(below * STEP ** step, self._most) for step in range(1, STEPS + 1)]
        for above in (sign * size for size in dict.fromkeys(sizes) for sign in (1, -1)):
            if time.monotonic() > self._end:
                return None
            if above not in TRIED_BY_OTHERS and self._is_new(above):
                return self._refined(abs(above) / STEP, above)
        return None

    def _refined(self, below, above):
        for _ in range(HALVINGS):
            middle = math.copysign(math.sqrt(below * abs(above)), above)
            if self._is_new(middle):
                above = middle
            else:
                below = abs(middle)
        return math.copysign(min(BEYOND * abs(above), self._most), above)

    def _is_new(self, scale):
        found = self._met(scale)
        return found is not None and (found[0] not in self._known or bool(found[1] - self._known))

    def _met(self, scale):
        """Sides.met() at this scale; None where the reference raises there, or takes too long."""
        sides = Sides(self._end)
        try:
            with torch.no_grad():
                given = tree_map_only(torch.Tensor, lambda each: each * scale if id(each) in self._changed else each.clone(),
                                      self._inputs)
            with guarded(self._reference.device), sides:
                self._reference.call(given, self._seed)
            return sides.met()
        except (TaskFault, ArithmeticError, MemoryError, RuntimeError, TypeError, ValueError, IndexError, TimeoutError):
            return None
