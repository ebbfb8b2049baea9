"""Converts Python values to wire Value trees and back; the caller places the tensors' bytes."""
import dataclasses

import torch

from . import wire
from .wire import ValueKind, made, text, texts

DEPTH_LIMIT, NODE_LIMIT, TEXT_LIMIT = 16, 4096, 4096
INTEGER_LIMIT = 1 << 63
_PLAIN_TENSORS = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


class TooLarge(ValueError):
    """A value that is nested too deeply or has too many parts."""


def dtype_name(dtype):
    """"float32" for torch.float32."""
    return str(dtype).removeprefix("torch.")


def dtype_of(name):
    """torch.float32 for "float32"."""
    found = getattr(torch, text(name), None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"no dtype is called {text(name)[:40]!r}")
    return found


def is_plain_tensor(value):
    """Whether this is a strided tensor with bytes of its own and no overridden behaviour."""
    return (type(value) in _PLAIN_TENSORS and value.layout is torch.strided
            and not value.is_quantized and value.device.type in ("cpu", "cuda"))


def to_wire(value, place):
    """`value` as a ValueT; `place(tensor)` gives each tensor's TensorT."""
    return _Writer(place).write(value, 0)


def from_wire(value, tensor):
    """The Python value of a ValueT; `tensor(TensorT)` gives each tensor."""
    kind = value.kind
    if kind == ValueKind.boolean:
        return bool(value.integer)
    if kind == ValueKind.integer:
        return int(value.integer)
    if kind == ValueKind.real:
        return float(value.real)
    if kind == ValueKind.text:
        return text(value.text)
    if kind == ValueKind.tensor:
        return tensor(value.tensor)
    if kind == ValueKind.dtype:
        return dtype_of(value.text)
    if kind == ValueKind.unportable:
        raise ValueError(f"a value of type {text(value.text)} does not cross processes")
    if kind == ValueKind.none:
        return None
    items = [from_wire(each, tensor) for each in value.items or ()]
    if kind == ValueKind.dict:
        return dict(zip(texts(value.keys), items, strict=True))
    return tuple(items) if kind == ValueKind.tuple else items


def tensors_of(value):
    """The TensorTs of a ValueT, in order."""
    if value.kind == ValueKind.tensor:
        return [value.tensor]
    return [found for each in value.items or () for found in tensors_of(each)]


def tensors_within(value):
    """The tensors in a Python value, in the order in which to_wire() writes them."""
    found = []
    to_wire(value, lambda tensor: found.append(tensor) or made(wire.TensorT))
    return found


def unportable_in(value):
    """The type names of values that could not be converted, in order."""
    if value.kind == ValueKind.unportable:
        return [text(value.text)]
    return [found for each in value.items or () for found in unportable_in(each)]


def _made(kind, **fields):
    return made(wire.ValueT, kind=kind, **fields)


def _unportable(value):
    return _made(ValueKind.unportable, text=type(value).__name__[:TEXT_LIMIT])


def _key(key):
    return key if type(key) is str else repr(key)


class _Writer:
    """One traversal: counts its nodes, so that the size of a value is limited."""

    def __init__(self, place):
        self._place = place
        self._nodes = 0

    def write(self, value, depth):
        self._nodes += 1
        if depth > DEPTH_LIMIT or self._nodes > NODE_LIMIT:
            raise TooLarge(f"a value deeper than {DEPTH_LIMIT} levels or with more than {NODE_LIMIT} parts")
        if isinstance(value, torch.Tensor):
            return _made(ValueKind.tensor, tensor=self._place(value)) if is_plain_tensor(value) else _unportable(value)
        return self._scalar(value) or self._container(value, depth + 1) or _unportable(value)

    def _scalar(self, value):
        if value is None:
            return _made(ValueKind.none)
        if isinstance(value, bool):
            return _made(ValueKind.boolean, integer=int(value))
        if isinstance(value, int):
            return _made(ValueKind.integer, integer=int(value)) if -INTEGER_LIMIT <= value < INTEGER_LIMIT else None
        if isinstance(value, float):
            return _made(ValueKind.real, real=float(value))
        if isinstance(value, str):
            return _made(ValueKind.text, text=str(value)) if len(value) <= TEXT_LIMIT else None
        if isinstance(value, torch.dtype):
            return _made(ValueKind.dtype, text=dtype_name(value))
        if isinstance(value, torch.device):
            return _made(ValueKind.text, text=str(value))
        if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "shape", None) == ():
            return self._scalar(value.item())
        return None

    def _container(self, value, depth):
        if isinstance(value, dict):
            keys = [_key(each) for each in value]
            if any(type(each) not in (str, int, float, bool, type(None)) for each in value) \
                    or any(len(each) > TEXT_LIMIT for each in keys):
                return None
            return self._items(ValueKind.dict, value.values(), depth, keys)
        if isinstance(value, list):
            return self._items(ValueKind.list, value, depth)
        if isinstance(value, tuple):  # also a namedtuple and a torch.Size
            return self._items(ValueKind.tuple, value, depth)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [each.name for each in dataclasses.fields(value)]
            return self._items(ValueKind.dict, [getattr(value, each) for each in fields], depth, fields)
        return None

    def _items(self, kind, values, depth, keys=None):
        return _made(kind, items=[self.write(each, depth) for each in values], keys=keys)
