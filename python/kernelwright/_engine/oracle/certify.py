"""Examines what a task can tell of a candidate: its inputs, how exact its outputs are, incomplete computations that pass.

A verdict needs none of it: it is for the author of a task.
"""
import math
import time
from dataclasses import dataclass, field

import torch
from torch.utils._pytree import tree_flatten, tree_map_only, tree_unflatten

from .. import wire
from ..packets import clip
from ..values import dtype_name
from ..wire import made
from . import error_units, soundness, traits
from . import inputs as drawing
from .compare import Returned, compare, names_of
from .elements import difference, finite, rms
from .faults import TaskFault
from .index_guard import guarded
from .tolerance import ulp
from .weak_answers import FAULTS, applied, fitted, halved, replaced

AFFINE, BFLOAT16, HALF = "affine", "bfloat16", "half"
MOST, DIMENSIONS, NAME_LIMIT = 32, 16, 100  # they bound a Certified to a packet
BUDGET_S = 40.0  # of all checks that run the reference again; later ones are left out
LIMIT_S = 10.0   # of one run in float64
SLOW, LARGE = "the reference takes too long", "the task is too large"
FAR = 16.0       # times the reference's own error: what is nearer computes the function


@dataclass
class _World:
    """The draws of a task, and the reference's answers."""

    task: object
    seeds: list
    draws: list
    answers: list      # of the reference
    exacts: list       # those in float64, where the tolerance needs them
    until: float
    untried: str = ""  # why checks were left out
    distances: dict = field(default_factory=dict)  # position of an output: _Distances


@dataclass
class _Distances:
    """Of one output, from float64 and under a change of each input by one ulp."""

    rms: float = -1.0
    loss: float = -1.0
    sensitivity: float = -1.0
    why: str = ""
    ill: bool = False


def certified(task, seeds):
    """The CertifiedT of a prepared task; `seeds` are three or more."""
    until = time.monotonic() + BUDGET_S
    is_large = task.is_large
    seeds = seeds[:2] if is_large else seeds
    draws = [task.draw(seed) for seed in seeds]
    answers, exacts = zip(*(task.by_tolerance(*each) for each in list(zip(draws, seeds))[:1 if is_large else None]))
    world = _World(task, seeds, draws, answers, exacts, until, LARGE if is_large else "")
    random = task.reply.referenceRandom
    world.distances = _distances(world, error_units.RANDOM if random else error_units.TOO_LARGE if is_large else "")
    inputs, outputs = _inputs(world, random), _outputs(world)
    weak = [] if random else _weak_answers(world)
    task.free_float64()
    return made(wire.CertifiedT, inputs=inputs[:MOST], outputs=outputs[:MOST],
                left_out=max(0, len(inputs) - MOST) + max(0, len(outputs) - MOST), unseeded=task.unseeded,
                changed_inputs=_names(task.plan.labels[at] for at in sorted(task.changed_inputs)),
                changed_weights=_names(sorted(task.changed_weights)),
                weak_answers=weak, untried=world.untried)


def _names(texts):
    return [clip(each, NAME_LIMIT) for each in texts][:MOST]


def _inputs(world, random):
    first, second = (drawing.tensors_in(each) for each in world.draws[:2])
    found = []
    for at, (own, other) in enumerate(zip(first, second)):
        seen = traits.traits_of(own, other)
        varies = not traits.same_bits(own, other)
        found.append(made(wire.CertifiedInputT, input=clip(world.task.plan.labels[at], NAME_LIMIT), dtype=dtype_name(own.dtype),
                          shape=list(own.shape[:DIMENSIONS]), varies=varies, values=seen.kind, why_kept=seen.why,
                          ignored=varies and not random and _has_time(world) and _ignored(world, at)))
    return found


def _has_time(world):
    """Whether another check may begin."""
    if not world.untried and time.monotonic() > world.until:
        world.untried = SLOW
    return not world.untried


def _ignored(world, at):
    """Whether the outputs stay within the tolerance when this input is that of another draw."""
    def answer(inputs, which):
        other = drawing.tensors_in(world.draws[which - 1])[at]
        return replaced(inputs, lambda position, tensor: other if position == at else tensor)
    return _passes(world, answer)


def _outputs(world):
    task, answer = world.task, world.answers[0]
    names = names_of(answer, task.reference.named)
    tensors = [(at, each) for at, each in enumerate(tree_flatten(answer)[0]) if isinstance(each, torch.Tensor)]
    found = []
    for at, own in tensors:
        seen = world.distances[at]
        empty = task.passing_alone.get(at, [])
        found.append(made(wire.CertifiedOutputT, output=clip(names[at], NAME_LIMIT), dtype=dtype_name(own.dtype),
                          shape=list(own.shape[:DIMENSIONS]), empty_answers=empty, rms=seen.rms, reference_loss=seen.loss,
                          sensitivity=seen.sensitivity, why_unknown=seen.why, ill_conditioned=seen.ill))
    return found


