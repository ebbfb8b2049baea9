"""An arena in device memory: created by one process, mapped by others through an exported handle."""
import contextlib
import weakref

import torch

from . import cuda_driver
from .arena_base import ArenaBase
from .layout import LEAST_ALIGNMENT, offset_at_end, up


_waiting = []  # lists of deferred mappings, one for each open unmapping_later()


class _DeviceMapping:
    """A range of device addresses, unmapped when nothing refers to it."""

    def __init__(self, handle, size, device, wanted, behind=0):
        more = {"behind": behind} if behind else {}
        self.address, self.size = cuda_driver.map_handle(handle, size, device, wanted, **more), size
        reserved = cuda_driver.reserved_bytes(size, wanted, behind)
        weakref.finalize(self, _let_go, self.address, size, handle, reserved).atexit = False


def _let_go(*mapping):
    if _waiting:
        _waiting[-1].append(mapping)
    else:
        cuda_driver.unmap(*mapping)


@contextlib.contextmanager
def unmapping_later():
    """Defers unmapping until the context ends: unmapping waits for the device, which would count as the candidate's wait."""
    _waiting.append([])
    try:
        yield
    finally:
        for mapping in _waiting.pop():
            _let_go(*mapping)


class _Bytes:
    """Bytes of a mapping for torch.as_tensor(); the tensor keeps this object and so the mapping."""

    def __init__(self, mapping, offset, size):
        self.mapping = mapping
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "version": 3, "strides": None,
                                         "data": (mapping.address + offset, False)}


def _start(device):
    torch.cuda.set_device(device)
    torch.cuda.synchronize(device)


class CudaArena(ArenaBase):
    """Shared device memory."""

    def __init__(self, handle, size, device, wanted=0):
        self.size, self.device = size, torch.device("cuda", device)
        self._handle = handle
        self._mapping = _DeviceMapping(handle, size, device, wanted)
        self.address = self._mapping.address

    @classmethod
    def create(cls, size, device):
        """A new arena of at least `size` bytes."""
        _start(device)
        size = up(max(size, 1), cuda_driver.granularity(device))
        return cls(cuda_driver.create(size, device), size, device)

    @classmethod
    def import_fd(cls, fd, size, device, wanted=0):
        """An arena that another process made; the caller keeps the fd.

        At the address `wanted`, or, where that is 0, at addresses that no live mapping has.
        """
        _start(device)
        size = up(max(size, 1), cuda_driver.granularity(device))
        handle = cuda_driver.import_fd(fd)
        try:
            return cls(handle, size, device, wanted)
        except cuda_driver.AddressTaken:
            cuda_driver.release(handle)
            raise

    def export_fd(self):
        """A descriptor for another process; the caller closes it."""
        return cuda_driver.export_fd(self._handle)

    def bytes(self, offset, size, guarded=False):
        """A uint8 tensor over [offset, offset + size); device pages are too large to guard single tensors."""
        return torch.as_tensor(_Bytes(self._mapping, offset, size), device=self.device)

    def at_edge(self, offset, size):
        """A copy of these bytes, as a uint8 tensor with an unmapped page behind it; its address keeps its remainder."""
        unit = cuda_driver.granularity(self.device.index)
        # The whole unit before it is mapped too, so that a fault is of an access beyond its end.
        mapped = up(size + LEAST_ALIGNMENT, unit) + unit
        mapping = _DeviceMapping(cuda_driver.create(mapped, self.device.index), mapped, self.device.index, 0, unit)
        begin = offset_at_end(mapped, size, offset % LEAST_ALIGNMENT)
        return torch.as_tensor(_Bytes(mapping, begin, size), device=self.device).copy_(self.bytes(offset, size))

    def peek(self, offset):
        """The value of one byte, by a plain copy: PyTorch would load kernels for it, which takes tens of milliseconds."""
        return cuda_driver.read(self.address + offset, 1)[0]

    def poke(self, offset, value):
        """Change one byte."""
        cuda_driver.write(self.address + offset, bytes([value]))

    def close(self):
        """Release the mapping; tensors made from the arena stay valid, and the last of them frees the memory."""
        self._mapping = None
