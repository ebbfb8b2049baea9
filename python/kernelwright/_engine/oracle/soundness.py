"""Decides whether a reference gives a sound answer on changed inputs, and how far a right answer may be from it.

Its own precision and float64 must agree, and float64 must bear a change of the inputs by one ulp. The distances found are
the reference's loss and sensitivity.

In 16 bit that is often too much to ask: of a softmax of large numbers, one ulp of them decides which one is chosen. On such a
draw all values of an output are compared together.
"""
import math
from typing import NamedTuple

import torch
from torch.utils._pytree import tree_flatten, tree_map_only, tree_unflatten

from ..seeds import of_family
from . import inputs as drawing
from .compare import names_of
from .elements import difference, finite, rms
from .faults import TaskFault, blame
from .index_guard import guarded
from .tolerance import AnyFinite, Sound
from .traits import CHOSEN, NORMAL, REAL, WITHIN

LOSS, SENSITIVITY = (1e-3, 3e-2), (1e-2, 0.1)  # of the output's rms: in 32 bit, in 16 bit
PLAIN_ERROR = 2e-5   # relative, of numbers that are no tensors
LIMIT_S = 20.0       # of one run in float64
LEAST_ULP, COARSEST_ULP = 2.0 ** -23, 2.0 ** -7  # of the moves of inputs; 8-bit floats move by less than their ulp
ROOM = 1 / 16        # of the largest number of an output's dtype, up to which its values are surely finite
TOGETHER = 3.0       # times the reference's error and its change under one ulp, as root mean squares
TIE = 1e-6           # by which equal integers differ at most where their order is examined
JUMPS = 1 / 200      # of an output: values that rounding may decide; undecided.py grants each of twice as many
ORDERED, COUNTED = 1.0, 2.0 ** -12  # ulps by which zeros are moved: where numbers are ordered; where integers are given alone,
# so little that an epsilon beside them stays the larger, and so much that float64 still tells their sums apart
_OWN_LOSS, _ONE_ULP = "its own precision and float64 differ", "one ulp of the inputs makes a difference"


class Unsound(TaskFault):
    """Why these inputs are not to be used, in a sentence."""


class Imprecise(Unsound):
    """The outputs are finite, and too inexact to compare values."""


class Answer(NamedTuple):
    """The reference's answer on changed inputs."""

    outputs: list | tuple | dict | torch.Tensor
    limits: list | tuple | dict | None  # a tolerance.Sound or tolerance.AnyFinite of each output, in the same structure
    imprecise: str = ""  # why values are not compared one by one


def examined(task, inputs, seed, room=1.0, finite=False, on_bounds=False):
    """The Answer of the reference, with limits that are larger by the factor `room`; raises Unsound.

    With `finite` its real numbers need only be finite. With `on_bounds` a change of the inputs by one ulp may do anything, but
    for the order of equal numbers.
    """
    versions = [each._version for each in drawing.tensors_in(inputs)]
    with blame("the reference raised", task.task.code.file):
        if on_bounds and task.orders:
            raise Unsound("the order of equal numbers decides an output")
        found = _examined(task, inputs, seed, room, finite, on_bounds)
    if versions != [each._version for each in drawing.tensors_in(inputs)]:
        raise Unsound("the reference changes an input that it leaves as it is otherwise")
    return found


def _examined(task, inputs, seed, room, finite_alone, on_bounds):
    with guarded(task.device):
        exact = _wide(task.reference, inputs, seed)
    own = task.reference.call(inputs, seed)
    if drawing.facts(own) != task.output_facts:
        raise Unsound("the outputs have other shapes than on the task's own inputs")
    leaves = _paired(own, exact)
    if not all(finite(each) for pair in leaves for each in pair if isinstance(each, torch.Tensor)):
        raise Unsound("the reference's outputs are not finite")
    is_coarse = coarse(task.reference, inputs, own)
    ties = ORDERED if task.orders else COUNTED if any(
        isinstance(each, torch.Tensor) and not is_real(each) and each.dtype is not torch.bool for each, _ in leaves) else 0.0
    def neighbours(seed_of_moves):
        return _paired(exact, _wide(task.reference, moved(inputs, task.units, seed_of_moves, ties), seed))
    beside = _paired(exact, exact) if on_bounds else neighbours(seed)
    jumps = 0.0 if task.orders or task.is_large else JUMPS  # among equal numbers, an order decides more than rounding does
    try:
        losses = [_distance(*pair, LOSS[is_coarse], _OWN_LOSS, jumps) for pair in leaves]
        changes = [_distance(*pair, SENSITIVITY[is_coarse], _ONE_ULP, jumps) for pair in beside]
    except Imprecise as why:
        if finite_alone or on_bounds or not jumps or not (
                found := _beside_jumps(leaves, [beside, neighbours(seed ^ 1)], is_coarse, jumps)):
            if not is_coarse and not finite_alone:
                raise
            return _not_one_by_one(own, leaves, beside, why, jumps, together=not finite_alone)
        losses, changes = found
    if finite_alone:
        return _not_one_by_one(own, leaves, beside, Imprecise("values are not compared so far from zero"), jumps)
    names = names_of(own, task.reference.named)
    found = [Sound(exact if task.rule.name == "strict" and not each.is_complex() else None, loss, change, _largest(exact),
                   task.error_units[name].value if name in task.error_units else None, room)
             if isinstance(each, torch.Tensor) and is_real(each) else None
             for name, (each, exact), loss, change in zip(names, leaves, losses, changes)]
    return Answer(own, tree_unflatten(found, tree_flatten(own)[1]))


