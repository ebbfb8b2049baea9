"""Loads and stores of interpreted kernels: checked, and in NumPy where one storage holds all addresses.

The interpreter copies element after element, about 25 ns each.
"""
import ctypes

import numpy as np
import triton.runtime.interpreter as interpreter

from . import bounds

Builder, Handle = interpreter.InterpreterBuilder, interpreter.TensorHandle
LIMIT = 256
_slow_load, _slow_store = Builder.create_masked_load, Builder.create_masked_store
_views = {}


def _elements(storage, size):
    """The whole elements of this size in a storage (start, end), as numbers without a sign."""
    key = (*storage, size)
    view = _views.get(key)
    if view is None:
        if len(_views) >= LIMIT:
            _views.clear()
        start, end = storage
        count = (end - start) // size
        view = _views[key] = np.frombuffer((ctypes.c_char * (count * size)).from_address(start), np.dtype(f"u{size}"))
    return view


def _places(pointers, active, storage, size):
    """The indices of the addresses in _elements; None if some element lies across two of them."""
    offsets = np.asarray(pointers) - np.uint64(storage[0])
    if active is not None:
        offsets = np.where(active, offsets, np.uint64(0))
    if size > 1 and (offsets & np.uint64(size - 1)).any():
        return None
    return (offsets >> np.uint64(size.bit_length() - 1)).view(np.int64)


def _active(mask, pointers):
    """The mask of an access; None if all of its lanes are active."""
    active = np.asarray(mask.data if isinstance(mask, Handle) else mask).astype(bool, copy=False)
    return None if active.shape == pointers.data.shape and active.all() else active


def masked_load(self, ptrs, mask, other, *hints, **more):
    """The elements at addresses; `other` in the lanes that are not active."""
    storage, kind = bounds.check(ptrs, mask, "load"), ptrs.get_element_ty()
    dtype = interpreter._get_np_dtype(kind)
    if storage is not None:
        active = _active(mask, ptrs)
        places = _places(ptrs.data, active, storage, dtype.itemsize)
        if places is not None:
            found = _elements(storage, dtype.itemsize)[places].view(dtype)
            if active is not None:
                found = np.where(active, found, dtype.type(0) if other is None else np.asarray(other.data))
            return Handle(found, kind)
    return _slow_load(self, ptrs, mask, other, *hints, **more)


def masked_store(self, ptrs, value, mask, *hints, **more):
    """Writes elements to addresses; of lanes with one address the last wins."""
    storage = bounds.check(ptrs, mask, "store")
    values = np.asarray(value.data)
    if storage is not None and values.shape == ptrs.data.shape:
        active = _active(mask, ptrs)
        places = _places(ptrs.data, active, storage, values.itemsize)
        if places is not None:
            bits = np.ascontiguousarray(values).view(f"u{values.itemsize}")
            if active is not None:
                active = np.broadcast_to(active, places.shape)
                places, bits = places[active], bits[active]
            _elements(storage, values.itemsize)[places] = bits
            return None
    return _slow_store(self, ptrs, value, mask, *hints, **more)


def install():
    """Replace the builder's loads and stores, which block pointers and descriptors use too."""
    Builder.create_masked_load, Builder.create_masked_store = masked_load, masked_store
