"""The backward pass of a reference: which tensors have a gradient, the cotangents, and both passes as one function.

A task whose gradients are judged is a function of more inputs (one cotangent of each output) with more outputs (the gradient
of each input and parameter), so that whatever draws, places, varies and compares tensors treats these as it does any others.
"""
import hashlib
from dataclasses import dataclass

import torch
from torch.utils._pytree import tree_flatten, tree_map_only

from .. import wire
from ..backward import ABSENT, NO_PARAMETER, NO_TENSOR, OUTPUT, UNUSED
from ..values import from_wire, tensors_within, to_wire
from ..wire import made
from .compare import names_of
from .faults import TaskFault, blame

FEW = 16              # values; so few may all be near zero, and so would be every gradient
OTHERWISE = "judge this task with --backward off"
NO_GRADIENT = ("the outputs carry no gradient: the call launches kernels that autograd does not see. Put the launches into a "
               "torch.autograd.Function whose backward returns the gradients, or define triton_kernel_backward(*cotangents, "
               "*arguments) that returns them")
WHY_NONE = {  # by what a runner puts in a gradient's place
    ABSENT: "the candidate has neither a parameter nor an argument of this name that needs a gradient",
    UNUSED: "the backward returns None for it, or no output depends on it",
    NO_PARAMETER: "triton_kernel_backward has no parameter for it",
    NO_TENSOR: "triton_kernel_backward returns no tensor for it",
}
# Which dimensions of a cotangent have stride 0 in turn: those of a sum over all, over all but the last, over the last alone.
EXPANSIONS = (lambda at, count: True, lambda at, count: at < count - 1, lambda at, count: at == count - 1)
LEAST_OF_EXPANDED = 0.05  # of the size of a gradient by independent cotangents: less is what rounding leaves of a zero


@dataclass
class Gradient:
    """Of one tensor of the inputs, by position, or of a parameter, by name."""

    name: str
    input: int = -1
    weight: str = ""
    lacks: bool = False  # the reference's backward pass gives none: zeros are expected, and none is as good

    def wire(self):
        """Its form in a CallSpec."""
        return made(wire.GradientT, name=self.name, input=self.input, weight=self.weight, may_lack=self.lacks)


class Backward:
    """The backward pass of one reference."""

    def __init__(self, target, inputs, labels, file):
        leaves = _Leaves(inputs, range(len(labels)))
        found = [Gradient(f"gradient of input {labels[at]}", input=at) for at in leaves.tensors]
        weights = _parameters(target)
        found += [Gradient(f"gradient of parameter {name}", weight=name) for name in weights]
        if not found:
            raise TaskFault("the reference has neither an input of real numbers nor a parameter, so there is no gradient to "
                            f"judge: {OTHERWISE}")
        with torch.enable_grad():
            returned = target(*leaves.inputs)
        outputs = tensors_within(returned)
        self.places = [at for at, each in enumerate(outputs) if each.requires_grad]
        if not self.places:
            raise TaskFault("the reference's outputs carry no gradient (a detach(), a no_grad(), or results that are no real "
                            f"numbers): {OTHERWISE}")
        roots = [outputs[at] for at in self.places]
        self._facts = [(each.dtype, tuple(each.shape)) for each in roots]
        asked = [*leaves.tensors.values(), *weights.values()]
        with blame("the reference's backward pass raised", file):
            given = torch.autograd.grad(roots, asked, [torch.ones_like(each) for each in roots], allow_unused=True,
                                        retain_graph=True)
        self._expansion = self._expansion_of(roots, asked)
        for each, tensor in zip(found, given):
            each.lacks = tensor is None
        if all(each.lacks for each in found):
            raise TaskFault(f"no output of the reference depends on an input or a parameter by a gradient: {OTHERWISE}")
        self.gradients = found
        self.labels = [f"cotangent of {name}" for name in _names(returned, self.places)]

    def names(self):
        """The names of the gradients in verdicts."""
        return [each.name for each in self.gradients]

    def cotangents(self, seed, device, expanded=False):
        """Random cotangents for this seed, in the shapes of the outputs; `expanded`: equal along dimensions where sound."""
        digest = hashlib.sha256(b"kernelwright cotangents" + seed.to_bytes(8, "little")).digest()
        generator = torch.Generator(device).manual_seed(int.from_bytes(digest[:8], "little") >> 1)
        expansion = self._expansion if expanded else None
        return [_drawn(dtype, shape, generator, device, expansion) for dtype, shape in self._facts]

    def _expansion_of(self, roots, asked):
        """The first of EXPANSIONS in which no gradient vanishes, as that of a softmax does where all cotangents are equal."""
        if all(each.numel() < 2 for each in roots):
            return None

        def sizes(expansion):
            generator = torch.Generator(roots[0].device).manual_seed(0)
            given = [_drawn(dtype, shape, generator, roots[0].device, expansion) for dtype, shape in self._facts]
            found = torch.autograd.grad(roots, asked, given, allow_unused=True, retain_graph=True)
            return [0.0 if each is None else float(torch.linalg.vector_norm(each.abs().float())) for each in found]
        try:
            ordinary = sizes(None)
            return next((each for each in EXPANSIONS
                         if all(own >= LEAST_OF_EXPANDED * other for own, other in zip(sizes(each), ordinary))), None)
        except RuntimeError:
            return None  # a graph of which a reference allows one pass

    def run(self, target, inputs):
        """{"output": the outputs, and by its name each gradient}; the last of the inputs are the cotangents."""
        leaves = _Leaves(inputs[:-1], [each.input for each in self.gradients if each.input >= 0])
        parameters = _parameters(target)
        with torch.enable_grad():
            returned = target(*leaves.inputs)
        outputs = tensors_within(returned)
        roots = [(outputs[at], tensor) for at, tensor in zip(self.places, inputs[-1]) if outputs[at].requires_grad]
        asked = [leaves.tensors[each.input] if each.input >= 0 else parameters[each.weight] for each in self.gradients]
        # A reference may convert inside, so that its outputs in float64 have other dtypes than the cotangents.
        found = torch.autograd.grad([each for each, _ in roots], asked, [tensor.to(each.dtype) for each, tensor in roots],
                                    allow_unused=True)
        return {OUTPUT: returned, **{each.name: torch.zeros_like(leaf) if tensor is None else tensor
                                     for each, leaf, tensor in zip(self.gradients, asked, found)}}

    def spec(self, inputs, changes_weights):
        """Fields of the CallSpec; `inputs` is the ValueT of all inputs, whose last item are the cotangents."""
        items = [made(wire.ValueT, kind=wire.ValueKind.none) for _ in range(self.places[-1] + 1)]
        for at, each in zip(self.places, inputs.items[-1].items):
            items[at] = each
        return {"inputs": made(wire.ValueT, kind=inputs.kind, items=inputs.items[:-1]),
                "cotangents": made(wire.ValueT, kind=wire.ValueKind.list, items=items),
                "gradients": [each.wire() for each in self.gradients], "changes_weights": changes_weights}


