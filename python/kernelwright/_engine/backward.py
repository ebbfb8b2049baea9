"""Calls a candidate together with its backward pass: the result is its outputs and the gradients of inputs and weights."""
import math

import torch

from .values import TooLarge, dtype_of, tensors_of, tensors_within
from .wire import Backward, ValueKind, numbers, text

_grad, _enable_grad = torch.autograd.grad, torch.enable_grad  # before a candidate could break them by accident
OUTPUT = "output"  # name of the outputs among the results
# In place of a gradient that there is none of; None: no output has any gradient.
ABSENT, UNUSED = "absent", "unused"
MOST_TURNED = 1 << 24  # elements of all inputs
NO_PARAMETER, NO_TENSOR = "no parameter", "no tensor"  # of a backward function


def unmarked():
    """Does nothing."""


between_passes = unmarked  # is called between the forward and the backward pass; a recording marks the place


class Differentiated:
    """A callee whose calls return {"output": its outputs, and by its name each gradient or None}."""

    def __init__(self, callee, spec):
        self._callee, self._spec = callee, spec
        self.way = Backward.once  # of the next call

    def __getattr__(self, name):
        return getattr(self._callee, name)

    def ready(self, tensor):
        """As for other callees."""
        leaves = _Leaves(self._spec, tensor)
        run = self._callee.ready(leaves.tensor)
        cotangents, way = cotangents_of(self._spec, self.way, tensor), self.way
        between = self._callee.ready(leaves.turned) if way == Backward.retained and leaves.can_turn() else unmarked

        def once():
            # Only now has the first arena decided which weights the instance has.
            return _called(run, leaves.of(self._callee), cotangents, (way, between), self._spec)
        return once


def cotangents_of(spec, way, tensor):
    """[cotangent or None of each output tensor], as they lie in this way of a backward pass."""
    change = {Backward.strided: restrided, Backward.expanded: expanded}.get(way, lambda given: given)
    return [None if each.kind == ValueKind.none else change(tensor(each.tensor)) for each in spec.cotangents.items]


class _Leaves:
    """The tensors of one call that need a gradient."""

    def __init__(self, spec, tensor):
        self._spec, self._tensor, self._gradients = spec, tensor, spec.gradients or ()
        inputs, weights = tensors_of(spec.inputs), {text(each.name): each.tensor for each in spec.weights or ()}
        # An argument is a leaf of its own, but a weight that several arguments share is one.
        self._inputs = {id(inputs[each.input]): at for at, each in enumerate(self._gradients) if each.input >= 0}
        self._weights = {_place(weights[text(each.weight)]): at for at, each in enumerate(self._gradients)
                         if text(each.weight) in weights}
        self._made = {}

    def tensor(self, ref):
        """The tensor of a TensorT, which needs a gradient if one of it is judged."""
        at = self._inputs.get(id(ref))
        if at is None:
            at = self._weights.get(_place(ref))
        if at is None:
            return self._tensor(ref)
        if at not in self._made:
            self._made[at] = self._tensor(ref).requires_grad_()
        return self._made[at]

    def can_turn(self):
        """Whether a call with other inputs leaves nothing behind, and its inputs are small."""
        sizes = [math.prod(numbers(each.shape)) for each in tensors_of(self._spec.inputs)]
        return not self._spec.changesWeights and sum(sizes) <= MOST_TURNED

    def turned(self, ref):
        """The tensor of a TensorT for a call between a forward pass and its backward pass: an input has its values in
        the opposite order."""
        if id(ref) not in self._inputs:
            return self.tensor(ref)
        given = self._tensor(ref).detach()
        return given.reshape(-1).flip(0).reshape(given.shape).requires_grad_()

    def of(self, callee):
        """[leaf or None of each gradient]; a module's weights are parameters of its own."""
        own = callee.parameters()
        found = [self._made.get(at) if text(each.weight) == "" or not own else own.get(text(each.weight))
                 for at, each in enumerate(self._gradients)]
        return [each if each is not None and each.requires_grad else None for each in found]


