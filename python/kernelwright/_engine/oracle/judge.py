"""Judges the contents of an arena after a candidate's call."""
import contextlib
import math
from types import MappingProxyType

import torch

from .. import wire
from ..layout import span
from ..packets import clip
from ..values import dtype_name, dtype_of, from_wire, tensors_of, unportable_in
from ..wire import made, numbers, text
from . import backward, nearer, precision, tf32, undecided
from . import inputs as drawing
from .bits import all_same_bits, digest, same_bits
from .compare import Comparison, Returned, compare, returned
from .error_units import NONFINITE, Unit
from .faults import TaskFault


# They bound a Judged to a packet.
OUTPUT_LIMIT, DIMENSION_LIMIT = 32, 64
NAME_LIMIT, FINDING_LIMIT = 200, 600  # bytes


class Malformed(ValueError):
    """A description of outputs that cannot be true."""


def taken(outputs, arena, plan, strided=False):
    """The candidate's outputs, copied out of shared memory. The candidate's process wrote their description."""
    if strange := unportable_in(outputs):
        raise Malformed(f"the output holds a {strange[0][:100]}, which is no tensor, number or text")
    return from_wire(outputs, _Taker(arena, plan, strided).taken)


class _Taker:
    """Takes one tensor after another; their total is limited to the bytes of the arena's outputs."""

    def __init__(self, arena, plan, strided):
        self._arena, self._plan, self._strided = arena, plan, strided
        self._room = self._copied = plan.arena_bytes - plan.outputs_offset

    def taken(self, ref):
        """The Returned of one TensorT."""
        dtype, shape, stride = dtype_of(ref.dtype), numbers(ref.shape), numbers(ref.stride)
        if min(shape, default=0) < 0:
            raise Malformed(f"a shape of {shape}")
        data, count = None, math.prod(shape)
        if dtype not in self._plan.output_dtypes:
            pass  # it is wrong already, and its dtype may not support the copy
        elif count == 0:
            data = torch.empty(0, dtype=dtype, device=self._arena.device)
        elif ref.bytes:
            data = self._data(ref, dtype, shape, stride, count * dtype.itemsize)
        return Returned(dtype, tuple(shape), tuple(stride), text(ref.device), data)

    def _data(self, ref, dtype, shape, stride, size):
        self._room -= int(ref.bytes)
        self._check(ref, span(shape, stride) * dtype.itemsize if self._strided else size, dtype)
        # An expanded tensor may claim any number of elements.
        if size > self._copied:
            return None
        self._copied -= size
        found = self._arena.tensor(ref) if self._strided else self._arena.dense(ref)
        if dtype is torch.bool:
            # A bool that another process wrote may have any byte value.
            return found.view(torch.uint8).ne(0)
        return found.clone(memory_format=torch.contiguous_format)

    def _check(self, ref, size, dtype):
        offset = int(ref.offset)
        if int(ref.bytes) != size or offset < self._plan.outputs_offset or offset + size > self._plan.arena_bytes \
                or offset % dtype.itemsize or self._room < 0:
            raise Malformed("the output does not lie where outputs belong")


def damage(arena, plan, pristine, weights, allowed_inputs, allowed_weights, poison):
    """What the call changed besides its outputs and what the reference changes too; None: nothing.

    `poison` is (the seed of the arena's poison, where the outputs end).
    """
    kept = [(plan.names[at], arena.tensor(ref), tensor)
            for at, (ref, tensor) in enumerate(zip(plan.input_refs, drawing.tensors_in(pristine)))
            if at not in allowed_inputs]
    kept += [(f"weight {name}", arena.tensor(ref), weights[name]) for name, ref in plan.weights.items()
             if name not in allowed_weights]
    seed, end = poison
    unused = plan.unused(arena, seed, end)
    # Outputs of a wrong dtype may reach beyond their room: they are copied where there is memory.
    fits = end <= plan.arena_bytes
    gaps = plan.gaps.pairs(arena, seed) if fits else []
    if all_same_bits([*((own, other) for _, own, other in kept), *gaps, *unused]):
        return None
    at = plan.gaps.first_changed(arena, seed) if fits else None
    if at is not None:
        return Comparison("out_of_bounds", f"a kernel wrote outside all tensors, {plan.gaps.place(at)}")
    if not all_same_bits(unused):
        return Comparison("out_of_bounds", "a kernel wrote outside all tensors, in the memory behind the outputs")
    names = [name for name, own, other in kept if not same_bits(own, other)]
    return Comparison("input_modified", f"the call changed {', '.join(names[:8])}, which the reference leaves as it is")


