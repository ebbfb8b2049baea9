"""Caches the interpreter's types and shapes, which it otherwise builds anew for every operation."""
import math

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as interpreter

LIMIT = 4096
_shapes = {}
_kinds = {}
_slow_kind = interpreter._get_np_dtype
_slow_block = tl.block_type.__init__


def _numpy_kind(dtype):
    scalar = dtype.scalar
    if isinstance(scalar, tl.pointer_type):
        return np.dtype(np.uint64)
    kind = _kinds.get(scalar.name)
    if kind is None:
        kind = _kinds[scalar.name] = _slow_kind(scalar)
    return kind


def _block_init(self, element_ty, shape):
    key = tuple([getattr(each, "value", each) for each in shape]) if isinstance(shape, (list, tuple, tl.tuple)) else None
    known = _shapes.get(key)
    if known is None:
        _slow_block(self, element_ty, shape)
        known = (self.shape, self.numel, f"<{self.shape}, ", tl.tuple([tl.constexpr(each) for each in key]),
                 tl.constexpr(math.prod(key)))
        if len(_shapes) < LIMIT:
            _shapes[key] = known
    self.element_ty = element_ty
    self.shape, self.numel = known[0], known[1]
    self.name = f"{known[2]}{element_ty}>"
    self._known = known


_scalar_shape = (tl.tuple([]), tl.constexpr(1))


def _tensor_init(self, handle, type):
    self.handle, self.type, self.dtype = handle, type, type.scalar
    known = type.__dict__.get("_known")
    if known is not None:
        self.shape, self.numel = known[3], known[4]
    elif type.is_block():
        self.shape = tl.tuple([tl.constexpr(each) for each in type.shape])
        self.numel = tl.constexpr(math.prod(type.shape))
    else:
        self.shape, self.numel = _scalar_shape


def install():
    """Replace the constructors by cached ones, and leave out a check without an effect."""
    interpreter._get_np_dtype = _numpy_kind
    tl.block_type.__init__ = _block_init
    tl.tensor.__init__ = _tensor_init
    # Integer operations are computed again in 64 bits for an assertion, which `debug` alone would make.
    interpreter.interpreter_builder.options = interpreter.InterpreterOptions(sanitize_overflow=False)
