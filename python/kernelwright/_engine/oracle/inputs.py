"""Draws a task's inputs from one 64-bit seed, on the device that uses them."""
import torch
from torch.utils._pytree import tree_flatten, tree_map_only

from ..seeds import seed_everything
from .faults import TaskFault, blame

CASTS = {"": None, "fp32": None, "fp16": torch.float16, "bf16": torch.bfloat16}


def draw(task, seed, device, precision):
    """The list of arguments for this seed; tensors lie on `device`."""
    with torch.no_grad():
        values = _drawn_function(task, seed, device) if task.shapes is not None else _drawn_module(task, seed, device)
        dtype = CASTS[precision]
        return tree_map_only(torch.Tensor, lambda tensor: _placed(tensor, device, dtype), values)


def _placed(tensor, device, dtype):
    tensor = tensor.detach().to(device)
    return tensor.to(dtype) if dtype is not None and tensor.is_floating_point() else tensor


def _drawn_module(task, seed, device):
    if device.type != "cpu":
        # Drawing gigabytes on the CPU takes minutes; a few tasks (generators, NumPy) support no other device.
        seed_everything(seed)
        try:
            with torch.device(device):
                return task.inputs()
        except TaskFault as fault:
            if fault.error_class == "out_of_memory":
                raise
    seed_everything(seed)
    return task.inputs()


def _drawn_function(task, seed, device):
    seed_everything(seed)
    with blame("the inputs could not be drawn"):
        return [_random(shape, dtype, device) for _, shape, dtype in task.shapes]


def _random(shape, dtype, device):
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, device=device).to(torch.bool)
    if dtype.is_floating_point:
        return torch.randn(shape, device=device).to(dtype) if dtype is not torch.float64 \
            else torch.randn(shape, device=device, dtype=dtype)
    low, high = (0, 101) if dtype is torch.uint8 else (-100, 101)
    return torch.randint(low, high, shape, device=device, dtype=dtype)


def tensors_in(values):
    """Every tensor among nested arguments, in order."""
    return [leaf for leaf in tree_flatten(values)[0] if isinstance(leaf, torch.Tensor)]


def facts(values):
    """The dtype and the shape of each of these."""
    return [(each.dtype, tuple(each.shape)) for each in tensors_in(values)]


def cloned(values):
    """The same arguments in memory of their own; arguments that were one tensor stay one tensor."""
    known = {}

    def clone(tensor):
        if id(tensor) not in known:
            # clone() keeps the strides of dense tensors only.
            copy = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
            known[id(tensor)] = copy.copy_(tensor) if _writable(tensor) else tensor.clone()
        return known[id(tensor)]

    with torch.no_grad():
        return tree_map_only(torch.Tensor, clone, values)


def _writable(tensor):
    return all(size < 2 or step > 0 for size, step in zip(tensor.shape, tensor.stride()))


def signature(values):
    """The properties that must be equal for every seed: all but the bits of tensors."""
    leaves, spec = tree_flatten(values)
    return str(spec), [_facts(leaf) for leaf in leaves]


def _facts(leaf):
    if isinstance(leaf, torch.Tensor):
        return "tensor", str(leaf.dtype), tuple(leaf.shape), leaf.stride()
    return type(leaf).__name__, repr(leaf)[:1000] if isinstance(leaf, (bool, int, float, str)) else ""
