"""Values that differ between the programs of a group, and the interpreter's operations on them.

A value that all programs have in common keeps the interpreter's form. Any other is a `PerProgram`.
"""
import copy
import math

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as interpreter

from .speed import running

Handle, Interpreter = interpreter.TensorHandle, interpreter.InterpreterBuilder
_slow_apply = interpreter.ReduceScanOpInterface.apply
_slow_block_places = interpreter.BlockPointerHandle.materialize_pointers
_slow_descriptor_places = interpreter.TensorDescHandle.materialize_pointers


class Diverged(BaseException):
    """The programs of a group cannot go on together; `ways` has the value of each that decides its way, or is None."""

    def __init__(self, ways=None):
        super().__init__("the programs of a group take different ways")
        self.ways = ways


class PerProgram(np.ndarray):
    """Values that may differ between the programs of a group: the first axis has one entry for each program."""

    def item(self, *_):
        """The number that all programs have here."""
        values = self.view(np.ndarray)
        if values.ndim == 0:  # of a reduction over all programs
            return values.item()
        if values.ndim != 1:
            raise Diverged
        if not (values == values[0]).all():
            raise Diverged(values)
        return values[0].item()

    def __bool__(self):
        return bool(self.item())

    def __int__(self):
        return int(self.item())

    __index__ = __int__

    def __float__(self):
        return float(self.item())


def stop():
    """Give up the group that runs, if there is one."""
    if running.group is not None:
        raise Diverged


def is_per_program(data):
    """Whether these data differ between programs."""
    return type(data) is PerProgram


def truth(tensor):
    """The truth value of a tensor with data for each program; only a scalar has one."""
    if tensor.type.is_block():
        if tensor.type.numel == 1:
            raise Diverged
        return True
    return bool(tensor.handle.data)


def spread(data, sizes):
    """The values for each program, each as a block of these sizes. A uniform scalar or block may be given, too."""
    count, given = running.group.size, np.asarray(data)
    if type(data) is PerProgram:
        given = given.reshape(count, *[1] * (len(sizes) + 1 - given.ndim), *given.shape[1:])
    elif not sizes:
        given = given.reshape(1)
    return np.broadcast_to(given, (count, *sizes)).view(PerProgram)


def _alike(*handles):
    """The handles with data of one shape for each program."""
    sizes = np.broadcast_shapes(*(each.data.shape[_any(each):] for each in handles))
    if sizes == (1,) and not any(_any(each) and each.data.ndim > 1 for each in handles):
        sizes = ()  # a scalar, which has the form of a block of one element where it is uniform
    return [Handle(spread(each.data, sizes), each.dtype) for each in handles]


def _in_memory(*handles):
    # The interpreter's atomic operations take no account of strides.
    return [Handle(np.ascontiguousarray(each.data), each.dtype) for each in _alike(*handles)]


def _any(*handles):
    return any(type(getattr(each, "data", None)) is PerProgram for each in handles)


def _elementwise(method):
    def called(self, *args, **more):
        found = method(self, *args, **more)
        if type(found.data) is not PerProgram and _any(*args, *more.values()):
            found.data = found.data.view(PerProgram)
        return found
    return called


def _refused(self, *args, **more):
    raise Diverged


