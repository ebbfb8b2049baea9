"""Checks that every access of an interpreted kernel lies in a storage that its launch received."""
import os
import sys
from collections import deque
from typing import NamedTuple

import numpy as np
import torch
import triton
import triton.runtime.interpreter as interpreter
from triton.runtime.jit import TensorWrapper
from triton.tools.tensor_descriptor import TensorDescriptor

from ..errors import OutOfBounds

Builder, Handle = interpreter.InterpreterBuilder, interpreter.TensorHandle
# Up to this distance from a pointer that was passed as a bare integer, accesses are not checked.
RAW_POINTER_REACH = 1 << 31
FOREIGN = tuple(os.path.dirname(each) + os.sep for each in (triton.__file__, np.__file__, __file__))
_asked = deque(maxlen=4096)
# `own`: how many of the ranges are arguments; the others are memory that only an address leads to.
_now = {"kernel": "", "ranges": (), "own": 0, "raw": (), "names": (), "watching": False, "indirect": [],
        "noted_bytes": 0}


def remember(tensor, pointer):
    """Note a tensor whose address the candidate asked for: it may pass the address to any kernel as a number."""
    if not _now["watching"]:
        storage = tensor.untyped_storage()
        start = storage.data_ptr()
        if storage.nbytes() and not any(each[0] == start and each[1] >= start + storage.nbytes() for each in _asked):
            _asked.append((start, start + storage.nbytes(), "an address taken by data_ptr()"))
    return pointer


def _collect(name, value, ranges, raw):
    if isinstance(value, TensorWrapper):
        value = value.base
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        if storage.nbytes():
            ranges.append((storage.data_ptr(), storage.data_ptr() + storage.nbytes(), name))
    elif isinstance(value, TensorDescriptor):
        _collect(name, value.base, ranges, raw)
    elif isinstance(value, (tuple, list)):
        for each in value:
            _collect(name, each, ranges, raw)
    elif type(value) is int and value > 1 << 32:
        raw.append(value)
    elif not isinstance(value, (int, float, str)) and callable(getattr(value, "data_ptr", None)):
        raw.append(int(value.data_ptr()))


class IndirectWrite(NamedTuple):
    """Elements that one access wrote, which lie in no argument of the launch: a number led to them."""

    addresses: np.ndarray
    type: object  # Triton's, of an element
    start: int  # of the storage; 0: not known
    nbytes: int  # of the storage


class launch:
    """Context of one launch: `arguments` by name are what its kernel may touch.

    Gives the list of IndirectWrite that it fills, with what lies in storages of at most `noted_bytes`.
    """

    def __init__(self, kernel, arguments, noted_bytes=0):
        ranges, raw = [], []
        for name, value in arguments.items():
            _collect(name, value, ranges, raw)
        own = dict.fromkeys(ranges)
        self._new = {"kernel": kernel, "ranges": (*own, *dict.fromkeys(_asked)), "own": len(own), "raw": tuple(raw),
                     "watching": True, "indirect": [], "noted_bytes": noted_bytes}

    def __enter__(self):
        self._old = dict(_now)
        _now.update(self._new)
        return self._new["indirect"]

    def __exit__(self, *exc):
        _now.update(self._old)
        return False


def check(pointers, mask, kind):
    """Raise OutOfBounds if an active lane of an access lies outside. Fast where all lanes are in one storage."""
    data = pointers.data
    if mask is not None:
        active = np.asarray(mask.data if isinstance(mask, Handle) else mask)
        if not active.all():
            data = np.broadcast_to(data, active.shape)[active] if active.shape != data.shape else data[active]
    if not data.size:
        return
    size = max(1, pointers.get_element_ty().primitive_bitwidth // 8)
    low, high = int(data.min()), int(data.max()) + size
    for at, (start, end, _) in enumerate(_now["ranges"]):
        if start <= low and high <= end:
            if at >= _now["own"] and kind != "load":
                _note(data.flatten(), pointers, start, end - start)
            return
    last = np.uint64(size)
    inside = np.zeros(data.shape, bool)
    for at, (start, end, _) in enumerate(_now["ranges"]):
        here = (data >= np.uint64(start)) & (data <= np.uint64(max(end - size, start))) & (data + last <= np.uint64(end))
        if at >= _now["own"] and kind != "load" and (new := here & ~inside).any():
            _note(data[new], pointers, start, end - start)
        inside |= here
    for pointer in _now["raw"]:
        if not any(start <= pointer < end for start, end, _ in _now["ranges"]):
            here = np.abs(data.astype(np.int64) - np.int64(min(pointer, (1 << 63) - 1))) < RAW_POINTER_REACH
            if kind != "load" and (new := here & ~inside).any():
                _note(data[new], pointers, 0, size * int(new.sum()))
            inside |= here
    if not inside.all():
        _report(data[~inside], int(data.size), kind)


def _note(addresses, pointers, start, nbytes):
    if nbytes <= _now["noted_bytes"]:
        _now["indirect"].append(IndirectWrite(addresses, pointers.get_element_ty(), start, nbytes))


def _report(bad, of, kind):
    address, nearest = int(bad.flat[0]), None
    for start, end, name in _now["ranges"]:
        away = start - address if address < start else address - end
        if nearest is None or away < nearest[0]:
            nearest = (away, "before" if address < start else "beyond", name)
    direction, where = "outside", ""
    if nearest is not None:
        direction = nearest[1]
        # The distance to the nearest tensor is reported only where it is small.
        where = f"{max(nearest[0], 0)} bytes {direction} `{nearest[2]}`" if nearest[0] < 1 << 30 else ""
    raise OutOfBounds(kind, _now["kernel"], _line(), int(bad.size), of, direction, where)


def _line():
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(FOREIGN):
        frame = frame.f_back
    return frame.f_lineno if frame is not None else 0


def install():
    """Add the check to the builder's memory operations, which block pointers and descriptors use too."""
    load, store, swap, update = (Builder.create_masked_load, Builder.create_masked_store,
                                 Builder.create_atomic_cas, Builder.create_atomic_rmw)

    def masked_load(self, ptrs, mask, other, *hints, **more):
        check(ptrs, mask, "load")
        return load(self, ptrs, mask, other, *hints, **more)

    def masked_store(self, ptrs, value, mask, *hints, **more):
        check(ptrs, mask, "store")
        return store(self, ptrs, value, mask, *hints, **more)

    def atomic_cas(self, ptr, *rest):
        check(ptr, None, "atomic")
        return swap(self, ptr, *rest)

    def atomic_rmw(self, op, ptr, value, mask, *rest):
        check(ptr, mask, "atomic")
        return update(self, op, ptr, value, mask, *rest)

    Builder.create_masked_load, Builder.create_masked_store = masked_load, masked_store
    Builder.create_atomic_cas, Builder.create_atomic_rmw = atomic_cas, atomic_rmw
