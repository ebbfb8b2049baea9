"""Makes smaller versions of a task for the CPU, where one program of a kernel costs about 0.6 ms.

Sizes are halved, the largest first, as long as the reference stays valid: it is constructed and called on the meta
device, which computes shapes only, or where that is impossible, with real memory.
"""
import torch

from . import inputs as drawing
from .faults import TaskFault
from .load import load
from .reference import plainly
from .sizes import ShapeSizes, SourceSizes

REAL_LIMIT = 256 << 20  # bytes of inputs and weights up to which a task is tried with real memory
SMALLEST = 8            # sizes below it are not halved


def warm():
    """Import PyTorch's code for the meta device: its first call takes two seconds, which each oracle would spend."""
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
    sizes = ShapeSizes(input_shapes) if input_shapes and input_shapes.strip() else SourceSizes(source)

    def weigh():
        return _bytes_of(*sizes.written(source, input_shapes), entry_point)

    weight = weigh()
    if weight is None:
        return Shrunk(source, input_shapes, {}, 0)  # not valid as given: preparing it reports why
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
    """The weight after halving the largest size whose halving makes the task lighter, or None without such a size."""
    for size in sizes.largest_first(SMALLEST):
        sizes.halve(size)
        smaller = weigh()
        if smaller is not None and 0 < smaller < weight:
            return smaller
        sizes.undo()
    return None


def _bytes_of(source, input_shapes, entry_point):
    """Bytes of inputs, weights and outputs of a valid task, else None."""
    with torch.random.fork_rng(devices=[]):
        found = _tried(source, input_shapes, entry_point, torch.device("meta"), None)
        if found is not None:
            weight, valid = found
            if valid:
                return weight
            if weight > REAL_LIMIT:
                # It can be weighed but not called without memory; its sizes are assumed to be right.
                return weight
        found = _tried(source, input_shapes, entry_point, torch.device("cpu"), REAL_LIMIT)
        return found[0] if found is not None and found[1] else None


def _tried(source, input_shapes, entry_point, device, limit):
    """(bytes, whether the call worked), or None where the task could not be constructed."""
    task = None
    try:
        with torch.device(device), torch.no_grad():
            task = load(source, entry_point, input_shapes)
            given = drawing.draw(task, 0, torch.device(device), "fp32") if task.shapes is not None else task.inputs()
            target = task.construct()
            weight = _weight(given, target)
            if limit is not None and weight > limit:
                return weight, False
            return weight, _called(target, given)
    except (TaskFault, MemoryError):
        return None
    finally:
        if task is not None:
            task.close()


def _called(target, given):
    try:
        found = target(*given)
        if not any(each.numel() for each in drawing.tensors_in(found)):
            return False
        if all(each.device.type != "meta" for each in drawing.tensors_in(found)):
            plainly(found)
        return True
    except BaseException:  # any exception means that the reference is not valid with these sizes
        return False


def _weight(given, target):
    own = target.state_dict().values() if isinstance(target, torch.nn.Module) else ()
    return sum(each.numel() * each.element_size() for each in (*drawing.tensors_in(given), *own)
               if isinstance(each, torch.Tensor))