class Builder(Interpreter):
    """The interpreter's operations, where operands may differ between programs. `install` adds the elementwise ones."""

    def create_get_program_id(self, axis):
        """The programs' places."""
        return Handle(running.group.ids[axis], tl.int32)

    def create_splat(self, ret_ty, arg):
        """A block of a scalar."""
        if not _any(arg):
            return super().create_splat(ret_ty, arg)
        return Handle(spread(arg.data.reshape(-1), tuple(ret_ty.shape)), arg.dtype.scalar)

    def create_unsplat(self, arg):
        """The scalar in a block of one element."""
        return Handle(arg.data.reshape(-1), arg.dtype.scalar) if _any(arg) else super().create_unsplat(arg)

    def create_select(self, cond, lhs, rhs):
        """One of two blocks, by the elements of a third or by a scalar."""
        if _any(cond) and cond.data.ndim == 1:
            sizes = [1] * (max(each.data.ndim - _any(each) for each in (lhs, rhs)) if _any(lhs, rhs) else lhs.data.ndim)
            cond = Handle(cond.data.reshape(-1, *sizes), cond.dtype)
        found = super().create_select(cond, lhs, rhs)
        return _each(found) if _any(cond, lhs, rhs) else found

    def create_expand_dims(self, arg, axis):
        """A block with a new dimension."""
        return super().create_expand_dims(arg, axis + (_any(arg) and axis >= 0))

    def create_broadcast(self, arg, shape):
        """A block whose dimensions of one element are repeated."""
        if not _any(arg):
            return super().create_broadcast(arg, shape)
        return Handle(spread(arg.data, tuple(shape)), arg.dtype.scalar)

    def create_reshape(self, arg, shape, allow_reorder):
        """A block in another shape."""
        return super().create_reshape(arg, (running.group.size, *shape) if _any(arg) else shape, allow_reorder)

    def create_trans(self, arg, perm):
        """A block with its dimensions in another order."""
        return super().create_trans(arg, (0, *(each + 1 for each in perm)) if _any(arg) else perm)

    def create_cat(self, lhs, rhs):
        """Two blocks behind one another."""
        if not _any(lhs, rhs):
            return super().create_cat(lhs, rhs)
        both = [spread(each.data, each.data.shape[_any(each):]) for each in (lhs, rhs)]
        return Handle(np.concatenate(both, axis=1).view(PerProgram), lhs.dtype.scalar)

    def create_join(self, lhs, rhs):
        """Two blocks beside one another, in a new last dimension."""
        if not _any(lhs, rhs):
            return super().create_join(lhs, rhs)
        both = _alike(lhs, rhs)
        return Handle(np.stack([each.data for each in both], axis=-1).view(PerProgram), lhs.dtype.scalar)

    def create_gather(self, src, indices, axis):
        """Elements by their places along an axis."""
        if not _any(src, indices):
            return super().create_gather(src, indices, axis)
        both = [np.asarray(spread(each.data, each.data.shape[_any(each):])) for each in (src, indices)]
        found = np.take_along_axis(*both, axis=axis + (axis >= 0))
        return Handle(found.view(PerProgram), src.dtype.scalar)

    def create_histogram(self, data, bins, mask):
        """The number of elements with each value."""
        if not _any(data, mask):
            return super().create_histogram(data, bins, mask)
        mask = Handle(np.ones_like(data.data, dtype=bool), tl.int1) if mask is None else mask
        found = [super(Builder, self).create_histogram(Handle(each, data.dtype), bins, Handle(active, tl.int1)).data
                 for each, active in zip(*(np.asarray(each.data) for each in _alike(data, mask)))]
        return Handle(np.stack(found).view(PerProgram), tl.int32)

    def create_masked_load(self, ptrs, mask, other, *hints, **more):
        """Elements of memory."""
        mask = mask if isinstance(mask, Handle) else Handle(mask, tl.int1)
        if not _any(ptrs, mask, other):
            return super().create_masked_load(ptrs, mask, other, *hints, **more)
        ptrs, mask, *rest = _alike(ptrs, mask, *([] if other is None else [other]))
        found = super().create_masked_load(ptrs, mask, rest[0] if rest else None, *hints, **more)
        return Handle(found.data.view(PerProgram), found.dtype)

    def create_masked_store(self, ptrs, value, mask, *hints, **more):
        """Writes elements of memory; once, where all programs write the same."""
        mask = mask if isinstance(mask, Handle) else Handle(mask, tl.int1)
        if _any(ptrs, value, mask):
            ptrs, value, mask = _alike(ptrs, value, mask)
        return super().create_masked_store(ptrs, value, mask, *hints, **more)

    def create_atomic_cas(self, ptr, *rest):
        """Compares and exchanges, one program after another."""
        return _each(super().create_atomic_cas(*_in_memory(ptr, *rest[:2]), *rest[2:]))

    def create_atomic_rmw(self, op, ptr, value, mask, *rest):
        """Changes elements of memory, one program after another."""
        return _each(super().create_atomic_rmw(op, *_in_memory(ptr, value, mask), *rest))

    def create_advance(self, ptr, offsets):
        """A block pointer further on."""
        moved = [Handle(old.data + new.data, old.dtype) for old, new in zip(ptr.offsets, offsets, strict=True)]
        return interpreter.BlockPointerHandle(ptr.base, ptr.shape, ptr.strides, moved, ptr.block_shape, ptr.order)

    create_print = create_descriptor_gather = create_descriptor_scatter = create_inline_asm = _refused

    def create_extern_elementwise(self, lib_name, lib_path, symbol, arguments, return_type, is_pure):
        """A function of libdevice."""
        found = super().create_extern_elementwise(lib_name, lib_path, symbol, arguments, return_type, is_pure)
        return _each(found) if _any(*arguments) else found


def _each(handle):
    return Handle(handle.data.view(PerProgram), handle.dtype)


