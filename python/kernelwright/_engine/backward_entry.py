"""A candidate's own backward function: triton_kernel_backward(*cotangents, *arguments), which returns the gradients.

It is a function of its arguments alone, as the forward entry is: nothing that a forward call leaves behind belongs to them.
"""
import inspect
import itertools

import torch

from . import arguments, backward
from .backward import NO_PARAMETER, NO_TENSOR
from .guard import Stop
from .replies import failed
from .values import from_wire, tensors_of
from .wire import Backward, ValueKind, text, texts

NAME = "triton_kernel_backward"


def differentiated(callee, spec, names):
    """The callee itself, or with the backward pass for which this CallSpec has cotangents; `names`: the candidate's module."""
    if spec.cotangents is None:
        return callee
    entry = names.get(NAME)
    # A kernel of this name is no entry.
    return WithEntry(callee, spec, entry) if inspect.isfunction(entry) else backward.Differentiated(callee, spec)


class WithEntry:
    """A callee whose calls return {"output": its outputs, and by its name each gradient that the entry returns}."""

    def __init__(self, callee, spec, entry):
        self._callee, self._spec, self._entry = callee, spec, entry
        self._weights = {text(each.name): each.tensor for each in spec.weights or ()}
        count = sum(each.kind != ValueKind.none for each in spec.cotangents.items)
        heads, self._signature = _split(inspect.signature(entry), count)
        self._plan = arguments.fill(self._signature, len(spec.inputs.items or ()), texts(spec.inputNames), list(self._weights),
                                    texts(spec.positionalWeights), texts(spec.initKwargs.keys) if spec.initKwargs else ())
        self._slots = list(_slots(self._signature, self._plan))
        given = [f"{name}=cotangent:{at}" for at, name in enumerate(heads)]
        self.arguments = [*callee.arguments, *(f"{NAME}: {each}" for each in (*given, *self._plan.lines()))]
        self.way = Backward.once  # of the next call

    def __getattr__(self, name):
        return getattr(self._callee, name)

    def ready(self, tensor):
        """As for other callees."""
        spec, way = self._spec, self.way
        forward, cotangents = self._callee.ready(tensor), backward.cotangents_of(spec, way, tensor)
        args, kwargs = arguments.bound(self._signature, self._plan, lambda source: self._value(source, tensor))
        given = [each for each in cotangents if each is not None]

        def gradients():
            return self._entry(*given, *args, **kwargs)

        def once():
            found = gradients() if way == Backward.partial and not spec.changesWeights else None
            value = forward()
            backward.between_passes()
            for _ in range(2 if way == Backward.retained else found is None):
                found = gradients()
            return self._result(value, found)
        return once

    def _value(self, source, tensor):
        return from_wire(self._spec.inputs.items[source.key], tensor) if source.kind == "input" \
            else tensor(self._weights[source.key])

    def _result(self, value, returned):
        by_input, by_weight = self._by_argument(_listed(returned))
        inputs, found = tensors_of(self._spec.inputs), {backward.OUTPUT: value}
        for each in self._spec.gradients or ():
            weight = text(each.weight)
            gradient = by_weight.get(weight, NO_PARAMETER) if weight else by_input.get(each.input, NO_PARAMETER)
            if not isinstance(gradient, torch.Tensor):
                lacking = NO_PARAMETER if gradient is NO_PARAMETER else NO_TENSOR
                ref = self._weights[weight] if weight else inputs[each.input]
                gradient = backward.zeros(ref, value) if each.mayLack else lacking
            found[text(each.name)] = gradient
        return found

    def _by_argument(self, returned):
        """({position of a tensor among the inputs: what is returned for it}, {name of a weight: the same})."""
        if any(each is not None for each in returned[len(self._slots):]):
            raise Stop(failed("run", "wrong_structure", f"{NAME} returns {len(returned)} gradients for "
                                                        f"{len(self._slots)} arguments"))
        inputs = self._spec.inputs.items or ()
        first = [0, *itertools.accumulate(len(tensors_of(each)) for each in inputs)]
        by_input, by_weight = {}, {}
        for slot, each in itertools.zip_longest(self._slots, returned[:len(self._slots)]):
            if slot is not None and slot.kind == "weight":
                by_weight[slot.key] = each
            elif slot is not None:
                parts = _parts(inputs[slot.key], each)
                by_input.update({first[slot.key] + at: part for at, part in enumerate(parts)})
        return by_input, by_weight


def _split(signature, count):
    """(names of the parameters that take the cotangents, the signature of the others)."""
    parameters = list(signature.parameters.values())
    positional = sum(each.kind in arguments.POSITIONAL for each in parameters)
    heads = min(count, positional)
    return [each.name for each in parameters[:heads]], signature.replace(parameters=parameters[heads:])


def _slots(signature, plan):
    """The Source, or None, of each argument behind the cotangents, in their order."""
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            yield from plan.rest
        elif parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            yield plan.filled.get(parameter.name)


def _listed(returned):
    if returned is None:
        return []
    return list(returned) if isinstance(returned, (list, tuple)) else [returned]


def _parts(item, given):
    """What is given for each tensor of an argument: one for a tensor, and as many in the same order for a list or a dict."""
    if item.kind == ValueKind.tensor:
        return [given]
    if not item.items:
        return []
    within = list(given.values()) if isinstance(given, dict) else _listed(given)
    return [part for each, own in itertools.zip_longest(item.items, within[:len(item.items)]) for part in _parts(each, own)]
