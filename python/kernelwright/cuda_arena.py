"""An arena in device memory: created by one process, mapped by others through an exported handle."""
import weakref

import torch

from . import cuda_driver
from .arena import _Arena
from .layout import up


class _DeviceMapping:
    """A range of device addresses, unmapped when nothing refers to it."""

    def __init__(self, handle, size, device):
        self.address, self.size = cuda_driver.map_handle(handle, size, device), size
        weakref.finalize(self, cuda_driver.unmap, self.address, size, handle).atexit = False


class _Bytes:
    """Bytes of a mapping as torch.as_tensor() takes them; the tensor keeps this and so the mapping."""

    def __init__(self, mapping, offset, size):
        self.mapping = mapping
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "version": 3, "strides": None,
                                         "data": (mapping.address + offset, False)}


def _start(device):
    torch.cuda.set_device(device)
    torch.cuda.synchronize(device)


class CudaArena(_Arena):
    """Shared device memory."""

    def __init__(self, handle, size, device):
        self.size, self.device = size, torch.device("cuda", device)
        self._handle = handle
        self._mapping = _DeviceMapping(handle, size, device)

    @classmethod
    def create(cls, size, device):
        """A new arena of at least `size` bytes."""
        _start(device)
        size = up(max(size, 1), cuda_driver.granularity(device))
        return cls(cuda_driver.create(size, device), size, device)

    @classmethod
    def import_fd(cls, fd, size, device):
        """An arena that another process made, at addresses that no live mapping has; the fd stays the caller's."""
        _start(device)
        size = up(max(size, 1), cuda_driver.granularity(device))
        return cls(cuda_driver.import_fd(fd), size, device)

    def export_fd(self):
        """A descriptor to send along, for the caller to close."""
        return cuda_driver.export_fd(self._handle)

    def bytes(self, offset, size, guarded=False):
        """A uint8 tensor over [offset, offset + size); device pages are too large to guard single tensors."""
        return torch.as_tensor(_Bytes(self._mapping, offset, size), device=self.device)

    def close(self):
        """Let go; tensors made from the arena stay valid, the memory goes with the last of them."""
        self._mapping = None