# Operations whose own code is right for several programs: they only call others, or have no operand.
AS_THEY_ARE = frozenset((
    "create_load", "create_store", "create_tensor_pointer_load", "create_tensor_pointer_store", "create_descriptor_load",
    "create_descriptor_store", "create_make_block_ptr", "create_make_tensor_descriptor", "create_split", "create_barrier",
    "create_make_range", "create_get_num_programs", "create_assert", "create_assume"))


# ---- block pointers, descriptors -----------------------------------------------------------------------


def _places(pointer, offsets, element_bytes):
    """The addresses of a block's elements for each program, and the offset along each dimension."""
    sizes = tuple(pointer.block_shape)

    def column(data):
        return np.asarray(data).reshape(-1, *[1] * len(sizes))
    places, along = column(pointer.base.data), []
    for dim, size in enumerate(sizes):
        span = np.arange(size).reshape([size if at == dim else 1 for at in range(len(sizes))])
        along.append(column(offsets[dim].data) + span)
        places = places + (element_bytes * along[dim] * column(pointer.strides[dim].data)).astype(np.uint64)
    return spread(places.view(PerProgram) if len(places) > 1 else places[0], sizes), along


def _inside(pointer, along, dims):
    count, rank = running.group.size, len(along)
    mask = np.ones((count, *pointer.block_shape), bool)
    for dim in dims:
        most = np.asarray(pointer.shape[dim].data).reshape(-1, *[1] * rank)
        mask &= (along[dim] >= 0) & (along[dim] < most)
    return mask.view(PerProgram)


def _parts(pointer, offsets):
    return (pointer.base, *offsets, *pointer.shape, *pointer.strides)


def block_places(self, boundary_check):
    """BlockPointerHandle.materialize_pointers."""
    if not _any(*_parts(self, self.offsets)):
        return _slow_block_places(self, boundary_check)
    places, along = _places(self, self.offsets, self.base.get_element_ty().primitive_bitwidth // 8)
    return Handle(places, self.base.dtype.scalar), _inside(self, along, boundary_check)


def descriptor_places(self, offsets):
    """TensorDescHandle.materialize_pointers."""
    if not _any(*_parts(self, offsets)):
        return _slow_descriptor_places(self, offsets)
    size = self.base.dtype.element_ty.primitive_bitwidth // 8
    assert len(offsets) == self.ndim
    assert ((offsets[-1].data * size) % 16 == 0).all(), "block offset start must be 16-byte aligned"
    places, along = _places(self, offsets, size)
    return Handle(places, self.base.dtype.scalar), _inside(self, along, range(self.ndim))


# ---- reductions, scans -----------------------------------------------------------------------------------


def apply(self, input):
    """ReduceScanOpInterface.apply: the programs are the elements of one more, first dimension."""
    inputs = input if isinstance(input, tuple) else (input,)
    if not _any(*(getattr(each, "handle", None) for each in inputs)):
        return _slow_apply(self, input)
    self.check_tensor(inputs)
    count, shifted = running.group.size, copy.copy(self)
    sizes = tuple(inputs[0].type.shape)
    shifted.axis = 1 if self.axis is None else self.axis + (self.axis >= 0)
    wide = (count, math.prod(sizes)) if self.axis is None else (count, *sizes)
    whole = tuple(tl.tensor(Handle(np.ascontiguousarray(spread(each.handle.data, sizes)).view(np.ndarray).reshape(wide),
                                   each.handle.dtype), tl.block_type(each.dtype, list(wide))) for each in inputs)
    found = _slow_apply(shifted, whole)
    if self.axis is None and self.keep_dims:
        sizes = (1,) * len(sizes)
        found = tuple(_for_each(each, sizes) for each in found)
    else:
        found = tuple(_for_each(each, each.handle.data.shape[1:]) for each in found)
    return found if isinstance(input, tuple) else found[0]


def _for_each(tensor, sizes):
    data = np.asarray(tensor.handle.data).reshape(running.group.size, *sizes).view(PerProgram)
    kind = tl.block_type(tensor.dtype, list(sizes)) if sizes else tensor.dtype
    return tl.tensor(Handle(data, tensor.handle.dtype), kind)


def install():
    """Add the elementwise operations to the builder. Call it after everything that replaces the interpreter's own."""
    own = vars(Builder)
    for name in dir(Interpreter):
        if (name.startswith("create_") or name == "cast_impl") and name not in own and name not in AS_THEY_ARE:
            setattr(Builder, name, _elementwise(getattr(Interpreter, name)))
    interpreter.BlockPointerHandle.materialize_pointers = block_places
    interpreter.TensorDescHandle.materialize_pointers = descriptor_places
    interpreter.ReduceScanOpInterface.apply = apply
