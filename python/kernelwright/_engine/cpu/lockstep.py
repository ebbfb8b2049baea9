"""Runs several programs of a launch at once: each operation computes the values of all of them.

The interpreter spends tens of microseconds of Python on an operation, whatever the size of its blocks. In lockstep
every program of a group does an operation before any does the next, and the result is that of one program after
another: what the programs read and write is noted, and where one depends on another, all is undone and they run in turn.

The programs of a group may take different ways. Then those that take one way run together. An operation that has no
form for several programs, and any error, makes them run in turn too, so that errors are those of one program. Kernels
with a `while` loop always do, because such a loop may wait for another program.
"""
import ast
import itertools
import math
import weakref

import numpy as np
import triton.runtime.interpreter as interpreter

from .. import errors
from . import bounds
from .accesses import Accesses
from .per_program import Builder, Diverged, PerProgram, stop
from .speed import running

Handle = interpreter.TensorHandle
# The numbers of programs in a group. None is a power of two, so no block has a dimension of this size by chance.
FIRST_WIDTH, WIDTHS = 13, (61, 31, 13, 7, 3)
ELEMENTS = 1 << 17  # of the largest block, over all programs of a group: the caches of a core hold some of them
LARGE_BLOCK = 1 << 12  # elements; operations on a larger one take longer than the Python around them
LEAST_PROGRAMS = 5  # fewer run in turn
MOST_ELEMENTS = 1 << 21  # a group with a larger one is given up
LEAST_TRIES = 6
_plans = weakref.WeakKeyDictionary()
_waits = weakref.WeakSet()  # functions with a loop that may wait


class _Group:
    """The context in which the programs at these places run together."""

    def __init__(self, places):
        self.size, self.largest = len(places), 1
        self.ids = [_common(np.array(each, np.int32)) for each in zip(*places)]

    def __enter__(self):
        running.group = self
        interpreter.interpreter_builder.__class__ = Builder
        return self

    def __exit__(self, *exc):
        running.group = None
        interpreter.interpreter_builder.__class__ = interpreter.InterpreterBuilder
        return False

    def check(self, handle, sizes):
        """Give up if a tensor's data has not the form of its type: an operation took programs for elements."""
        data = getattr(handle, "data", None)
        if type(data) is PerProgram:
            numel = math.prod(sizes)
            if numel > self.largest:
                self.largest = numel
            if data.shape == (self.size, *sizes) and data.size <= MOST_ELEMENTS:
                return
        elif isinstance(data, np.ndarray) and (data.shape == sizes or not sizes and data.size == 1):
            return
        elif not isinstance(handle, Handle):  # nothing, a block pointer, a descriptor
            return
        raise Diverged


def _common(values):
    return values[:1] if (values == values[0]).all() else values.view(PerProgram)


class _Plan:
    """How many programs of a kernel run at once."""

    def __init__(self):
        self.width = FIRST_WIDTH
        self._tries = self._done = 0

    def tried(self, programs, largest):
        """Note a group that ran to its end with so many programs (0: it did not), and the elements of its largest block."""
        self._tries += 1
        self._done += programs
        if programs:
            self.width = next((each for each in WIDTHS if each * largest <= ELEMENTS), 1) if largest <= LARGE_BLOCK else 1
        if self._tries >= LEAST_TRIES and self._done < 2 * self._tries:
            self.width = 1


def run(function, values, places, done):
    """Run a kernel's code for the programs at these places (x, y, z) of the grid; call `done` for each that ended."""
    plan = _plans.get(function)
    if plan is None:
        plan = _plans[function] = _Plan()
        if function in _waits:
            plan.width = 1
    places = iter(places)
    while plan.width > 1 and (some := list(itertools.islice(places, plan.width))):
        if len(some) < LEAST_PROGRAMS:
            one_by_one(function, values, some, done)
        elif _together(function, values, some, plan):
            for _ in some:
                done()
        else:
            plan.width = 1
            one_by_one(function, values, some, done)
    one_by_one(function, values, places, done)


def one_by_one(function, values, places, done):
    """The same, one program after another."""
    for place in places:
        interpreter.interpreter_builder.grid_idx = place
        function(**values)
        done()


def _together(function, values, places, plan):
    """Whether the programs at these places ran as they would in turn. If not, nothing has changed."""
    accesses, pending, raised = Accesses(), [range(len(places))], errors.raised_mark()
    try:
        with bounds.noted_in(accesses):
            while pending:
                programs, mark = pending.pop(), accesses.mark()
                accesses.of(programs)
                try:
                    pending.extend(reversed(_run(function, values, programs, places, plan)))
                except Diverged as diverged:
                    accesses.undo(mark)
                    plan.tried(0, 0)
                    pending.extend(reversed(_by_way(programs, diverged)))
    except Exception:  # pylint: disable=broad-exception-caught  # an error comes again from the program that meets it
        errors.forget_raised(raised)
        return False
    return True


def _run(function, values, programs, places, plan):
    """Runs these of the programs, and gives the groups of them that are still to be run. Raises Diverged."""
    size = len(programs)
    if size == 1:
        one_by_one(function, values, [places[programs[0]]], lambda: None)
        return []
    if size & (size - 1) == 0:
        return [programs[:-1], programs[-1:]]
    with _Group([places[each] for each in programs]) as group:
        function(**values)
    plan.tried(size, group.largest)
    return []


def _by_way(programs, diverged):
    """The groups of programs with one way each, in the order of their first programs."""
    if diverged.ways is None:
        raise RuntimeError("an operation has no form for several programs") from diverged
    groups = {}
    for program, way in zip(programs, diverged.ways.tolist(), strict=True):
        groups.setdefault("nan" if way != way else way, []).append(program)
    return list(groups.values())


def may_wait(function, tree):
    """Note a kernel's function whose source has a loop that may wait for another program."""
    if any(isinstance(node, ast.While) for node in ast.walk(tree)):
        _waits.add(function)


def entered(function):
    """Give up a group in which a function runs that may wait."""
    if function in _waits:
        stop()
