"""Whether a right result's error is what operands in bfloat16 would give, element by element.

A float32 task whose operands a kernel rounds to bfloat16 is often within the tolerance. Size alone does not show it, since
orders of summation and approximations lose digits too; the pattern over the elements does, because it depends on the
inputs' values.
"""
import torch
from torch.utils._pytree import tree_flatten

from .compare import names_of, paired
from .faults import TaskFault
from .tf32 import RoundedProducts, rounded

NAME, BITS = "bfloat16", 7  # of the mantissa
MULTIPLE = 64.0     # of what the reference itself loses; below it nothing is emulated
LEAST_ELEMENTS = 256
# Of the error with the emulated one: 0.7 where one of two operands is rounded, 1 where both are. Independent errors of so
# many elements correlate by less than 0.3 (five standard deviations). bench/operand_precision.py measures both.
CORRELATION = 0.5


def of_operands(prepared, pristine, seed, expected, actual, found):
    """NAME if an output of a right result (`found`) has such an error; else ""."""
    named = prepared.reference.named
    errors = {each.name: each.max_abs for each in found.outputs}
    suspects = {name: (own, given.data) for name, own, given, _ in paired(expected, actual, named=named)
                if own.dtype is torch.float32 and own.numel() >= LEAST_ELEMENTS
                and (unit := prepared.error_units.get(name)) is not None and unit.value
                and errors.get(name, 0.0) > MULTIPLE * unit.value}
    if not suspects or prepared.is_large:
        return ""
    for emulate in (_inputs, _products):
        try:
            outputs = emulate(prepared.reference, pristine, seed)
        except (TaskFault, ArithmeticError, MemoryError, RuntimeError, TypeError, ValueError):
            continue  # the reference takes no such operands
        emulated = dict(zip(names_of(outputs, named), tree_flatten(outputs)[0], strict=True))
        if any(_follows(*suspect, emulated.get(name)) for name, suspect in suspects.items()):
            return NAME
    return ""


def _inputs(reference, inputs, seed):
    """The outputs for inputs that are rounded; the weights stay."""
    return reference.call_with(inputs, seed, lambda tensor: rounded(tensor, BITS))


def _products(reference, inputs, seed):
    """The outputs with rounded operands of matrix products and convolutions, weights among them."""
    with RoundedProducts(BITS):
        return reference.call(inputs, seed)


def _follows(own, given, emulated):
    """Whether the error of `given` follows that of `emulated`, over the elements where all are finite."""
    if not isinstance(emulated, torch.Tensor) or emulated.shape != own.shape:
        return False
    error, other = (each.double().sub_(own) for each in (given, emulated))
    usable = torch.isfinite(error) & torch.isfinite(other)
    error, other = error[usable], other[usable]
    # Elements whose rounding changed nothing say nothing.
    if int(other.count_nonzero()) < LEAST_ELEMENTS:
        return False
    norms = error.norm() * other.norm()
    return bool(norms > 0 and torch.dot(error, other) > CORRELATION * norms)