def _not_one_by_one(own, leaves, beside, why, jumps, together=False):
    """The Answer for outputs whose values are not compared one by one; raises `why` where they are not surely finite.

    Outputs that are no real numbers have to be equal all the same, but for the share `jumps`. With `together`, the errors of
    all values are limited by what the reference loses and one ulp changes, in root mean square.
    """
    for (each, exact), (_, other) in zip(leaves, beside):
        if not isinstance(each, torch.Tensor) or not is_real(each):
            _distance(each, exact, 0.0, _OWN_LOSS, jumps)
            _distance(exact, other, 0.0, _ONE_ULP, jumps)
        elif not all(_largest(one) <= ROOM * torch.finfo(each.dtype).max for one in (each, exact, other)):
            raise why
    found = [AnyFinite(TOGETHER * (rms(each, exact) + rms(exact, other)) if together else None)
             if isinstance(each, torch.Tensor) and is_real(each) else None for (each, exact), (_, other) in zip(leaves, beside)]
    return Answer(own, tree_unflatten(found, tree_flatten(own)[1]), why.error)


def _beside_jumps(leaves, moves, is_coarse, share):
    """(the losses, the changes) of outputs without the values that jump; None: too many do, or some values do not jump.

    A value jumps from one of two numbers to the other. One that an inexact computation gives has another one each time.
    """
    losses, changes = [], []
    for at, (own, exact) in enumerate(leaves):
        others = [pairs[at][1] for pairs in moves]
        if not isinstance(exact, torch.Tensor) or not exact.is_floating_point():
            losses.append(_distance(own, exact, 0.0, _OWN_LOSS, share))
            changes.append(max(_distance(exact, other, 0.0, _ONE_ULP, share) for other in others))
            continue
        if not all(isinstance(each, torch.Tensor) and each.shape == exact.shape and finite(each) for each in (own, *others)):
            return None
        values = torch.stack([own.double(), exact, *others])
        distances = (values - exact).abs()
        bounds = [max(each * rms(exact), torch.finfo(own.dtype).eps * _largest(exact))
                  for each in (LOSS[is_coarse], SENSITIVITY[is_coarse])]
        jumps = (distances[0] > bounds[0]) | (distances[1:] > bounds[1]).any(0)
        low, high = values.amin(0), values.amax(0)
        of_two = (torch.minimum(values - low, high - values) <= bounds[0]).all(0)
        if jumps.sum() > share * exact.numel() or not bool(of_two[jumps].all()):
            return None
        distances.masked_fill_(jumps, 0.0)
        losses.append(distances[0].max().item())
        changes.append(distances[1:].max().item())
    return losses, changes


def _wide(reference, inputs, seed):
    found, narrowed = reference.call_wide(inputs, seed, LIMIT_S)
    if narrowed:
        raise Unsound(f"no error budget: the reference computes in less than float64 ({narrowed})")
    return found


def _paired(first, second):
    """The leaves of two outputs of one structure, in pairs."""
    (one, spec), (other, same) = tree_flatten(first), tree_flatten(second)
    if spec != same:
        raise Unsound("the reference's output has another structure in float64")
    return list(zip(one, other))


def _largest(tensor):
    if tensor.element_size() == 1:
        tensor = tensor.float()  # PyTorch compares no 8-bit floats
    return tensor.abs().max().item() if tensor.numel() else 0.0


