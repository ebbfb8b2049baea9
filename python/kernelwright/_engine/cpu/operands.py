"""Shortens what the interpreter does with the operands of each operation where that is nothing, or a constant block.

Most operations have two operands of one type and one shape, or a number beside a tensor. For these the rules of
`TritonSemantic` are applied here at once; every other case, and every error, is Triton's own.
"""
import numpy as np
import triton.language as tl
import triton.runtime.interpreter as interpreter
from triton.language.semantic import TritonSemantic

from . import per_program
from .speed import PLAIN, Handle, numpy_kind, shape_of

Tensor, Kind, Pointer = tl.tensor, tl.dtype, tl.pointer_type
INTEGERS = {name: (getattr(tl, name).get_int_min_value(), getattr(tl, name).get_int_max_value())
            for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")}
WIDE_FLOATS, HALVES = ("fp32", "fp64"), ("fp16", "bf16")
LEAST_NUMBER, MOST_NUMBER = -2 ** 63, 2 ** 64 - 1  # other integers are no constants of Triton
_slow_operands, _slow_broadcast = TritonSemantic.binary_op_type_checking_impl, TritonSemantic.broadcast_impl_value
_slow_cast, _slow_tensor = TritonSemantic.cast, TritonSemantic.to_tensor
_builtin_code = tl.core.builtin(lambda: None).__code__


def operands(self, lhs, rhs, allow_lhs_ptr=False, allow_rhs_ptr=False, arithmetic_check=True, div_or_mod=False):
    """Both operands as tensors of one shape and, unless one is a pointer, of the type in which Triton computes."""
    left, right = type(lhs), type(rhs)
    if left is Tensor and right is Tensor:
        if _need_no_cast(lhs.dtype, rhs.dtype, allow_lhs_ptr, arithmetic_check and div_or_mod):
            return broadcast(self, lhs, rhs)
    elif arithmetic_check and left is Tensor:
        constant = _like(rhs, lhs, div_or_mod)
        if constant is not None:
            return lhs, constant
    elif arithmetic_check and right is Tensor:
        constant = _like(lhs, rhs, div_or_mod)
        if constant is not None:
            return constant, rhs
    return _slow_operands(self, lhs, rhs, allow_lhs_ptr, allow_rhs_ptr, arithmetic_check, div_or_mod)


def _need_no_cast(left, right, allow_pointer, is_division):
    if left is right:
        return type(left) is Kind and left.name in PLAIN and not (is_division and left.name in HALVES)
    return allow_pointer and type(left) is Pointer and type(right) is Kind and right.name in INTEGERS


def _like(number, tensor, is_division):
    """A number as a tensor of the type and shape of `tensor`; None where Triton decides otherwise."""
    kind = tensor.dtype
    if type(kind) is not Kind:
        return None
    name, limits = kind.name, INTEGERS.get(kind.name)
    if type(number) is int:
        least, most = limits or (LEAST_NUMBER, MOST_NUMBER)
        if not least <= number <= most:
            return None
    elif type(number) is not float or limits is not None:
        return None
    if limits is None and name not in WIDE_FLOATS and (name != "fp16" or is_division):
        return None
    known = shape_of(tensor.type)
    data = np.empty((1,) if known is None else known.sizes, numpy_kind(kind))
    data.fill(number or 0)  # Triton's constant of -0.0 is 0.0
    return Tensor(Handle(data, kind), tensor.type)


def broadcast(self, lhs, rhs):
    """Both tensors in their common shape."""
    if type(lhs) is not Tensor or type(rhs) is not Tensor:
        return _slow_broadcast(self, lhs, rhs)
    left, right = shape_of(lhs.type), shape_of(rhs.type)
    if left is right:
        return lhs, rhs
    if right is None and _is_plain(rhs):
        return lhs, _splat(rhs, lhs.type)
    if left is None and _is_plain(lhs):
        return _splat(lhs, rhs.type), rhs
    return _slow_broadcast(self, lhs, rhs)


def _is_plain(tensor):
    kind = tensor.type
    return type(kind) is Kind and kind.name in PLAIN and tensor.handle.dtype is kind


def _splat(scalar, block):
    kind = scalar.type
    if per_program.is_per_program(scalar.handle.data):
        data = per_program.spread(scalar.handle.data, shape_of(block).sizes)
    else:
        data = np.empty(shape_of(block).sizes, numpy_kind(kind))
        data[...] = scalar.handle.data
    return Tensor(Handle(data, kind), block.with_element_ty(kind))


def cast(self, input, dst_ty, fp_downcast_rounding=None):
    """The tensor in another type."""
    return input if input.dtype is dst_ty else _slow_cast(self, input, dst_ty, fp_downcast_rounding)


def to_tensor(self, x, check_type=True):
    """A number or constant as a tensor."""
    return x if type(x) is Tensor else _slow_tensor(self, x, check_type)


def _patch_attr(owner, name, member, builder, scope):
    """Give a function of the language the interpreter's semantic, without the check that it has one."""
    semantic = interpreter.interpreter_semantic
    function = member.__wrapped__ if getattr(member, "__code__", None) is _builtin_code else member

    def called(*args, **kwargs):
        kwargs["_semantic"] = semantic
        return function(*args, **kwargs)
    scope.set_attr(owner, name, called)


def install():
    """Replace the rules' common cases. Call it before the language is patched."""
    TritonSemantic.binary_op_type_checking_impl, TritonSemantic.broadcast_impl_value = operands, broadcast
    TritonSemantic.cast, TritonSemantic.to_tensor = cast, to_tensor
    interpreter._patch_attr = _patch_attr
