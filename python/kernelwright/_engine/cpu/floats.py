"""Widens bfloat16 and the 8-bit floats, which the interpreter stores as bits, for computation."""
import numpy as np
import torch
import triton.language as tl
import triton.runtime.interpreter as interpreter

Handle = interpreter.TensorHandle
FP8 = {"fp8e4nv": (torch.float8_e4m3fn, 448.0), "fp8e5": (torch.float8_e5m2, 57344.0)}
NARROW = frozenset(("bf16", *FP8))


def is_narrow(dtype):
    """Whether values of this Triton type are stored as bit patterns, which numpy would read as integers."""
    return dtype.scalar.name in NARROW


def widen(data, dtype):
    """The float32 values of stored bits."""
    kind = dtype.scalar.name
    if kind == "bf16":
        return (data.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if kind in FP8:
        bits = torch.from_numpy(np.array(data, dtype=np.uint8))
        return bits.view(FP8[kind][0]).to(torch.float32).numpy()
    return data


def narrow(values, dtype, nearest=True):
    """The stored bits of values, rounded to nearest even (or, for bfloat16, towards zero)."""
    values = np.array(values, dtype=np.float32)
    kind = dtype.scalar.name
    if kind == "bf16":
        bits = values.view(np.uint32)
        if nearest:
            bits = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
        return np.where(np.isnan(values), np.uint16(0x7FFF), (bits >> np.uint32(16)).astype(np.uint16))
    # sm_90 converts with .satfinite: a value that is too large becomes the largest finite value.
    torch_kind, most = FP8[kind]
    cut = np.where(np.isnan(values), values, np.clip(values, -most, most))
    return torch.from_numpy(cut).to(torch_kind).view(torch.uint8).numpy()


def wide(handle):
    """A handle's values in a type with which numpy can compute."""
    return widen(handle.data, handle.dtype) if is_narrow(handle.dtype) else handle.data


def integral(values, target):
    """Floats that are converted to an integer type, truncated and saturated as cvt does; other values unchanged."""
    if not target.is_int() or not np.issubdtype(values.dtype, np.floating):
        return values
    kind = interpreter._get_np_dtype(target)
    if kind == np.bool_:
        return values != 0
    limits, exact = np.iinfo(kind), np.trunc(values.astype(np.float64))
    inside = np.where(np.isnan(exact) | (exact >= limits.max) | (exact <= limits.min), 0, exact).astype(kind)
    inside = np.where(exact >= limits.max, kind.type(limits.max), inside)
    return np.where(exact <= limits.min, kind.type(limits.min), inside)


def handle_of(values, dtype):
    """A handle of type `dtype` from computed values."""
    if is_narrow(dtype):
        return Handle(narrow(values, dtype), dtype.scalar)
    values = integral(values, dtype.scalar)
    return Handle(values.astype(interpreter._get_np_dtype(dtype.scalar), copy=False), dtype.scalar)


def to_tf32(values):
    """float32 with 10 mantissa bits, ties away from zero, as tensor cores read it."""
    bits = np.array(values, dtype=np.float32).view(np.uint32)
    rounded = ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(values), rounded, values)


def widened_reduction(method):
    """A fast reduction or scan of the interpreter, computed in float32 and rounded once."""
    def run(self, value, *rest, **more):
        source = value[0] if isinstance(value, (tuple, list)) else value
        if not is_narrow(source.dtype):
            return method(self, value, *rest, **more)
        shape, dtype = list(source.handle.data.shape), source.dtype
        kind = tl.block_type(tl.float32, shape) if source.type.is_block() else tl.float32
        found = method(self, tl.tensor(Handle(wide(source.handle), tl.float32), kind), *rest, **more)
        many = isinstance(found, (tuple, list))
        back = [_back(each, dtype) for each in (found if many else [found])]
        return type(found)(back) if many else back[0]
    return run


def _back(tensor, dtype):
    if tensor.dtype != tl.float32:
        return tensor
    kind = tl.block_type(dtype, list(tensor.handle.data.shape)) if tensor.type.is_block() else dtype
    return tl.tensor(handle_of(tensor.handle.data, dtype), kind)
