"""Corrects the interpreter's arithmetic where it differs from an sm_90 device."""
import ctypes

import numpy as np
import torch
import triton.language as tl
import triton.runtime.interpreter as interpreter
from triton._C.libtriton import ir

from ..errors import Unsupported
from . import bounds
from .floats import Handle, handle_of, is_narrow, narrow, to_tf32, wide, widened_reduction

Builder = interpreter.InterpreterBuilder
_cast = Builder.cast_impl
_fp_to_fp = Builder.create_fp_to_fp
_get_np_dtype = interpreter._get_np_dtype
_erf = torch.erf  # a candidate may wrap PyTorch's
# The interpreter exchanges integers only.
FLOAT_BITS = {tl.float32: tl.int32, tl.float64: tl.int64}
_binary, _unary, _ternary = Builder.binary_op, Builder.unary_op, Builder.ternary_op


def binary_op(self, lhs, rhs, op):
    """An element-wise operation on two operands; the result of a comparison stays boolean."""
    if lhs.data.dtype == np.bool_ and (op is np.add or op is np.subtract):
        op = np.bitwise_xor  # of one bit
    if not (is_narrow(lhs.dtype) or is_narrow(rhs.dtype)):
        return _binary(self, lhs, rhs, op)
    values = op(wide(lhs), wide(rhs))
    return Handle(values, tl.int1) if values.dtype == np.bool_ else handle_of(values, lhs.dtype)


def unary_op(self, arg, op):
    """An element-wise operation on one operand."""
    return handle_of(op(wide(arg)), arg.dtype) if is_narrow(arg.dtype) else _unary(self, arg, op)


def ternary_op(self, lhs, rhs, other, op):
    """An element-wise operation on three operands; a select only moves bits."""
    if op is np.where or not is_narrow(other.dtype):
        return _ternary(self, lhs, rhs, other, op)
    return handle_of(op(wide(lhs), wide(rhs), wide(other)), other.dtype)


def cast_impl(self, src, dst_type):
    """A cast between number types; float to integer saturates and NaN gives 0, as cvt does."""
    source, target = src.dtype.scalar, dst_type.scalar
    if source == target:
        return _cast(self, src, dst_type)
    if is_narrow(source) or is_narrow(target) or (source.is_floating() and target.is_int()):
        return handle_of(wide(src), target)
    return _cast(self, src, dst_type)


def create_fp_to_fp(self, src, dst_type, rounding_mode):
    """Conversions with an explicit rounding, and all conversions of 8-bit floats."""
    if not (is_narrow(src.dtype) or is_narrow(dst_type)):
        return _fp_to_fp(self, src, dst_type, rounding_mode)
    if rounding_mode == ir.ROUNDING_MODE.RTZ and dst_type.scalar == tl.bfloat16:
        return Handle(narrow(wide(src), dst_type, nearest=False), tl.bfloat16)
    return handle_of(wide(src), dst_type)


def create_fma(self, x, y, z):
    """A fused multiply-add with one rounding: float64 is wide enough for float32 operands."""
    values = wide(x).astype(np.float64) * wide(y).astype(np.float64) + wide(z).astype(np.float64)
    return handle_of(values, z.dtype)


def create_erf(self, arg):
    """erf of a whole block at once."""
    return handle_of(_erf(torch.from_numpy(np.array(wide(arg)))).numpy(), arg.dtype)


def create_rsqrt(self, arg):
    """1 / sqrt."""
    return handle_of(1 / np.sqrt(wide(arg)), arg.dtype)


def create_clampf(self, arg, low, high, propagate_nans):
    """min(max(x, low), high), except that NaN gives the lower bound unless it shall propagate."""
    smaller, larger = ((np.minimum, np.maximum) if propagate_nans == ir.PROPAGATE_NAN.ALL else (np.fmin, np.fmax))
    return ternary_op(self, arg, low, high, lambda x, lo, hi: smaller(larger(x, lo), hi))


def create_dot(self, a, b, d, input_precision, max_num_imprecise_acc):
    """Products of operands as the tensor core reads them, summed in float32 (or int32, float64)."""
    if np.issubdtype(a.data.dtype, np.integer) and not is_narrow(a.dtype):
        return Handle(np.matmul(a.data, b.data, dtype=d.data.dtype) + d.data, d.dtype.scalar)
    left, right = wide(a), wide(b)
    if a.dtype.scalar == tl.float32 and input_precision == ir.INPUT_PRECISION.TF32:
        left, right = to_tf32(left), to_tf32(right)
    kind = np.float64 if left.dtype == np.float64 else np.float32
    return handle_of(np.matmul(left.astype(kind), right.astype(kind)) + wide(d), d.dtype)


def create_atomic_rmw(self, op, ptr, value, mask, sem, scope):
    """Adds 16-bit floats lane after lane, exchanges floats by their bits; all other operations are the interpreter's."""
    if op == ir.ATOMIC_OP.XCHG and value.dtype.scalar in FLOAT_BITS:
        bits = FLOAT_BITS[value.dtype.scalar]
        before = _atomic(self, op, ptr, Handle(value.data.view(_get_np_dtype(bits)), bits), mask, sem, scope)
        return Handle(before.data.view(value.data.dtype), value.dtype.scalar)
    if value.dtype.scalar not in (tl.float16, tl.bfloat16):
        return _atomic(self, op, ptr, value, mask, sem, scope)
    if op not in (ir.ATOMIC_OP.FADD, ir.ATOMIC_OP.ADD):
        raise Unsupported("atomics other than add on 16-bit floats")
    bounds.check(ptr, mask, "atomic")
    dtype = value.dtype.scalar
    before = np.zeros(ptr.data.shape, dtype=value.data.dtype)
    addends, active = np.broadcast_to(wide(value), before.shape), np.broadcast_to(mask.data, before.shape)
    for lane in np.ndindex(before.shape):
        if active[lane]:
            cell = np.frombuffer((ctypes.c_char * 2).from_address(int(ptr.data[lane])), dtype=before.dtype)
            before[lane] = cell[0]
            cell[0] = handle_of(wide(Handle(cell.copy(), dtype)) + addends[lane], dtype).data[0]
    return Handle(before, dtype)


def get_bf16(self, value):
    """A bfloat16 constant."""
    return handle_of(np.array([value], dtype=np.float32), tl.bfloat16)


def _refusal(feature):
    def refused(self, *args, **kwargs):
        raise Unsupported(feature)
    return refused


_atomic = None


def install():
    """Replace the operations. Call it after bounds.install(), because the atomics call its checked ones."""
    global _atomic
    _atomic = Builder.create_atomic_rmw
    for function in (binary_op, unary_op, ternary_op, cast_impl, create_fp_to_fp, create_fma, create_erf, create_rsqrt,
                     create_clampf, create_dot, create_atomic_rmw, get_bf16):
        setattr(Builder, function.__name__, function)
    # By default tl.maximum and tl.minimum drop NaN on the device; only *imumf propagates it.
    Builder.create_maxnumf = lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmax)
    Builder.create_minnumf = lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmin)
    for name, feature in (("create_inline_asm", "inline PTX"),
                          ("create_descriptor_reduce", "atomics on tensor descriptors")):
        setattr(Builder, name, _refusal(feature))
    for owner, names in ((interpreter.ReduceOps, ("sum", "min_max")), (interpreter.ScanOps, ("cumsum", "cumprod"))):
        for name in names:
            setattr(owner, name, widened_reduction(getattr(owner, name)))