def judged(prepared, arena, request, pristine, poison_seed, answer=None):
    """The JudgedT of one trial; `pristine` are its inputs, drawn again.

    `answer` is (outputs of the reference, their limits as compare() takes them) where they are known already.
    """
    if request.zeros:
        return _reply(_of_zeros(prepared, *(answer or prepared.expected(pristine, request.seed))))
    try:
        actual = taken(request.outputs, arena, prepared.plan, request.strided)
    except (ValueError, TypeError, KeyError, AttributeError) as exc:
        return _reply(Comparison("wrong_structure", f"output: {exc}"))
    reply = _judged(prepared, arena, request, pristine, actual, poison_seed, answer)
    if request.digest:
        reply.digest = digest(each.data for each in leaves(actual) if isinstance(each, Returned))
    return reply


def _judged(prepared, arena, request, pristine, actual, poison_seed, answer):
    if not request.outputsOnly:
        end = max((int(ref.offset + ref.bytes) for ref in tensors_of(request.outputs) if ref.bytes),
                  default=prepared.plan.outputs_offset)
        found = damage(arena, prepared.plan, pristine, prepared.reference.weights(), prepared.changed_inputs,
                       prepared.changed_weights, (poison_seed, end))
        if found:
            return _reply(found)
    before = prepared.reference.weights() if prepared.changed_weights else {}
    before = {name: before[name].clone() for name in prepared.changed_weights & before.keys() & prepared.plan.weights.keys()}
    expected, exact = answer or prepared.expected(pristine, request.seed)
    if before and answer is None and not request.outputsOnly and (found := wrong_weights(prepared, arena, before)):
        return _reply(found)
    effects = prepared.reference.effects
    if effects:
        given = {"output": actual} if request.outputsOnly else {"output": actual, **left_in(arena, prepared.plan, effects)}
        expected = {name: expected[name] for name in given}
        actual = given
    devices = ("cuda",) if arena.device.type == "cuda" else ("cpu", "cuda")
    if prepared.reference.backward is not None and (found := without_gradients(prepared, expected, actual, devices)):
        return _reply(found)
    found = compare(expected, actual, prepared.rule, exact, devices, named=prepared.reference.named)
    sides = expected, actual, exact
    found = undecided.settled(prepared, pristine, request.seed, sides, found, devices, by_a_step=answer is not None)
    if answer is None:  # on varied inputs, limits contain the reference's own error
        found = nearer.granted(prepared, pristine, request.seed, sides, found, devices)
    if answer is None and found.error_class == "wrong_value" and found.dtype is torch.float32 and not prepared.reference.tf32:
        _explain(found, prepared, pristine, request.seed, expected)
    reply = _reply(found, prepared.error_units)
    if answer is None and found.right:
        reply.operandPrecision = precision.of_operands(prepared, pristine, request.seed, expected, actual, found)
    return reply


def _of_zeros(prepared, expected, exact):
    """The Comparison of zeros in place of what a call returns."""
    if prepared.reference.effects:
        expected = {"output": expected["output"]}
    return compare(expected, returned(expected, torch.zeros_like), prepared.rule, exact, named=prepared.reference.named)


