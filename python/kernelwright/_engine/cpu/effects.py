"""Changes what interpreted launches do, to find out what the result of a call depends on.

A result that is right although launches do nothing, or although what they write is replaced, was computed elsewhere.
A result that is wrong when the programs of a launch run in another order is a race on a device.
"""
import contextlib
import itertools
import sys

import numpy as np
import torch
from triton._C.libtriton import interpreter as _interpreter
from triton.runtime.jit import TensorWrapper
from triton.tools.tensor_descriptor import TensorDescriptor

from .. import wire
from .poison import plausible

# A storage of at most this size may hold a flag: a constant in it stays when the launch's other effects are replaced.
FLAG_BYTES = 4096
_DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32, "fp64": torch.float64}
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_now = {"effect": wire.Effect.kept, "in_call": False, "launches": 0}
_flags = {}  # (number of the launch in its call, argument) -> the small writes of earlier calls


@contextlib.contextmanager
def having(effect):
    """The context of one call whose launches have this wire.Effect."""
    _now.update(effect=effect, in_call=True, launches=0)
    try:
        yield
    finally:
        _now.update(effect=wire.Effect.kept, in_call=False)


def are_skipped():
    """Whether launches return at once."""
    return _now["effect"] == wire.Effect.skipped


def are_reordered():
    """Whether the programs of a launch run in the reversed order, one by one."""
    return _now["effect"] == wire.Effect.reordered


def noted_bytes():
    """The largest storage of which writes are noted where only an address leads to it."""
    if not _now["in_call"]:
        return 0
    return sys.maxsize if _now["effect"] == wire.Effect.spoilt else FLAG_BYTES


def order(sizes):
    """The (x, y, z) of every program of a grid, in the order in which they run."""
    # x varies fastest, as on devices: kernels that rely on earlier programs often do so along x.
    x_size, y_size, z_size = sizes
    places = ((x, y, z) for z in range(z_size) for y in range(y_size) for x in range(x_size))
    # In the reversed order no program comes after one that it needs.
    return reversed(list(places)) if are_reordered() else places


@contextlib.contextmanager
def launch(arguments, indirect):
    """The context of one launch; replaces what it writes where effects are spoilt.

    It has these arguments by name, and fills the list `indirect` with what it writes elsewhere (bounds.IndirectWrite).
    """
    if not _now["in_call"]:  # an import or a constructor
        yield
        return
    number, spoilt = _now["launches"], _now["effect"] == wire.Effect.spoilt
    _now["launches"] += 1
    with torch._C.DisableTorchFunction():
        storages = {name: each for name, each in _storages(arguments) if spoilt or each.nbytes <= FLAG_BYTES}
        before = {name: each.elements.clone() for name, each in storages.items()}
    yield
    with torch._C.DisableTorchFunction(), torch.no_grad():
        for name, storage in storages.items():
            _take((number, name), storage, before[name], spoilt)
        places = itertools.count()  # of storages that may hold a flag, as each call meets them
        for start, nbytes, writes in _by_storage(indirect):
            place = next(places) if start and nbytes <= FLAG_BYTES else "unknown"
            _take_indirect((number, place), start, nbytes, writes, spoilt)


def _take(key, storage, before, spoilt):
    """Replace what a launch wrote into a storage, or note it if it may be a flag."""
    written = (storage.elements != before).any(1)
    if not written.any():
        return
    note = None
    if storage.nbytes <= FLAG_BYTES:
        note = (tuple(written.nonzero().view(-1).tolist()), bytes(storage.elements[written].view(-1).tolist()))
    if _is_replaced(key, note, spoilt):
        storage.elements[written] = _others(storage.elements[written], storage.dtype)


def _is_replaced(key, note, spoilt):
    """Whether the effects with this note are replaced; None for those that are no flag. Notes them in other calls."""
    if not spoilt:
        _flags.setdefault(key, set()).add(note)
    # A flag is constant; a small result that takes few values is not.
    return spoilt and _flags.get(key) != {note}


def _by_storage(indirect):
    """(start, bytes, {type: addresses}) of each storage in which these writes lie, in the order of the first ones."""
    storages = {}
    for each in indirect:
        writes = storages.setdefault(each.start, [0, {}])
        writes[0] = each.nbytes if each.start else writes[0] + each.nbytes
        writes[1].setdefault(each.type, []).append(each.addresses)
    for start, (nbytes, writes) in storages.items():
        yield start, nbytes, {kind: np.unique(np.concatenate(each)) for kind, each in writes.items()}


def _take_indirect(key, start, nbytes, writes, spoilt):
    """The same for memory to which an address led. A launch has just written there, so it is mapped."""
    if not spoilt and nbytes > FLAG_BYTES:  # many writes together
        return
    values = {kind: _loaded(each, kind) for kind, each in writes.items()}
    note = None
    if nbytes <= FLAG_BYTES:
        begin = start or int(min(each[0] for each in writes.values()))
        note = tuple((kind.name, tuple((each - np.uint64(begin)).tolist()), values[kind].tobytes())
                     for kind, each in writes.items())
    if _is_replaced(("indirect", *key), note, spoilt):
        for kind, each in writes.items():
            rows = torch.from_numpy(values[kind].view(np.uint8).reshape(len(each), -1))
            others = _others(rows, _DTYPES.get(kind.name) or _INTEGERS[rows.shape[1]])
            _interpreter.store(each, others.numpy().view(values[kind].dtype).reshape(-1), np.ones(len(each), bool))


def _loaded(addresses, kind):
    """The elements of this type of Triton's, as integers without a sign."""
    dtype = np.dtype(f"u{max(1, kind.primitive_bitwidth // 8)}")
    return _interpreter.load(addresses, np.ones(len(addresses), bool), np.zeros(len(addresses), dtype), dtype)


def _others(elements, dtype):
    """Plausible numbers, as rows of bytes, none of which is the one in the same row of `elements`."""
    fresh = plausible(len(elements), dtype).view(torch.uint8).view(elements.shape)
    equal = (fresh == elements).all(1)  # one in 16 for integers, one in two for booleans
    fresh[equal, 0] ^= 1
    return fresh


class _Storage:
    """A tensor's whole storage; `elements` has the bytes of an element in a row."""

    def __init__(self, storage, count, dtype):
        self.dtype, self.nbytes = dtype, count * dtype.itemsize
        flat = torch.empty(0, dtype=torch.uint8).set_(storage, 0, (self.nbytes,))
        self.elements = flat.view(count, dtype.itemsize)


def _storages(arguments):
    """(name, _Storage) of each storage among the arguments, once."""
    seen = set()
    for name, value in arguments.items():
        for at, tensor in enumerate(_tensors(value)):
            storage = tensor.untyped_storage()
            count = storage.nbytes() // tensor.element_size()
            if count and storage.data_ptr() not in seen:
                seen.add(storage.data_ptr())
                yield f"{name}/{at}", _Storage(storage, count, tensor.dtype)


def _tensors(value):
    if isinstance(value, (TensorWrapper, TensorDescriptor)):
        value = value.base
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _tensors(each)
