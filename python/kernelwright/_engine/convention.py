"""The calling conventions of a candidate: a module with a constructor, or a function of inputs and weights."""
import contextlib
import inspect
import itertools

import torch

from . import arguments
from .moved import moved_initialisers
from .values import from_wire
from .wire import Weights, text, texts

DTYPES = {"fp32": None, "fp16": torch.float16, "bf16": torch.bfloat16}


class MissingEntry(Exception):
    """The source defines no entry that can be called."""


def find_entry(names, explicit, reference):
    """(name, object) of the candidate's entry among its module's names."""
    wanted = [explicit] if explicit else ["ModelNew", "triton_kernel_wrapper", *([f"{reference}New"] if reference else [])]
    for name in wanted:
        if callable(names.get(name)):
            return name, names[name]
    raise MissingEntry(f"the source defines no {' and no '.join(wanted)}")


def make(name, entry, spec, arena, how, device):
    """The Callee of an entry. Where `arena` is None, weights are compared when the first call brings an arena."""
    kind = ModuleCallee if isinstance(entry, type) else WrapperCallee
    return kind(name, entry, spec, arena, how, device)


def _tensors(spec):
    return {text(each.name): each.tensor for each in spec.weights or ()}


class WrapperCallee:
    """A function that is called with inputs and weights."""

    convention = "wrapper"
    weights_differ = False

    def __init__(self, name, entry, spec, arena, how, device):
        self.name, self._entry, self._spec = name, entry, spec
        self._signature = inspect.signature(entry)
        self._plan = arguments.fill(self._signature, len(spec.inputs.items or ()), texts(spec.inputNames),
                                    list(_tensors(spec)), texts(spec.positionalWeights),
                                    texts(spec.initKwargs.keys) if spec.initKwargs else ())
        self.arguments, self.weights = self._plan.lines(), self._plan.weights

    def prepare(self, arena):
        """Does nothing: no state is kept between calls."""

    def parameters(self):
        """Empty: weights are arguments."""
        return {}

    def ready(self, tensor):
        """A function without arguments that makes the call on fresh tensors, each given by `tensor(TensorT)`."""
        inputs, weights = self._spec.inputs.items or (), _tensors(self._spec)

        def value(source):
            if source.kind == "input":
                return from_wire(inputs[source.key], tensor)
            return tensor(weights[source.key])
        args, kwargs = arguments.bound(self._signature, self._plan, value)
        return lambda: self._entry(*args, **kwargs)


class ModuleCallee:
    """A class that is constructed once and then called like the reference."""

    convention = "module"

    def __init__(self, name, entry, spec, arena, how, device):
        self.name, self._spec, self._how = name, spec, how
        self._instance = self._called = _construct(entry, spec, device, arena)
        self._prepared = False
        self._buffers = []
        self.arguments = inputs_in_order(spec)
        self.weights, self.weights_differ = "", bool(spec.weights)
        if arena is not None:
            self.prepare(arena)

    def wrap(self, wrapper):
        """Call what `wrapper` makes of the instance, such as torch.compile."""
        self._called = wrapper(self._instance)

    def prepare(self, arena):
        """Compare with the reference's weights in the arena, and load them where the task asks for that."""
        if self._prepared:
            return
        self._prepared = True
        pairs = _pairs(self._instance, {name: arena.tensor(ref) for name, ref in _tensors(self._spec).items()})
        differing = [(own, given) for own, given in pairs if not _same(own, given)]
        self.weights_differ = bool(differing)
        load = self._how == Weights.loaded or (self._how == Weights.automatic and differing)
        self.weights = "none" if not self._spec.weights else "loaded" if load and pairs else "constructed"
        if load:
            with torch.no_grad():
                for own, given in pairs:
                    own.copy_(given)
        if isinstance(self._instance, torch.nn.Module):
            self._buffers = [(module, name, buffer, buffer.detach().clone())
                             for module in self._instance.modules()
                             for name, buffer in module.named_buffers(recurse=False)]

    def parameters(self):
        """{name: parameter} of the instance."""
        is_module = isinstance(self._instance, torch.nn.Module)
        return dict(self._instance.named_parameters(remove_duplicate=False)) if is_module else {}

    def ready(self, tensor):
        """The call as a function without arguments; buffers are as they were after construction."""
        args = [from_wire(each, tensor) for each in self._spec.inputs.items or ()]
        with torch.no_grad():
            for module, name, buffer, kept in self._buffers:
                buffer.copy_(kept)
                module._buffers[name] = buffer  # a forward may have assigned a new buffer instead of writing to the old one
        return lambda: self._called(*args)


def inputs_in_order(spec):
    """The plan where the call has no weights: inputs in their order."""
    return [f"{_input_name(spec, at)}=input:{at}" for at in range(len(spec.inputs.items or ()))]


def _input_name(spec, at):
    names = texts(spec.inputNames)
    return names[at] if at < len(names) else str(at)


def constructing(spec):
    """The context in which reference and candidate are constructed, so that equal constructors get equal weights."""
    if spec.moveWeights:
        return moved_initialisers(spec.initSeed)
    torch.manual_seed(spec.initSeed)
    return contextlib.nullcontext()


def _construct(entry, spec, device, arena):
    def tensor(ref):
        if arena is None:
            raise ValueError("a constructor's argument is a tensor, and no arena came along")
        return arena.tensor(ref).clone()
    args = from_wire(spec.initArgs, tensor) if spec.initArgs else ()
    kwargs = from_wire(spec.initKwargs, tensor) if spec.initKwargs else {}
    with constructing(spec):
        instance = entry(*(args or ()), **(kwargs or {}))
    if isinstance(instance, torch.nn.Module):
        dtype = DTYPES.get(text(spec.precision))
        if dtype is not None or device.type != "cpu":
            instance = instance.to(device=device, dtype=dtype)
    return instance


def _pairs(instance, given):
    """(own tensor, given tensor) for every name and shape that both have."""
    if not isinstance(instance, torch.nn.Module):
        return []
    own = dict(itertools.chain(instance.named_parameters(remove_duplicate=False),
                               instance.named_buffers(remove_duplicate=False)))
    state = instance.state_dict()
    return [(own[name].detach(), tensor) for name, tensor in given.items()
            if name in state and name in own and own[name].shape == tensor.shape]


def _same(own, given):
    # Compare bits, so that a NaN equals itself.
    return own.dtype == given.dtype and torch.equal(_bits(own), _bits(given.to(own.device)))


def _bits(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8) if tensor.numel() else tensor.reshape(-1)
