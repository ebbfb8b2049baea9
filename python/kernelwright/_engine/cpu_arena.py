"""An arena in a memory file. A mapping lives as long as its last tensor, because a candidate may keep its inputs."""
import ctypes
import fcntl
import os
import weakref

import torch

from .arena_base import ArenaBase
from .layout import PAGE, up

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
    """Pages [start, start + size) of the file between two guard pages."""
    whole = size + 2 * PAGE
    mapping = _Mapping(_mmap(None, whole, _NONE, _PRIVATE | _ANONYMOUS | _NORESERVE), whole)
    _mmap(mapping.address + PAGE, size, _READ_WRITE, _SHARED | _FIXED, fd, start)
    return mapping


def _bytes_at(mapping, address, size):
    """A uint8 tensor over exactly these bytes, which keeps the mapping alive."""
    buffer = (ctypes.c_uint8 * size).from_address(address)
    buffer.mapping = mapping
    return torch.frombuffer(buffer, dtype=torch.uint8)


class CpuArena(ArenaBase):
    """Shared memory in a memory file."""

    def __init__(self, fd, size):
        self._fd, self.size = fd, size
        self._closed = weakref.finalize(self, os.close, fd)
        self._mapping = _whole(fd, size)

    @classmethod
    def create(cls, size):
        """A new arena of at least `size` bytes, sealed so that no other user can shrink it."""
        size = up(max(size, 1), PAGE)
        fd = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        return cls(fd, size)

    @classmethod
    def map(cls, fd, size):
        """An arena that another process made; duplicates the descriptor."""
        if os.fstat(fd).st_size < size:
            raise ValueError(f"the arena is smaller than the {size} bytes it should have")
        return cls(os.dup(fd), up(size, PAGE))

    def export_fd(self):
        """A descriptor for another process; the caller closes it."""
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
        """Release the mapping; tensors made from the arena stay valid."""
        self._closed()
        self._mapping = None