def without_gradients(prepared, expected, actual, devices):
    """The Comparison where the result lacks gradients; None: it has all. Wrong outputs are named before missing gradients."""
    if not isinstance(actual, dict) or set(actual) != set(expected):
        return Comparison("wrong_structure", "the call's result has not the form of outputs and gradients")
    why = backward.lacking(actual)
    if not why:
        return None
    own, given = ({backward.OUTPUT: each[backward.OUTPUT]} for each in (expected, actual))
    found = compare(own, given, prepared.rule, None, devices, named=True)
    return Comparison("no_gradient", why) if found.right else found


def wrong_weights(prepared, arena, before):
    """The Comparison of a weight that the reference changes and the call too, in another way; None: there is none.

    A call may leave such weights as they are: a module keeps its own, and a function may have no parameter for them.
    """
    left = prepared.reference.left_weights(before)
    for name in sorted(left):
        own = _private(arena.tensor(prepared.plan.weights[name]))
        if not same_bits(own, before[name]):
            label = f"weight {name} changed in place"
            found = compare({label: left[name]}, {label: Returned.of(own)}, prepared.rule, named=True)
            if not found.right:
                return found
    return None


def left_in(arena, plan, effects):
    """{name: the Returned of an input that the reference changes, as the candidate's call left it}, in private copies."""
    found = {}
    for at, name in effects.items():
        tensor = arena.tensor(plan.input_refs[at])
        found[name] = Returned(tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.device.type, _private(tensor))
    return found


def _private(tensor):
    """A copy; another process wrote the tensor, so a bool may have any byte value, and the values may still change."""
    return tensor.view(torch.uint8).ne(0) if tensor.dtype is torch.bool else tensor.clone()


def leaves(value):
    """What a tree of lists, tuples and dicts holds."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in leaves(each)]
    return [value]


def _explain(found, prepared, pristine, seed, expected):
    with contextlib.suppress(TaskFault):
        rounded = prepared.reference.call_tf32(pristine, seed)
        error = compare(expected, returned(rounded), prepared.rule, named=prepared.reference.named).max_abs
        if tf32.explains(found.max_abs, error):
            found.findings.append(tf32.FINDING)


def _reply(found, units=MappingProxyType({})):
    outputs = found.outputs[:OUTPUT_LIMIT]
    return made(wire.JudgedT, right=found.right, errorClass=found.error_class, error=found.error[:4000],
                maxAbsError=found.max_abs, maxRelError=found.max_rel, mismatchedShare=found.share,
                rtol=found.rtol, atol=found.atol, firstMismatch=_mismatch(found) if found.first is not None else None,
                findings=[clip(each, FINDING_LIMIT) for each in found.findings[:16]],
                outputs=[_output(each, units.get(each.name)) for each in outputs],
                outputs_left_out=len(found.outputs) - len(outputs))


def _mismatch(found):
    name, index, expected, actual = found.first
    first = made(wire.MismatchT, output=clip(name, NAME_LIMIT), index=index, expected=_real(expected),
                 actual=_real(actual))
    if (near := found.near) is not None:
        first.nearFrom, first.nearWrong = near.start, near.wrong
        first.nearExpected, first.nearActual = ([float(each) for each in side] for side in (near.expected, near.actual))
        first.expectedValues, first.actualValues = (
            made(wire.ValueSummaryT, finite=each.finite, min=float(each.min), max=float(each.max), nan=each.nan,
                 infinite=each.infinite) for each in (near.expected_values, near.actual_values))
    return first


def _output(each, unit):
    unit = Unit(None, NONFINITE) if each.nonfinite else Unit(None) if unit is None else unit
    return made(wire.OutputErrorsT, output=clip(each.name, NAME_LIMIT), dtype=dtype_name(each.dtype),
                shape=list(each.shape[:DIMENSION_LIMIT]), max_abs_error=each.max_abs, max_rel_error=each.max_rel,
                mismatched_share=each.share, rtol=each.rtol, atol=each.atol, max_error_over_limit=each.max_over,
                reference_loss=each.loss, sensitivity=each.sensitivity, error_unit=unit.value, no_unit=unit.why)


def _real(value):
    return float(abs(value)) if isinstance(value, complex) else float(value)