class _Leaves:
    """Inputs in which the tensors at these positions, where they hold real numbers, are leaves that need a gradient."""

    def __init__(self, inputs, places):
        self.tensors, self._at, self._places = {}, -1, set(places)
        self.inputs = tree_map_only(torch.Tensor, self._leaf, inputs)

    def _leaf(self, tensor):
        self._at += 1
        leaf = tensor.detach()
        if self._at in self._places and is_differentiable(leaf):
            self.tensors[self._at] = leaf.requires_grad_()
        return leaf


def is_differentiable(tensor):
    """Whether a tensor's values can have a gradient; 8-bit floats are numbers for products alone."""
    return tensor.is_complex() or (tensor.is_floating_point() and tensor.dtype.itemsize > 1)


def lacking(actual):
    """Why a candidate's result lacks gradients, in words; empty: it has all of them."""
    reasons = {name: each for name, each in actual.items() if name != OUTPUT and (each is None or isinstance(each, str))}
    if None in reasons.values():
        return NO_GRADIENT
    if not reasons:
        return ""
    why = next(iter(reasons.values()))
    names = [name for name, each in reasons.items() if each == why]
    return f"no {', no '.join(names[:8])}: {WHY_NONE.get(why, 'the call returns none')}"


def _parameters(target):
    """{name in the state_dict: parameter that needs a gradient}."""
    if not isinstance(target, torch.nn.Module):
        return {}
    return {name: each for name, each in target.named_parameters() if each.requires_grad and is_differentiable(each)}


def _names(returned, places):
    """The names in verdicts of the output tensors at these places."""
    plain = from_wire(to_wire(returned, lambda tensor: made(wire.TensorT)), lambda ref: ref)
    names = [name for name, each in zip(names_of(plain), tree_flatten(plain)[0]) if isinstance(each, wire.TensorT)]
    return [names[at] for at in places]


def _drawn(dtype, shape, generator, device, expansion=None):
    if expansion is not None:
        base = [1 if expansion(at, len(shape)) else size for at, size in enumerate(shape)]
        return _drawn(dtype, base, generator, device).expand(shape).contiguous()
    wide = dtype if dtype.is_complex or dtype is torch.float64 else torch.float32
    found = torch.randn(shape, generator=generator, device=device, dtype=wide)
    if found.numel() < FEW:
        found = torch.sgn(found) * (0.5 + torch.rand(shape, generator=generator, device=device))
    return found.to(dtype)