def _place(ref):
    return int(ref.offset), tuple(numbers(ref.shape)), tuple(numbers(ref.stride))


def restrided(tensor):
    """The same values with other strides: dimensions in the opposite order of memory, or every second element."""
    if sum(size > 1 for size in tensor.shape) > 1:
        order = list(range(tensor.dim()))[::-1]
        return tensor.permute(order).clone(memory_format=torch.contiguous_format).permute(order)
    if tensor.numel() < 2:
        return tensor
    return torch.stack([tensor, torch.zeros_like(tensor)], -1)[..., 0]


def expanded(tensor):
    """The same values with stride 0 along each dimension in which they are equal."""
    base = tensor
    for at, size in enumerate(tensor.shape):
        first = base.narrow(at, 0, min(size, 1))
        if size > 1 and bool((base == first).all()):
            base = first
    return tensor if base is tensor else base.clone(memory_format=torch.contiguous_format).expand(tensor.shape)


def _called(run, leaves, cotangents, how, spec):
    way, between = how
    present = list({id(each): each for each in leaves if each is not None}.values())
    if way != Backward.partial or spec.changesWeights or len(present) < 2:
        value, found = _passes(run, leaves, cotangents, between if way == Backward.retained else None)
        return _result(value, found, leaves, spec)
    found = []
    try:
        for which in range(2):
            for at, each in enumerate(present):
                each.requires_grad_(at % 2 == which)
            value, gradients = _passes(run, leaves, cotangents, None)
            found.append(gradients)
    finally:
        for each in present:
            each.requires_grad_()
    return _result(value, [one if isinstance(one, torch.Tensor) else other for one, other in zip(*found)], leaves, spec)


def _passes(run, leaves, cotangents, between):
    """(what the call returns, [gradient of each leaf, or what stands for none]).

    With `between`, it is called after the forward pass, and the gradients are those of a second pass over the graph.
    """
    with _enable_grad():
        value = run()
        if between is not None:
            between()
    between_passes()
    asked = [at for at, each in enumerate(leaves) if each is not None and each.requires_grad]
    outputs = [(own, given) for own, given in zip(_outputs(value), cotangents) if given is not None]
    if any(own.shape != given.shape or own.dtype != given.dtype for own, given in outputs):
        return value, [None] * len(leaves)  # the outputs are wrong
    outputs = [(own, given) for own, given in outputs if own.requires_grad]
    # Where no leaf is asked for, no output needs a gradient either.
    found = [ABSENT if each is None else UNUSED if outputs or not asked else None for each in leaves]
    if outputs and asked:
        roots, given = zip(*outputs)
        for kept in ((True, False) if between is not None else (False,)):
            gradients = _grad(roots, [leaves[at] for at in asked], given, retain_graph=kept, allow_unused=True)
        for at, each in zip(asked, gradients):
            found[at] = UNUSED if each is None else each
    return value, found


def _outputs(value):
    try:
        return tensors_within(value)
    except TooLarge:
        return []  # placing the outputs reports it


def _result(value, gradients, leaves, spec):
    found = {OUTPUT: value}
    weights = {text(each.name): each.tensor for each in spec.weights or ()}
    for each, gradient, leaf in zip(spec.gradients or (), gradients, leaves):
        if not isinstance(gradient, torch.Tensor) and each.mayLack:
            gradient = torch.zeros_like(leaf) if leaf is not None else zeros(weights[text(each.weight)], value)
        found[text(each.name)] = gradient
    return found


def zeros(ref, value):
    """A gradient of zeros for a TensorT, on the device of a call's outputs."""
    device = next((each.device for each in _outputs(value)), None)
    return torch.zeros(numbers(ref.shape), dtype=dtype_of(ref.dtype), device=device)
