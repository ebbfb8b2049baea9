"""Tensors in memory that two processes share: a memory file here, a device allocation in cuda_arena.

A mapping goes when its last tensor does, not at close(): a candidate may hold on to its inputs.
"""
import ctypes
import fcntl
import os
import weakref

import torch

from .layout import PAGE, Layout, checked, flat, up
from .outputs import place_outputs

__all__ = ["CpuArena", "Layout", "create_arena", "open_arena", "place_outputs"]

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_NONE, _READ_WRITE = 0, 3
_SHARED, _PRIVATE, _FIXED, _ANONYMOUS, _NORESERVE = 0x01, 0x02, 0x10, 0x20, 0x4000
_FAILED = ctypes.c_void_p(-1).value


def _mmap(address, size, protection, flags, fd=-1, offset=0):
    found = _libc.mmap(address, size, protection, flags, fd, offset)
    if found == _FAILED:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), "mmap")
    return found


class _Mapping:
    """A range of addresses, unmapped when nothing refers to it."""

    def __init__(self, address, size):
        self.address, self.size = address, size
        weakref.finalize(self, _libc.munmap, address, size).atexit = False


def _whole(fd, size):
    return _Mapping(_mmap(None, size, _READ_WRITE, _SHARED, fd), size)


def _guarded(fd, start, size):
    """Pages [start, start + size) of the file between two pages that fault."""
    whole = size + 2 * PAGE
    mapping = _Mapping(_mmap(None, whole, _NONE, _PRIVATE | _ANONYMOUS | _NORESERVE), whole)
    _mmap(mapping.address + PAGE, size, _READ_WRITE, _SHARED | _FIXED, fd, start)
    return mapping


def _bytes_at(mapping, address, size):
    """A uint8 tensor over exactly these bytes, which keeps the mapping."""
    buffer = (ctypes.c_uint8 * size).from_address(address)
    buffer.mapping = mapping
    return torch.frombuffer(buffer, dtype=torch.uint8)


class _Arena:
    """What both kinds of memory have in common."""

    size = 0
    device = torch.device("cpu")

    def tensor(self, ref, guarded=False):
        """The tensor that a TensorT describes; guarded, at a fresh address between pages that fault."""
        return self._made(ref, guarded, dense=False)

    def dense(self, ref):
        """The tensor of an output: its bytes lie contiguously, whatever strides it was returned with."""
        return self._made(ref, False, dense=True)

    def write(self, ref, source):
        """Copy a tensor's bytes to where its TensorT says, also those of an expanded one."""
        with torch.no_grad():
            flat(self.tensor(ref)).copy_(flat(source.detach()))

    def holds(self, tensor):
        """Whether a tensor's bytes lie in this arena's own mapping."""
        return self._mapping.address <= tensor.data_ptr() < self._mapping.address + self._mapping.size

    def _made(self, ref, guarded, dense):
        dtype, shape, stride, offset, size = checked(ref, self.size, dense)
        if size == 0 or 0 in shape:
            return torch.empty_strided(shape, stride, dtype=dtype, device=self.device)
        storage = self.bytes(offset, size, guarded).untyped_storage()
        return torch.empty(0, dtype=dtype, device=self.device).set_(storage, 0, shape, stride)


class CpuArena(_Arena):
    """Shared memory in a memory file."""

    def __init__(self, fd, size):
        self._fd, self.size = fd, size
        self._closed = weakref.finalize(self, os.close, fd)
        self._mapping = _whole(fd, size)

    @classmethod
    def create(cls, size):
        """A new arena of at least `size` bytes that nobody can shrink under its other users."""
        size = up(max(size, 1), PAGE)
        fd = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        return cls(fd, size)

    @classmethod
    def map(cls, fd, size):
        """An arena that another process made; takes a descriptor of its own."""
        if os.fstat(fd).st_size < size:
            raise ValueError(f"the arena is smaller than the {size} bytes it should have")
        return cls(os.dup(fd), up(size, PAGE))

    def export_fd(self):
        """A descriptor to send along, for the caller to close."""
        return os.dup(self._fd)

    def bytes(self, offset, size, guarded=False):
        """A uint8 tensor over [offset, offset + size)."""
        if not guarded:
            return _bytes_at(self._mapping, self._mapping.address + offset, size)
        start = offset // PAGE * PAGE
        mapping = _guarded(self._fd, start, up(offset + size, PAGE) - start)
        return _bytes_at(mapping, mapping.address + PAGE + offset - start, size)

    def peek(self, offset):
        """The value of one byte."""
        return ctypes.string_at(self._mapping.address + offset, 1)[0]

    def poke(self, offset, value):
        """Change one byte."""
        ctypes.memset(self._mapping.address + offset, value, 1)

    def close(self):
        """Let go; tensors made from the arena stay valid."""
        self._closed()
        self._mapping = None


def open_arena(fd, size, device, wanted=0):
    """The arena behind a descriptor: of CUDA device `device`, or of the CPU where that is negative.

    On a device it lies at the address `wanted`, unless that is 0.
    """
    if device < 0:
        return CpuArena.map(fd, size)
    from .cuda_arena import CudaArena
    return CudaArena.import_fd(fd, size, device, wanted)


def create_arena(size, device):
    """A new arena on that device."""
    if device < 0:
        return CpuArena.create(size)
    from .cuda_arena import CudaArena
    return CudaArena.create(size, device)
