"""Draws families, with their edges where the reference has an answer there: rows of zeros, and empty or full rows of masks.

A row of zeros is an input like others. A row of which a mask leaves nothing is used only where the reference's answer for it is
zero: a kernel need not give the numbers that a softmax over nothing happens to have.
"""
import torch
from torch.utils._pytree import tree_leaves

from . import families
from .faults import TaskFault
from .soundness import Unsound, examined

NOT_COMPARED, TOGETHER = "only NaN and infinity are refused", "values are compared together"
# Raised where inputs cannot be drawn, or the reference has no answer on them.
NO_ANSWER = (TaskFault, ArithmeticError, MemoryError, RuntimeError, TypeError, ValueError)


def drawn(task, family, seed):
    """(the Varied of a family, (the reference's outputs on it, their limits)); raises one of NO_ANSWER."""
    if family not in task.without_edges and families.has_edges(task.units, family):
        try:
            found = task.varied(family, seed, edges=True)
            answer = examined(task, found.values, seed, families.room_of(family))
            if answer.imprecise:
                raise Unsound(answer.imprecise)
            if families.changes_integers(family):
                _refuse_answers_for_nothing(task, answer.outputs, family, seed)
            return found, answer[:2]
        except NO_ANSWER as exc:
            if isinstance(exc, TaskFault):  # memory may be there the next time
                task.without_edges.add(family)
    found = task.varied(family, seed)
    answer = examined(task, found.values, seed, families.room_of(family), finite=families.asks_for_finite_values(family),
                      on_bounds=families.may_lie_on_bounds(family))
    if answer.imprecise:
        how = NOT_COMPARED if families.asks_for_finite_values(family) else TOGETHER
        found = found._replace(words=f"{found.words} ({how}: {answer.imprecise})")
    return found, answer[:2]


def _refuse_answers_for_nothing(task, with_edges, family, seed):
    """Raises Unsound unless the outputs are zero wherever the empty rows of a mask change them."""
    without = task.reference.call(task.varied(family, seed).values, seed)
    for own, other in zip(tree_leaves(with_edges), tree_leaves(without)):
        if not isinstance(own, torch.Tensor):
            if own != other:
                raise Unsound("a number among the outputs depends on the empty rows of a mask")
        elif own.shape != other.shape or bool(((own != other) & (own != 0)).any()):
            raise Unsound("the empty rows of a mask have an answer other than zero")