def is_real(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def coarse(reference, inputs, own):
    """Whether anything is computed in 16 bit, or in TF32."""
    tensors = [*drawing.tensors_in(inputs), *drawing.tensors_in(own), *reference.weights().values()]
    return reference.tf32 or any(is_real(each) and each.dtype.itemsize <= (4 if each.is_complex() else 2) for each in tensors)


def _distance(first, second, share, what, jumps):
    """The largest distance of two outputs, at most this share of their root mean square, or one ulp of the largest value.

    Of integers and booleans, the share `jumps` may differ, by one.
    """
    if not isinstance(first, torch.Tensor):
        if not _equal(first, second):
            raise Unsound(f"{what}, in a number among the outputs")
        return 0.0
    if not isinstance(second, torch.Tensor) or first.shape != second.shape:
        raise Unsound(f"{what}, in a shape of the outputs")
    if not is_real(first):
        if not torch.equal(first, second) and not _are_jumps(first, second, jumps):
            raise Unsound(f"{what}, in values that must be equal")
        return 0.0
    found, size = difference(first, second, lambda magnitude: torch.full_like(magnitude, math.inf)), rms(second)
    if found.nonfinite:
        raise Unsound(f"{what}: some values are not finite")
    if not found.max_abs <= max(share * size, torch.finfo(first.dtype).eps * _largest(second)):
        raise Imprecise(f"{what}, by {found.max_abs:.2g} where values are about {size:.2g}")
    return found.max_abs


def _are_jumps(first, second, share):
    differ = (first != second).sum().item()
    return differ <= share * first.numel() and (first.long() - second.long()).abs().max().item() <= 1


def _equal(first, second):
    if isinstance(first, float) and isinstance(second, float):
        return math.isfinite(first) and abs(first - second) <= PLAIN_ERROR * max(1.0, abs(first))
    return type(first) is type(second) and first == second


def moved(inputs, units, seed, ties):
    """The inputs with each real number one ulp away, up or down at random.

    With `ties`, zeros are moved, too, by that share of an ulp of σ at most, and whole numbers in floats.
    """
    tensors, replaced = drawing.tensors_in(inputs), {}
    generator = torch.Generator(tensors[0].device if tensors else "cpu").manual_seed(of_family(seed, "one ulp"))
    with torch.no_grad():
        for unit in units:
            if unit.traits.kind not in REAL and not (ties and _is_float_choice(unit.traits)):
                continue
            for at in unit.places:
                if id(tensor := tensors[at]) not in replaced:
                    replaced[id(tensor)] = _nudged(tensor, unit.traits, generator, ties)
    return tree_map_only(torch.Tensor, lambda tensor: replaced.get(id(tensor), tensor), inputs)


def _is_float_choice(traits):
    return traits.kind == CHOSEN and traits.seen.floats


def refuse_ties(task, inputs, seed):
    """Raises Unsound where the order of equal integers decides an output, such as the places of a sort or the largest ones.

    Each integer gets a small random part; examined() breaks the ties of those in floats. A reference that takes no such
    numbers orders none, and an output that changes by one at most is a sum that is rounded.
    """
    if all(dtype.is_floating_point or dtype.is_complex or dtype is torch.bool for dtype, _ in task.output_facts):
        return
    tensors, replaced = drawing.tensors_in(inputs), {}
    generator = torch.Generator(tensors[0].device).manual_seed(of_family(seed, "ties"))
    with torch.no_grad():
        for at in (unit.places[0] for unit in task.units if unit.traits.kind == CHOSEN and not _is_float_choice(unit.traits)):
            noise = torch.rand(tensors[at].shape, generator=generator, device=tensors[at].device, dtype=torch.float64)
            # Away from zero, so that a conversion to integers gives the same ones.
            replaced[id(tensors[at])] = tensors[at] + torch.where(tensors[at] < 0, -TIE, TIE) * noise
    others = tree_map_only(torch.Tensor, lambda tensor: replaced.get(id(tensor), tensor), inputs)
    try:
        with guarded(task.device):
            own, apart = (task.reference.call(each, seed) for each in (inputs, others))
    except (TaskFault, ArithmeticError, MemoryError, RuntimeError, TypeError, ValueError, IndexError):
        return
    for one, other in zip(drawing.tensors_in(own), drawing.tensors_in(apart)):
        if one.dtype == other.dtype and not is_real(one) and one.dtype is not torch.bool and one.shape == other.shape \
                and one.numel() and int((one.long() - other.long()).abs().max()) > 1:
            raise Unsound("the order of equal integers decides an output")


def _nudged(tensor, traits, generator, ties):
    ulp = min(max(torch.finfo(tensor.dtype).eps, LEAST_ULP), COARSEST_ULP)
    signs = torch.empty(tensor.shape, dtype=torch.bool, device=tensor.device).bernoulli_(0.5, generator=generator)
    found = tensor.double()
    if found is tensor:
        found = tensor.clone()
    if traits.kind == CHOSEN:
        # Away from zero, so that a conversion to integers gives the same ones.
        noise = torch.rand(tensor.shape, generator=generator, device=tensor.device, dtype=torch.float64)
        return found.mul_(noise.mul_(ulp).add_(1))
    if ties and traits.kind in (NORMAL, WITHIN):
        noise = torch.rand(tensor.shape, generator=generator, device=tensor.device, dtype=torch.float64)
        found = torch.where(found == 0, noise * (ties * ulp * traits.sigma), found)
    if traits.kind != WITHIN or not found.numel():
        return found.mul_(_factors(signs, ulp))
    # A value of another draw than those that were learned from may lie beyond their range.
    low, high = min(traits.low, found.min().item()), max(traits.high, found.max().item())
    return found.mul_(_factors(signs, ulp)).clamp_(low, high)


def _factors(signs, ulp):
    """Of one ulp up or down; float32 holds both, in half the memory."""
    up, down = (torch.full((), each, dtype=torch.float32, device=signs.device) for each in (1 + ulp, 1 - ulp))
    return torch.where(signs, up, down)
