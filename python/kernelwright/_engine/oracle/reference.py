"""The reference as a callable that always starts from the same state."""
import contextlib
import copy

import torch
from torch.utils._pytree import tree_map_only

from .. import values, wire
from ..moved import moved_initialisers
from ..seeds import of_call, seed_everything
from ..wire import made
from . import inputs as drawing
from .backward import Backward
from .bits import same_bits
from .faults import TaskFault, blame
from .tf32 import RoundedProducts
from .wide import wider, widely


class State:
    """The present buffers and plain attributes of a module, for restoring."""

    def __init__(self, module):
        self._buffers, self._attributes, self._tensors, self._parameters = [], [], [], []
        for each in module.modules() if isinstance(module, torch.nn.Module) else ():
            own = {name: value for name, value in vars(each).items()
                   if name not in ("_parameters", "_buffers", "_modules")}
            self._attributes.append((each, own))
            self._tensors += [(value, value.detach().clone()) for value in own.values()
                              if isinstance(value, torch.Tensor)]
            self._buffers += [(each, name, buffer, buffer.detach().clone())
                              for name, buffer in each._buffers.items() if buffer is not None]

    def keep_parameters(self, module):
        """From now on restore parameters too, for a reference that changes them."""
        if not self._parameters:
            self._parameters = [(each, each.detach().clone()) for each in module.parameters()]

    def restore(self):
        """Restore everything, also buffers that were replaced by other tensors."""
        with torch.no_grad():
            for module, name, buffer, kept in self._buffers:
                buffer.copy_(kept)
                module._buffers[name] = buffer
            for module, attributes in self._attributes:
                vars(module).update(attributes)
            for tensor, kept in (*self._tensors, *self._parameters):
                tensor.copy_(kept)

    def holds(self, tensor):
        """Whether restore() would change this tensor, because it lies in the same memory."""
        held = [*(buffer for _, _, buffer, _ in self._buffers), *(each for each, _ in self._tensors),
                *(each for each, _ in self._parameters)]
        return tensor.numel() and any(each.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
                                      for each in held)


class Reference:
    """Computes expected outputs; its results are plain lists, tuples and dicts of tensors."""

    def __init__(self, task, device, *, precision="fp32", tf32=False, move_weights=False, init_seed=0):
        self.task, self.device, self.tf32 = task, device, tf32
        self.target = _construct(task, device, precision, move_weights, init_seed)
        self._state = State(self.target)
        self._exact = None
        self.changes_inputs = False  # until probe() finds that it does
        self.effects = {}  # {position of an input that the call changes: its name among the outputs}, once it is named
        self.backward = None  # the Backward, once differentiate() has found it

    @property
    def named(self):
        """Whether the outputs are a dict by their names in verdicts."""
        return bool(self.effects) or self.backward is not None

    def differentiate(self, inputs, seed, labels):
        """From now on compute gradients too; `labels` name the tensors of the inputs, which get cotangents as a last one."""
        self._state.restore()
        seed_everything(of_call(seed))
        file = self.task.code.file
        with blame("the reference raised in a call with gradients", file), torch.no_grad(), _tf32(self.tf32, self.device):
            self.backward = Backward(self.target, inputs, labels, file)

    @property
    def is_module(self):
        """Whether the reference is a module and has weights."""
        return isinstance(self.target, torch.nn.Module)

    def weights(self):
        """{name: tensor} of the whole state_dict, as it is before each call."""
        if not self.is_module:
            return {}
        self._state.restore()
        return {name: tensor.detach() for name, tensor in self.target.state_dict().items()
                if isinstance(tensor, torch.Tensor)}

    def call(self, inputs, seed):
        """The outputs for these inputs; the inputs stay unchanged."""
        if self.changes_inputs:
            inputs = drawing.cloned(inputs)
        return self._run(self.target, self._state, inputs, seed, self.tf32)

    def left_weights(self, names):
        """{name: tensor} as the last call() left them."""
        return {name: tensor for name, tensor in self.target.state_dict().items()
                if name in names and isinstance(tensor, torch.Tensor)}

    def call_tf32(self, inputs, seed):
        """The outputs with matrix products in TF32."""
        if self.changes_inputs:
            inputs = drawing.cloned(inputs)
        return self._run(self.target, self._state, inputs, seed, True)

    def call_with(self, inputs, seed, change):
        """The outputs where each tensor of the inputs is replaced by change(tensor)."""
        return self._run(self.target, self._state, tree_map_only(torch.Tensor, change, drawing.cloned(inputs)), seed, self.tf32)

    def call_exact(self, inputs, seed):
        """The outputs in float64: module and inputs upcast."""
        inputs = tree_map_only(torch.Tensor, _upcast, drawing.cloned(inputs))
        return self._run(*self._in_float64(), inputs, seed, False)

    def _in_float64(self):
        if self._exact is None:
            self._state.restore()
            with blame("the reference cannot be made float64", self.task.code.file):
                module = copy.deepcopy(self.target).double() if self.is_module else self.target
            self._exact = module, State(module)
        return self._exact

    def forget_float64(self):
        """Free the weights in float64; a later call in float64 makes them again."""
        self._exact = None

    def call_wide(self, inputs, seed, limit_s, moved=None):
        """(the outputs in float64, the operator that computed in less all the same or ""): conversions inside are widened.

        `moved` changes the results of operators that round.
        """
        exact = self._in_float64()
        inputs = _widened(drawing.cloned(inputs) if self.changes_inputs else inputs)
        with widely(limit_s, moved) as mode:
            return self._run(*exact, inputs, seed, False), mode.narrowed

    def probe(self, inputs, seed):
        """(outputs, indices of the inputs and names of the weights that the call itself changes)."""
        before = {name: tensor.clone() for name, tensor in self.weights().items()}
        given = drawing.cloned(inputs)
        outputs = self._run(self.target, self._state, given, seed, self.tf32)
        # An in-place reference returns its input; the output's copy must survive the next draw of that input.
        state = self.target.state_dict() if self.is_module else {}
        weights = {name for name, tensor in before.items()
                   if not isinstance(state.get(name), torch.Tensor) or not same_bits(tensor, state[name])}
        changed = {at for at, (own, pristine) in enumerate(zip(drawing.tensors_in(given), drawing.tensors_in(inputs)))
                   if not same_bits(own, pristine)}
        self._put_back(before, weights)
        self.changes_inputs = self.changes_inputs or bool(changed)
        return outputs, changed, weights

    def _put_back(self, before, changed):
        if not changed:
            return
        with torch.no_grad():
            for name, parameter in self.target.named_parameters(remove_duplicate=False):
                if name in changed:
                    parameter.copy_(before[name])
        self._state.keep_parameters(self.target)

    def prepared(self, inputs, seed):
        """A function without arguments that calls the reference, for timing; the state is restored once, beforehand."""
        self._state.restore()
        seed_everything(of_call(seed))
        target, tf32 = self.target, self.tf32

        def once():
            with torch.no_grad(), _tf32(tf32, self.device):
                self._computed(target, inputs)
        return once

    def _run(self, target, state, inputs, seed, tf32):
        state.restore()
        seed_everything(of_call(seed))
        with blame("the reference raised", self.task.code.file), torch.no_grad(), _tf32(tf32, self.device):
            found = self._computed(target, inputs)
            if self.device.type == "cuda":
                torch.cuda.synchronize(self.device)  # a fault in the kernels counts against the reference too
        outputs = plainly(found, lambda tensor: tensor.clone() if state.holds(tensor) else tensor)
        return self.with_effects(outputs, inputs) if self.effects else outputs

    def _computed(self, target, inputs):
        return target(*inputs) if self.backward is None else self.backward.run(target, inputs)

    def with_effects(self, outputs, inputs):
        """{"output": the outputs, and by its name each input that the call changes, as these inputs are now}."""
        tensors = drawing.tensors_in(inputs)
        return {"output": outputs, **{name: tensors[at].detach() for at, name in self.effects.items()}}


