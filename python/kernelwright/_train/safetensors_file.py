"""Safetensors files of plain arrays: written at once, and checked when read, without loading them.

Eight bytes give the length of the header, which is JSON: name → dtype, shape and place. The arrays' bytes follow.
"""
import json
import os

import numpy

TYPES = {"I32": numpy.dtype("<i4"), "I64": numpy.dtype("<i8")}
NAMES = {dtype: name for name, dtype in TYPES.items()}
HEADER_BYTES = 1 << 20


class NotSafetensors(ValueError):
    """The reason why a file cannot be read."""


def write(path, arrays, metadata=None):
    """Arrays by name, as int32 or int64. The file appears when it is complete. Returns its size in bytes."""
    header, at = {"__metadata__": {str(key): str(value) for key, value in metadata.items()}} if metadata else {}, 0
    # The widest first, so that every array is aligned to its type.
    arrays = dict(sorted(arrays.items(), key=lambda each: -each[1].dtype.itemsize))
    for name, array in arrays.items():
        header[name] = {"dtype": NAMES[array.dtype.newbyteorder("<")], "shape": list(array.shape),
                        "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    words = json.dumps(header, separators=(",", ":")).encode()
    words += b" " * (-len(words) % 8)
    neighbour = f"{path}.{os.getpid()}.tmp"
    try:
        with open(neighbour, "wb") as out:
            out.write(len(words).to_bytes(8, "little") + words)
            for array in arrays.values():
                out.write(numpy.ascontiguousarray(array).data)
        os.replace(neighbour, path)
    finally:
        if os.path.exists(neighbour):
            os.remove(neighbour)
    return 8 + len(words) + at


def header_of(path):
    """(header, offset of the arrays, their bytes)."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or not 2 <= length <= min(HEADER_BYTES, size - 8):
            raise NotSafetensors("its header is cut short or not one")
        try:
            header = json.loads(file.read(length).decode("utf-8"))
        except (ValueError, RecursionError):
            raise NotSafetensors("its header is no JSON") from None
    if not isinstance(header, dict):
        raise NotSafetensors("its header is no JSON object")
    return header, 8 + length, size - 8 - length


def place_of(name, entry, available):
    """(dtype, count, begin) of a one-dimensional array, after a check that it lies within the file."""
    try:
        dtype, (count,), (begin, end) = TYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
        sound = all(type(each) is int for each in (count, begin, end))
    except (KeyError, TypeError, ValueError):
        sound = False
    if not sound or count < 0 or begin < 0 or end - begin != count * dtype.itemsize:
        raise NotSafetensors(f"{name} is no array of a known kind")
    if end > available:
        raise NotSafetensors(f"it is cut short: {name} ends {end - available} bytes behind its end")
    return dtype, count, begin


def arrays_of(path, wanted):
    """The arrays of these names and dtypes ("I32", "I64"), mapped, not read. Raises NotSafetensors or OSError."""
    header, start, available = header_of(path)
    arrays = {}
    for name, kind in wanted.items():
        if name not in header:
            raise NotSafetensors(f"{name} is missing")
        dtype, count, begin = place_of(name, header[name], available)
        if dtype != TYPES[kind]:
            raise NotSafetensors(f"{name} is {NAMES[dtype]}, not {kind}")
        mapped = numpy.memmap(path, dtype, "r", start + begin, (count,)) if count else numpy.empty(0, dtype)
        arrays[name] = mapped
    return arrays
