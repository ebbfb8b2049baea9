"""Makes smaller versions of a task for the CPU, where one program of a kernel costs about 0.6 ms.

Sizes are halved, the largest first, as long as the reference stays valid: it is constructed and called on the meta
device, which computes shapes only, or where that is impossible, with real memory.
"""
import dataclasses

import torch

from . import inputs as drawing
from . import without_dynamo
from .faults import TaskFault
from .load import load
from .reference import plainly
from .sizes import sizes_of

REAL_LIMIT = 256 << 20  # bytes of inputs and weights up to which a task is tried with real memory
SMALLEST = 8            # sizes below it are not halved


def warm():
    """Make the imports of a first draw and of a first call on the meta device, which each oracle would spend seconds on."""
    without_dynamo.install()
    with torch.device("meta"), torch.no_grad():
        torch.nn.Linear(1, 1)(torch.randn(1, 1))


class Shrunk:
    """The reduced task: its source and shapes, the changed sizes, and whether every halving was possible."""

    def __init__(self, source, input_shapes, sizes, halved):
        self.source, self.input_shapes, self.sizes, self.halved = source, input_shapes, sizes, halved

    @property
    def reduced(self):
        """Whether any size changed."""
        return bool(self.sizes)


def shrink(source, entry_point, input_shapes, max_bytes, halvings):
    """The Shrunk task of at most `max_bytes` of inputs and weights (0: any), halved `halvings` more times."""
    sizes = sizes_of(source, input_shapes)

    def weigh():
        found = tried(*sizes.written(source, input_shapes), entry_point)
        return found if found is not None and found.output_elements != 0 else None

    given = weigh()
    if given is None:
        return Shrunk(source, input_shapes, {}, 0)  # not valid as given: preparing it reports why
    weight = given.weight
    while max_bytes and weight > max_bytes:
        smaller = _halve(sizes, weigh, weight)
        if smaller is None:
            raise TaskFault(f"inputs and weights take {_megabytes(weight)}, more than the {_megabytes(max_bytes)} that "
                            "are tried without a GPU, and no further size of the task can be halved", "too_large")
        weight = smaller
    for done in range(halvings):
        smaller = _halve(sizes, weigh, weight)
        if smaller is None:
            raise TaskFault(f"only {done} of {halvings} further halvings are possible: no other size of the task can "
                            "be halved with the reference still valid", "too_large")
        weight = smaller
    source, input_shapes = sizes.written(source, input_shapes)
    return Shrunk(source, input_shapes, sizes.changed(), halvings)


def _megabytes(count):
    return f"{count / (1 << 20):.1f} MiB"


def _halve(sizes, weigh, weight):
    """The weight after halving the largest size whose halving makes the task lighter, or None without such a size.

    Equal sizes may belong together, and are then halved together. A size that only seems to be possible, because the task
    is too large to be called, comes last.
    """
    assumed = None
    alone = [[size] for size in sizes.largest_first(SMALLEST)]
    for group in (*alone, *sizes.equal_ones(SMALLEST)):
        sizes.halve(group)
        smaller = weigh()
        if smaller is not None and 0 < smaller.weight < weight:
            if smaller.output_elements is not None:
                return smaller.weight
            assumed = assumed or (group, smaller.weight)
        sizes.undo()
    if assumed is None:
        return None
    sizes.halve(assumed[0])
    return assumed[1]


@dataclasses.dataclass(frozen=True)
class Tried:
    """A task that could be constructed, and perhaps called."""

    weight: int                  # bytes of inputs and weights
    inputs: tuple                # the shapes of the tensors among the inputs
    fixed: tuple                 # the shapes of weights and buffers, and the constructor's arguments
    output_elements: int | None  # None: there was no memory for the call


def tried(source, input_shapes, entry_point):
    """The Tried task, or None where it is not valid: it cannot be constructed, or its call fails."""
    with torch.random.fork_rng(devices=[]):
        found = _tried_on(torch.device("meta"), None, source, input_shapes, entry_point)
        if found is None or (found.output_elements is None and found.weight <= REAL_LIMIT):
            real = _tried_on(torch.device("cpu"), REAL_LIMIT, source, input_shapes, entry_point)
            return real if real is not None and real.output_elements is not None else None
        # One that can be weighed but not called without memory is assumed to be right.
        return found


def _tried_on(device, limit, source, input_shapes, entry_point):
    """The Tried task without output elements where its call failed or more than `limit` bytes are needed for it."""
    task = None
    try:
        with torch.device(device), torch.no_grad():
            task = load(source, entry_point, input_shapes)
            given = drawing.draw(task, 0, torch.device(device), "fp32") if task.shapes is not None else task.inputs()
            target = task.construct()
            own = target.state_dict() if isinstance(target, torch.nn.Module) else {}
            tensors = [each for each in (*drawing.tensors_in(given), *own.values()) if isinstance(each, torch.Tensor)]
            weight = sum(each.numel() * each.element_size() for each in tensors)
            return Tried(weight, tuple(tuple(each.shape) for each in drawing.tensors_in(given)),
                         (*((name, tuple(each.shape)) for name, each in own.items() if isinstance(each, torch.Tensor)),
                          repr(task.init_arguments())),
                         _called(target, given) if limit is None or weight <= limit else None)
    except (TaskFault, MemoryError):
        return None
    finally:
        if task is not None:
            task.close()


def _called(target, given):
    """How many elements the reference returns, or None where it is not valid with these sizes."""
    try:
        found = target(*given)
        outputs = drawing.tensors_in(found)
        if all(each.device.type != "meta" for each in outputs):
            plainly(found)
        return sum(each.numel() for each in outputs)
    except BaseException:  # any exception means that the reference is not valid with these sizes
        return None
