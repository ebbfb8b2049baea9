"""Moves the heap above 4 GiB, where the addresses of CPU tensors have as many bits as those of a device.

Triton types an argument by its value: an address passed as a number must not fit 32 bits, or it becomes an i32 that no
kernel can convert to a pointer. An executable that is not position-independent, such as Debian's Python, has its heap
right behind itself, near 0. The dynamic loader always lies high; started through it, Python has its heap behind it.
"""
import ctypes
import os
import sys

LOWEST = 1 << 32
_LOADER_BASE = 7  # AT_BASE: 0 where the loader itself was started


def is_high():
    """Whether the heap memory of malloc lies above 4 GiB."""
    sbrk = ctypes.CDLL(None).sbrk
    sbrk.argtypes, sbrk.restype = [ctypes.c_ssize_t], ctypes.c_size_t
    return sbrk(0) >= LOWEST


def _knows_argv0():
    """Whether the loader accepts --argv0, as glibc's does from 2.33 on. An older loader would end this process."""
    name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    return name == "glibc" and tuple(int(part) for part in version.split(".")[:2]) >= (2, 33)


def _loader():
    """The path of the loader that the kernel started for this program; None where there was none."""
    getauxval = ctypes.CDLL(None).getauxval
    getauxval.argtypes, getauxval.restype = [ctypes.c_ulong], ctypes.c_ulong
    base = getauxval(_LOADER_BASE)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            if int(line.partition("-")[0], 16) == base:
                return line.split(maxsplit=5)[5].rstrip("\n")
    return None


def ensure():
    """Where the heap is low, start this Python again with its arguments. Call it before anything else.

    Descriptors and environment stay. Where a restart is impossible the heap stays low.
    """
    if is_high() or not sys.executable or not _knows_argv0():
        return
    try:
        loader = _loader()
        if loader is not None:
            program = os.readlink("/proc/self/exe")
            os.execv(loader, [loader, "--argv0", sys.executable, program, *sys.orig_argv[1:]])
    except OSError as error:
        print(f"the heap stays below 4 GiB: {error}", file=sys.stderr)