def _distances(world, why):
    """{position of an output: _Distances}."""
    own = world.answers[0]
    leaves = {at: each for at, each in enumerate(tree_flatten(own)[0]) if isinstance(each, torch.Tensor)}
    if not why:
        exact, why = _wide(world, lambda: world.draws[0])
    if why:
        return {at: _Distances(why=why) for at in leaves}
    units = traits.learned(*(drawing.tensors_in(each) for each in world.draws[:2]))
    beside, _ = _wide(world, lambda: soundness.moved(world.draws[0], units, world.seeds[0], 0.0))
    is_coarse = soundness.coarse(world.task.reference, world.draws[0], own)
    return {at: _measured(each, exact[at], beside and beside[at], is_coarse) for at, each in leaves.items()}


def _wide(world, make_inputs):
    """(the leaves of the outputs in float64, "" or why there are none)."""
    try:
        found, narrowed = world.task.reference.call_wide(make_inputs(), world.seeds[0], LIMIT_S)
    except (TaskFault, ArithmeticError, MemoryError, RuntimeError, TypeError, ValueError):
        return None, error_units.NO_FLOAT64
    leaves, spec = tree_flatten(found)
    own, same = tree_flatten(world.answers[0])
    shapes = [getattr(each, "shape", None) for each in own]
    if spec != same or shapes != [getattr(each, "shape", None) for each in leaves]:
        return None, error_units.NO_FLOAT64
    return (None, error_units.NARROWED) if narrowed else (leaves, "")


def _measured(own, exact, beside, is_coarse):
    if not soundness.is_real(own):
        return _Distances(why=error_units.EXACT)
    size = rms(exact)
    if not all(finite(each) for each in (own, exact)):
        return _Distances(why=error_units.NONFINITE)
    found = _Distances(rms=size, loss=_far(exact, own))
    found.ill = found.loss > soundness.LOSS[is_coarse] * size
    if beside is not None:
        found.sensitivity = _far(exact, beside)
        found.ill = found.ill or not found.sensitivity <= soundness.SENSITIVITY[is_coarse] * size
    return found


def _far(first, second):
    found = difference(first, second, lambda magnitude: torch.full_like(magnitude, math.inf))
    return math.inf if found.nonfinite else found.max_abs


def _weak_answers(world):
    """The names of the incomplete computations that are right under the tolerance, although they miss by far."""
    found = []
    for name, check in ((AFFINE, _affine), (BFLOAT16, _bfloat16), (HALF, _half)):
        if not _has_time(world):
            break
        if check(world):
            found.append(name)
    return found


def _bfloat16(world):
    """Every float32 input rounded to bfloat16."""
    def answer(inputs, which):
        return replaced(inputs, lambda at, each: each.bfloat16().float() if each.dtype is torch.float32 else each)
    return _passes(world, answer, far=True)


def _half(world):
    """The second half of every input, along its longest dimension, a copy of the first."""
    def answer(inputs, which):
        return replaced(inputs, lambda at, each: halved(each) if each.is_floating_point() else each)
    return _passes(world, answer, far=True)


def _passes(world, changed, far=False):
    """Whether the reference's own answers to changed inputs pass on every draw, `far` from right ones where it is asked for.

    `changed(inputs, which)` gives the inputs of the draw with this number.
    """
    distance = False
    for which in range(1, len(world.draws)):
        inputs = changed(world.draws[which], which)
        if all(each is other for each, other in zip(drawing.tensors_in(inputs), drawing.tensors_in(world.draws[which]))):
            return False
        try:
            with guarded(world.task.device):
                answer = world.task.reference.call(inputs, world.seeds[which])
        except FAULTS:
            return False  # the reference refuses such inputs, so a computation on them is none
        if not _right(world, which, answer):
            return False
        distance = distance or _is_far(world, which, answer)
    return distance or not far


def _right(world, which, answer):
    expected = world.answers[which]
    returned = tree_map_only(torch.Tensor, Returned.of, answer)
    return compare(expected, returned, world.task.rule, world.exacts[which], stop_early=True).right


def _is_far(world, which, answer):
    """Whether an output misses by more than FAR times what the reference loses itself; not where that is unknown."""
    pairs = zip(tree_flatten(world.answers[which])[0], tree_flatten(answer)[0])
    return any(_far(own, given) > FAR * _unit(own, world.distances[at])
               for at, (own, given) in enumerate(pairs) if isinstance(own, torch.Tensor) and not world.distances[at].why)


def _unit(own, distances):
    # Of a value of the output's size one rounding is the least error that other arithmetic makes.
    return max(distances.loss, ulp(torch.tensor(rms(own), dtype=torch.float64), own.dtype).item())


def _affine(world):
    """Every output a * input + b for one input of its shape, with a and b from the first draw."""
    fits = {}
    for at, own in enumerate(tree_flatten(world.answers[0])[0]):
        if isinstance(own, torch.Tensor):
            fits[at] = fitted(own, drawing.tensors_in(world.draws[0])) if own.is_floating_point() and own.numel() else None
            if fits[at] is None:
                return False
    distance = False
    for which in range(1, len(world.draws)):
        leaves, spec = tree_flatten(world.answers[which])
        inputs = drawing.tensors_in(world.draws[which])
        lines = [applied(fits[at], inputs, each) if at in fits else each for at, each in enumerate(leaves)]
        answer = tree_unflatten(lines, spec)
        if not _right(world, which, answer):
            return False
        distance = distance or _is_far(world, which, answer)
    return distance
