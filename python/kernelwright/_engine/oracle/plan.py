"""Places a task's inputs, weights and outputs in an arena, and makes the CallSpec for a runner."""
import torch

from .. import wire
from ..layout import PAGE, Layout, up
from ..outputs import ALIGNMENT
from ..values import TooLarge, tensors_of, to_wire, unportable_in
from ..wire import made
from . import inputs as drawing
from .faults import TaskFault
from .gaps import Gaps

SLACK = 1 << 20      # bytes
ROOM = 1.25          # times the reference's own outputs: a candidate may return other shapes, which must fit to be reported


class Plan:
    """The layout of one task; `layout` itself is dropped, because it keeps the tensors from which it was made."""

    def __init__(self, inputs, weights, outputs, input_names, tight, last_labels=()):
        layout = Layout(tight)
        self.inputs = _inputs_wire(inputs, layout)
        self.weights = {name: layout.add(tensor) for name, tensor in weights.items()}
        self.input_refs = tensors_of(self.inputs)
        if len(self.input_refs) != len(drawing.tensors_in(inputs)):
            raise TaskFault("get_inputs() holds tensors within objects of its own: let it return them in lists, tuples "
                            "and dicts")
        self.labels = _labels(self.inputs, input_names)
        self.names = [f"input {each}" for each in self.labels]
        for own in (self.labels, self.names):
            own[len(own) - len(last_labels):] = last_labels
        self.signature = drawing.signature(inputs)
        self.input_bytes = _unpadded([*self.input_refs, *self.weights.values()])
        dense = [each.numel() * each.element_size() for each in drawing.tensors_in(outputs)]
        self.output_bytes = sum(dense)
        self.output_dtypes = [each.dtype for each in drawing.tensors_in(outputs)]
        size = int(sum(up(each, ALIGNMENT) for each in dense) * ROOM) + SLACK
        self.outputs_offset = layout.reserve(size)
        self.arena_bytes = up(layout.bytes, PAGE)
        named = [*zip(self.names, self.input_refs),
                 *((f"weight {name}", ref) for name, ref in self.weights.items())]
        self.gaps = Gaps([(name, int(ref.offset), int(ref.bytes)) for name, ref in named],
                         (self.outputs_offset, self.arena_bytes))

    def fill(self, arena, inputs, weights):
        """Write inputs and weights to their places."""
        if drawing.signature(inputs) != self.signature:
            raise TaskFault("get_inputs() returns other shapes or other numbers from call to call; only the values of "
                            "tensors may vary")
        for ref, tensor in zip(self.input_refs, drawing.tensors_in(inputs)):
            arena.write(ref, tensor)
        for name, ref in self.weights.items():
            arena.write(ref, weights[name])

    def poison(self, arena, seed):
        """Overwrite the outputs' memory, so that leftovers cannot pass: with NaN, zeros or plausible numbers, by seed."""
        region = arena.bytes(self.outputs_offset, self.arena_bytes - self.outputs_offset)
        pattern = self._pattern(seed, region.device)
        if isinstance(pattern, int):
            region.fill_(pattern)
            return
        for start in range(0, region.numel(), pattern.numel()):
            part = region[start:start + pattern.numel()]
            part.copy_(pattern[:part.numel()])

    def _pattern(self, seed, device):
        how = seed % 3
        return (0xFF, 0)[how] if how < 2 else _plausible(self.output_dtypes[0], seed, device)

    def unused(self, arena, seed, end):
        """(the memory behind the outputs, which end at `end`; the poison that was there), in pairs of tensors."""
        begin = up(end, ALIGNMENT)
        if begin >= self.arena_bytes:
            return []
        rest = arena.bytes(begin, self.arena_bytes - begin).view(torch.int64)
        pattern = self._pattern(seed, rest.device)
        if isinstance(pattern, int):
            return [(rest, torch.full((), -1 if pattern else 0, device=rest.device).expand(rest.shape))]
        pattern = pattern.view(torch.int64)
        count = pattern.numel()
        lead = min(-((begin - self.outputs_offset) // rest.itemsize) % count, rest.numel())
        whole = (rest.numel() - lead) // count * count
        tail = rest.numel() - lead - whole
        blocks = rest[lead:lead + whole].view(-1, count)
        pairs = ((rest[:lead], pattern[count - lead:][:lead]), (blocks, pattern.expand(blocks.shape)),
                 (rest[lead + whole:], pattern[:tail]))
        return [each for each in pairs if each[0].numel()]


def _plausible(dtype, seed, device):
    generator = torch.Generator(device).manual_seed(seed)
    count = SLACK // dtype.itemsize
    if dtype.is_floating_point and dtype.itemsize > 1:
        values = torch.randn(count, generator=generator, device=device).to(dtype)
    else:
        values = torch.randint(0, 2, (SLACK,), generator=generator, device=device, dtype=torch.uint8)
    return values.view(torch.uint8)


def _inputs_wire(inputs, layout):
    try:
        tree = to_wire(list(inputs), layout.add)
    except TooLarge as exc:
        raise TaskFault(f"get_inputs() returns {exc}") from None
    if strange := unportable_in(tree):
        raise TaskFault(f"get_inputs() returns a {strange[0]}, which cannot be handed to another process: let it "
                        "return tensors, numbers and texts in lists, tuples and dicts")
    return tree


def labels_of(inputs, input_names):
    """The Plan's labels of these inputs."""
    return _labels(_inputs_wire(inputs, Layout(True)), input_names)


def _labels(tree, input_names):
    """A name for each tensor among the inputs: "x", or "factors[1]" within a list."""
    def walk(value, label):
        if value.tensor is not None:
            yield label
        for at, each in enumerate(value.items or ()):
            yield from walk(each, f"{label}[{at}]")
    return [found for at, each in enumerate(tree.items or ())
            for found in walk(each, input_names[at] if at < len(input_names) else f"input {at}")]


def _unpadded(refs):
    return sum({int(ref.offset): int(ref.bytes) for ref in refs}.values())


def positional_weights(module, names):
    """The state_dict names of weights and biases in module order, as wrappers expect them.

    A module whose parameters have other names gives these in their own order. A shared parameter comes once. Computed
    weights (weight normalisation) have no name in the state_dict; their parameters do.
    """
    found, seen = [], set()
    if not isinstance(module, torch.nn.Module):
        return found
    for prefix, each in module.named_modules():
        own = list(each._parameters)
        for name in [*(word for word in ("weight", "bias")), *(word for word in own if word not in ("weight", "bias"))]:
            tensor = getattr(each, name, None)
            full = f"{prefix}.{name}" if prefix else name
            if isinstance(tensor, torch.Tensor) and full in names and id(tensor) not in seen:
                seen.add(id(tensor))
                found.append(full)
    return found


def call_spec(plan, task, reference, request, changes_weights=False):
    """The bytes of the CallSpec, as they lie in its memory file."""
    module = reference.target if reference.is_module else None
    buffers = {name for name, _ in module.named_buffers(remove_duplicate=False)} if module is not None else set()
    args, kwargs = task.init_arguments()
    backward = reference.backward
    inputs = {"inputs": plan.inputs} if backward is None else backward.spec(plan.inputs, changes_weights)
    return wire.to_bytes(made(
        wire.CallSpecT, entryPoint=task.entry_point, initArgs=_plain(args), initKwargs=_plain(kwargs),
        **inputs, inputNames=list(task.input_names),
        weights=[made(wire.NamedTensorT, name=name, tensor=ref, isBuffer=name in buffers)
                 for name, ref in plan.weights.items()],
        positionalWeights=positional_weights(module, plan.weights), arenaBytes=plan.arena_bytes,
        outputsOffset=plan.outputs_offset, initSeed=request.initSeed, moveWeights=request.moveWeights,
        precision=wire.text(request.precision) or "fp32", inputBytes=plan.input_bytes,
        outputBytes=plan.output_bytes))


def _plain(arguments):
    """Constructor arguments as a plain value; a tensor among them is refused, because no arena exists yet."""
    tree = to_wire(arguments, lambda tensor: made(wire.TensorT))
    return _without_tensors(tree)


def _without_tensors(tree):
    if tree.kind == wire.ValueKind.tensor:
        return made(wire.ValueT, kind=wire.ValueKind.unportable, text="Tensor")
    if tree.items:
        tree.items = [_without_tensors(each) for each in tree.items]
    return tree
