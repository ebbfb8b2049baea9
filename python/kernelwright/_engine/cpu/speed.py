"""Makes the interpreter's types, shapes and handles cheaper: it builds them anew for every operation.

Every value stays as Triton computes it. `operands.py` does the same for what each operation asks about its operands.
"""
import math
import types

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as interpreter

Handle = interpreter.TensorHandle
LIMIT = 4096
# Types whose form in the interpreter is the type itself; the others, such as some 8-bit floats, may be refused there.
PLAIN = frozenset(("int1", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "fp16", "bf16", "fp32",
                   "fp64"))
running = types.SimpleNamespace(group=None)  # the programs that run at once (lockstep.py)
_shapes, _shapes_of_groups = {}, {}
_kinds = {}
_slow_kind = interpreter._get_np_dtype
_slow_block, _slow_form, _slow_with = tl.block_type.__init__, tl.block_type.to_ir, tl.block_type.with_element_ty
_slow_equal = tl.dtype.__eq__


class Shape:
    """What blocks of one shape have in common."""

    def __init__(self, sizes, kept, numel):
        self.sizes = sizes  # a tuple of ints
        self.kept, self.numel = kept, numel  # as block_type has them
        self.name = f"<{kept}, "
        self.of_tensor, self.numel_of_tensor = tl.tuple([tl.constexpr(each) for each in sizes]), tl.constexpr(math.prod(sizes))
        self.blocks = {}  # the block_type of each plain type, by name


def shape_of(kind):
    """The Shape of a block type; None for any other type."""
    return kind.__dict__.get("_known")


def numpy_kind(dtype):
    """The type with which numpy holds values of a Triton type."""
    scalar = dtype.scalar
    if isinstance(scalar, tl.pointer_type):
        return np.dtype(np.uint64)
    kind = _kinds.get(scalar.name)
    if kind is None:
        kind = _kinds[scalar.name] = _slow_kind(scalar)
    return kind


def _block_init(self, element_ty, shape):
    sizes = tuple([getattr(each, "value", each) for each in shape]) if isinstance(shape, (list, tuple, tl.tuple)) else None
    known = _shapes.get(sizes)
    if known is None and running.group is not None and sizes and sizes[0] == running.group.size:
        known = _shape_of_group(sizes)
    if known is None:
        _slow_block(self, element_ty, shape)
        known = Shape(sizes, self.shape, self.numel)
        if len(_shapes) < LIMIT:
            _shapes[sizes] = known
    self.element_ty = element_ty
    self.shape, self.numel = known.kept, known.numel
    self.name = f"{known.name}{element_ty}>"
    self._known = known


def _shape_of_group(sizes):
    # A block of each program's block: its number of elements is no power of two.
    found = _shapes_of_groups.get(sizes)
    if found is None:
        found = Shape(sizes, sizes, math.prod(sizes))
        if len(_shapes_of_groups) < LIMIT:
            _shapes_of_groups[sizes] = found
    return found


def _with_element(self, scalar_ty):
    if type(scalar_ty) is not tl.dtype:
        return _slow_with(self, scalar_ty)
    blocks = self._known.blocks
    found = blocks.get(scalar_ty.name)
    if found is None:
        found = blocks[scalar_ty.name] = _slow_with(self, scalar_ty)
    return found


def _form(self, builder):
    kind = self.element_ty
    return self if type(kind) is tl.dtype and kind.name in PLAIN else _slow_form(self, builder)


_scalar_shape = (tl.tuple([]), tl.constexpr(1))


def _tensor_init(self, handle, type):
    self.handle, self.type, self.dtype = handle, type, type.scalar
    known = type.__dict__.get("_known")
    if known is not None:
        self.shape, self.numel = known.of_tensor, known.numel_of_tensor
    elif type.is_block():
        self.shape = tl.tuple([tl.constexpr(each) for each in type.shape])
        self.numel = tl.constexpr(math.prod(type.shape))
    else:
        self.shape, self.numel = _scalar_shape
    if running.group is not None:
        running.group.check(handle, () if known is None else known.sizes)


def _equal(self, other):
    return self is other or _slow_equal(self, other)


def _fits(array, dtype):
    size = array.itemsize
    return size == 1 or isinstance(dtype, tl.pointer_type) or size * 8 <= max(8, dtype.primitive_bitwidth)


def _handle_init(self, data, dtype, attr=None):
    self.data, self.dtype, self.attr = data, dtype, {} if attr is None else attr
    if not _fits(data, dtype):
        self.__post_init__()  # raises


def install():
    """Replace the constructors and the comparison of types by cheaper ones, and leave out a check without an effect."""
    interpreter._get_np_dtype = numpy_kind
    interpreter._validate_np_data_size = _fits
    Handle.__init__ = _handle_init
    tl.block_type.__init__, tl.block_type.to_ir, tl.block_type.with_element_ty = _block_init, _form, _with_element
    tl.tensor.__init__ = _tensor_init
    tl.dtype.__eq__ = _equal
    # Integer operations are computed again in 64 bits for an assertion, which `debug` alone would make.
    interpreter.interpreter_builder.options = interpreter.InterpreterOptions(sanitize_overflow=False)
