"""Checks that every access of an interpreted kernel lies in a storage that its launch received."""
import contextlib
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
from .accesses import Access, Conflict

Builder, Handle = interpreter.InterpreterBuilder, interpreter.TensorHandle
# Up to this distance from a pointer that was passed as a bare integer, accesses are not checked.
RAW_POINTER_REACH = 1 << 31
FOREIGN = tuple(os.path.dirname(each) + os.sep for each in (triton.__file__, np.__file__, __file__))
_asked = deque(maxlen=4096)
_address = torch._C.StorageBase.data_ptr
# `own`: how many of the ranges are arguments; the others are memory that only an address leads to.
_now = {"kernel": "", "ranges": (), "own": 0, "raw": (), "names": (), "watching": False, "indirect": [],
        "noted_bytes": 0, "accesses": None}


def remember(tensor, pointer):
    """Note a tensor whose address the candidate asked for: it may pass the address to any kernel as a number."""
    if not _now["watching"]:
        storage = tensor.untyped_storage()
        _remember(_address(storage), storage.nbytes())
    return pointer


def _remember(start, nbytes):
    if nbytes and not any(each[0] == start and each[1] >= start + nbytes for each in _asked):
        _asked.append((start, start + nbytes, "an address taken by data_ptr()"))


def _storage_pointer(storage):
    pointer = _address(storage)
    if not _now["watching"]:
        _remember(pointer, storage.nbytes())
    return pointer


def _pointer_to_number(convert):
    def converted(self, src, dst_type):
        # A kernel may keep addresses in a table for another kernel.
        data = np.asarray(src.data)
        for start, end, _ in _now["ranges"][:_now["own"]]:
            if ((data >= np.uint64(start)) & (data < np.uint64(end))).any():
                _remember(start, end - start)
        return convert(self, src, dst_type)
    return converted


def _collect(name, value, ranges, raw):
    if isinstance(value, TensorWrapper):
        value = value.base
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        if storage.nbytes():
            ranges.append((_address(storage), _address(storage) + storage.nbytes(), name))
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
                     "watching": True, "indirect": [], "noted_bytes": noted_bytes, "accesses": None}

    def __enter__(self):
        self._old = dict(_now)
        _now.update(self._new)
        return self._new["indirect"]

    def __exit__(self, *exc):
        _now.update(self._old)
        return False


@contextlib.contextmanager
def noted_in(accesses):
    """The context in which every access is added to an Accesses."""
    before, _now["accesses"] = _now["accesses"], accesses
    indirect = len(_now["indirect"])
    try:
        yield
    except BaseException:
        accesses.undo()
        del _now["indirect"][indirect:]
        raise
    finally:
        _now["accesses"] = before


def check(pointers, mask, kind):
    """Raise OutOfBounds if an active lane of an access lies outside.

    Gives the (start, end) of the storage in which all of them lie; None if they lie in several or there is none.
    """
    whole = data = np.asarray(pointers.data)
    active = None
    if mask is not None:
        # A mask of integers would select lanes by number.
        active = np.asarray(mask.data if isinstance(mask, Handle) else mask).astype(bool, copy=False)
        if active.all():
            active = None
        else:
            if active.shape != data.shape:
                whole, active = np.broadcast_arrays(data, active)
            data = whole[active]
    if not data.size:
        return None
    size = max(1, pointers.get_element_ty().primitive_bitwidth // 8)
    low, high = int(data.min()), int(data.max()) + size
    storage = _check(pointers, data, (low, high, size), kind)
    if _now["accesses"] is not None:
        _now["accesses"].add(Access(kind, low, high, size, whole, active, type(pointers.data) is np.ndarray))
    return storage


def _check(pointers, data, span, kind):
    # Fast where all lanes are in one storage.
    low, high, size = span
    for at, (start, end, _) in enumerate(_now["ranges"]):
        if start <= low and high <= end:
            if at >= _now["own"] and kind != "load":
                _note(data.flatten(), pointers, start, end - start)
            return start, end
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
    return None


def _note(addresses, pointers, start, nbytes):
    if nbytes <= _now["noted_bytes"]:
        _now["indirect"].append(IndirectWrite(addresses, pointers.get_element_ty(), start, nbytes))


def _report(bad, of, kind):
    if _now["accesses"] is not None:
        raise Conflict  # told where the programs run one after another
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
    """Add the check to the builder's atomic operations, and note which addresses become numbers.

    memory.py has the other operations.
    """
    swap, update = Builder.create_atomic_cas, Builder.create_atomic_rmw

    def atomic_cas(self, ptr, *rest):
        check(ptr, None, "atomic")
        return swap(self, ptr, *rest)

    def atomic_rmw(self, op, ptr, value, mask, *rest):
        check(ptr, mask, "atomic")
        return update(self, op, ptr, value, mask, *rest)

    Builder.create_atomic_cas, Builder.create_atomic_rmw = atomic_cas, atomic_rmw
    Builder.create_ptr_to_int = _pointer_to_number(Builder.create_ptr_to_int)
    torch.UntypedStorage.data_ptr = _storage_pointer