def _upcast(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


def _widened(inputs):
    """The arguments in 64 bit; arguments that were one tensor stay one tensor."""
    known = {}

    def widen(tensor):
        if id(tensor) not in known:
            known[id(tensor)] = tensor.detach().to(wider(tensor.dtype))
        return known[id(tensor)]

    with torch.no_grad():
        return tree_map_only(torch.Tensor, widen, inputs)


def _construct(task, device, precision, move_weights, init_seed):
    seed_everything(init_seed)
    with moved_initialisers(init_seed) if move_weights else contextlib.nullcontext():
        made_target = task.construct()
    if isinstance(made_target, torch.nn.Module):
        if any(torch.nn.parameter.is_lazy(each) for each in made_target.parameters()):
            raise TaskFault("the reference has lazy parameters, whose shapes only a call decides: give its layers sizes")
        # Constructed on the CPU and then moved, as runners do, so that equal seeds give equal weights.
        dtype = drawing.CASTS[precision]
        if dtype is not None or device.type != "cpu":
            made_target = made_target.to(device=device, dtype=dtype)
    return made_target


@contextlib.contextmanager
def _tf32(on, device):
    """Sets TF32 as asked for, whatever the reference's module set at import; emulated where there is no GPU."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    matmul.allow_tf32 = cudnn.allow_tf32 = on
    try:
        with RoundedProducts() if on and device.type == "cpu" else contextlib.nullcontext():
            yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before


def plainly(found, kept=lambda tensor: tensor):
    """Outputs in the form that the wire gives a candidate's: named tuples as tuples, data classes as dicts."""
    tensors = []

    def place(tensor):
        tensors.append(kept(tensor.detach()))
        return made(wire.TensorT, offset=len(tensors) - 1)

    try:
        tree = values.to_wire(found, place)
    except values.TooLarge as exc:
        raise TaskFault(f"the reference's output is {exc}") from None
    if strange := values.unportable_in(tree):
        raise TaskFault(f"the reference's output holds a {strange[0]}, which cannot be compared: let it return "
                        "tensors, numbers and texts in lists, tuples and dicts")
    if not tensors:
        raise TaskFault("the reference returns no tensor, so there is nothing to compare")
    return values.from_wire(tree, lambda ref: tensors[ref.offset])
