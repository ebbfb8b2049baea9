"""Places the tensors of a task in an arena, and describes them for the wire."""
import torch

from . import wire
from .values import dtype_name, dtype_of
from .wire import made, numbers, text

PAGE = 4096
LEAST_ALIGNMENT = 16  # the alignment that vector loads and Triton's divisibility specialisation rely on


def up(value, unit):
    """The least multiple of `unit` that is not below `value`."""
    return -(-value // unit) * unit


def offset_at_end(mapped, size, remainder):
    """Where `size` bytes begin that end as close to the end of `mapped` bytes as their alignment allows."""
    offset = mapped - size
    return offset - (offset - remainder) % LEAST_ALIGNMENT


def span(shape, stride):
    """The number of storage elements from the first to the last one of a tensor of this shape and stride."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(shape, stride))


def dense_stride(shape):
    """The strides of a contiguous tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


def flat(tensor):
    """A 1-D view of a tensor's storage range. Unlike an expanded tensor, it accepts copy_."""
    return torch.as_strided(tensor, (span(tensor.shape, tensor.stride()),), (1,), tensor.storage_offset())


def describe(tensor, offset, size):
    """The TensorT of a tensor whose bytes lie at `offset`."""
    return made(wire.TensorT, dtype=dtype_name(tensor.dtype), shape=list(tensor.shape), stride=list(tensor.stride()),
                offset=offset, bytes=size, device=tensor.device.type)


def checked(ref, arena_bytes, dense):
    """(dtype, shape, stride, offset, bytes) of a TensorT, after a check that it lies in the arena."""
    dtype, shape = dtype_of(ref.dtype), numbers(ref.shape)
    stride = dense_stride(shape) if dense else numbers(ref.stride)
    offset, size = int(ref.offset), int(ref.bytes)
    if len(stride) != len(shape) or min(shape, default=0) < 0 or min(stride, default=0) < 0:
        raise ValueError(f"shape {shape} and stride {stride} do not make a tensor")
    if span(shape, stride) * dtype.itemsize > size or offset < 0 or offset + size > arena_bytes:
        raise ValueError(f"a tensor of {text(ref.dtype)} {shape} does not fit {size} bytes at {offset} of {arena_bytes}")
    return dtype, shape, stride, offset, size


class Layout:
    """Gives each tensor a slot of whole pages.

    With `tight` a slot's tensor ends within 16 bytes of a page's end, so that a guard page can follow it; otherwise it
    starts at a page, as a device's allocator places it. Either way the pointer keeps its remainder by 16, and a page is
    left free behind every slot.
    """

    def __init__(self, tight):
        self._tight = tight
        self._end = 0
        self._storages = {}

    @property
    def bytes(self):
        """The bytes allotted so far, in whole pages."""
        return self._end

    def add(self, tensor):
        """The TensorT of `tensor`; a tensor within an earlier one's storage shares its bytes."""
        size = span(tensor.shape, tensor.stride()) * tensor.element_size()
        if size == 0:
            return describe(tensor, self._end, 0)
        first = tensor.storage_offset() * tensor.element_size()
        known = self._storages.get(tensor.untyped_storage()._cdata)
        if known is not None and known[0] <= first and first + size <= known[1]:
            return describe(tensor, known[2] + first - known[0], size)
        offset = self._slot(size, first % LEAST_ALIGNMENT)
        # Keeps the tensor alive, so that no later storage gets the same address.
        self._storages[tensor.untyped_storage()._cdata] = (first, first + size, offset, tensor)
        return describe(tensor, offset, size)

    def reserve(self, size):
        """The offset of `size` bytes for other use, such as the outputs."""
        offset = self._end
        self._end += up(size, PAGE)
        return offset

    def _slot(self, size, lead):
        whole = up(lead + size, LEAST_ALIGNMENT)
        pages = up(whole, PAGE)
        offset = self._end + lead + (pages - whole if self._tight else 0)
        self._end += pages + PAGE
        return offset
