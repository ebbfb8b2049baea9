"""Results that differ from the reference's, and are as near to float64 as these: the difference is the reference's own error.

In 16 bit a reference rounds each of its steps, and a kernel that rounds once differs from it by more than a flat tolerance.
"""
import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from .compare import compare, names_of, paired
from .elements import finite, rms
from .faults import TaskFault
from .index_guard import guarded
from .soundness import coarse, is_real
from .wide import Late

LIMIT_S = 5.0        # of the run in float64
FARTHER = (1.0, 2.0)  # times the reference's own error: in 32 bit, in 16 bit, where each of two right results is rounded often
MOST = (1e-3, 0.1)   # of the output's root mean square: the reference's own error


def granted(prepared, pristine, seed, sides, found, devices):
    """The Comparison in which such outputs are right; `found`, if another is wrong.

    `sides` are (expected, actual, exact) as compare() takes them, and `found` is its Comparison.
    """
    reference = prepared.reference
    if found.error_class != "wrong_value" or not found.outputs or prepared.is_large or prepared.is_random:
        return found
    expected, actual, exact = sides
    is_coarse = coarse(reference, pristine, expected)
    leaves = {name: (own, given.data) for name, own, given, precise in paired(*sides, named=reference.named) if precise is None}
    wrong = {each.name for each in found.outputs if each.share}
    if not wrong <= leaves.keys() or not all(_may_be_as_near(*leaves[name], is_coarse) for name in wrong):
        return found
    try:
        with guarded(prepared.device):
            outputs, narrowed = reference.call_wide(pristine, seed, LIMIT_S)
    except (Late, TaskFault, ArithmeticError, MemoryError, RuntimeError, TypeError, ValueError, IndexError):
        return found
    finally:
        prepared.free_float64()
    if narrowed:
        return found
    wide = dict(zip(names_of(outputs, reference.named), tree_flatten(outputs)[0]))
    if not all(_is_as_near(*leaves[name], wide.get(name), is_coarse) for name in wrong):
        return found
    values, spec = tree_flatten(expected)
    values = [leaves[name][1] if name in wrong else own
              for name, own in zip(names_of(expected, reference.named), values, strict=True)]
    again = compare(tree_unflatten(values, spec), actual, prepared.rule, exact, devices, named=reference.named)
    again.findings += [f"{name}: it differs from the reference by more than the tolerance, and is as near to float64 as the "
                       "reference is" for name in sorted(wrong)]
    return again if again.right else found


def _may_be_as_near(own, given, is_coarse):
    """Whether the two are so near that a run in float64 is worth its time: most wrong results are not."""
    if not is_real(own) or not own.numel() or not (finite(own) and finite(given)):
        return False
    wide = torch.complex128 if own.is_complex() else torch.float64
    apart = (given.to(wide) - own.to(wide)).abs().max().item()
    return apart <= 2 * (1 + FARTHER[is_coarse]) * MOST[is_coarse] * rms(own)


def _is_as_near(own, given, wide, is_coarse):
    """Whether neither the farthest value nor all together are farther from float64 than the reference's, which are near."""
    if not isinstance(wide, torch.Tensor) or own.shape != wide.shape or not finite(wide):
        return False
    theirs, ours = (each.to(wide.dtype) - wide for each in (own, given))
    factor, least = FARTHER[is_coarse], MOST[is_coarse] * rms(wide)
    largest = theirs.abs().max().item()
    return largest <= least and ours.abs().max().item() <= factor * largest and rms(ours) <= factor * rms(theirs)
