"""The sandbox of native/sandbox, for the fork server. See native/sandbox/sandbox.h for what each field means."""

import ctypes
import os
from dataclasses import dataclass, field
from pathlib import Path

from .installed import find_library, library_folders

VERSION = 2
LIBRARY = "libkwsandbox.so"

# Bit n of a mask of layers.
LAYERS = (
    "user_ns", "mount_ns", "pid_ns", "net_ns", "ipc_ns", "uts_ns", "root", "uid", "no_new_privs", "landlock",
    "rlimits", "cgroup_memory", "cgroup_pids", "seccomp",
)


class _Policy(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32),
        ("uid", ctypes.c_uint32),
        ("address_space_bytes", ctypes.c_uint64),
        ("memory_bytes", ctypes.c_uint64),
        ("tmp_bytes", ctypes.c_uint64),
        ("file_bytes", ctypes.c_uint64),
        ("processes", ctypes.c_uint32),
        ("open_files", ctypes.c_uint32),
        ("cpu_s", ctypes.c_uint32),
        ("gpu", ctypes.c_uint32),
        ("readable", ctypes.POINTER(ctypes.c_char_p)),
        ("cgroup_name", ctypes.c_char_p),
        ("require", ctypes.c_uint32),
        ("gpu_node", ctypes.c_uint32),
        ("tools", ctypes.c_uint32),
        ("padding", ctypes.c_uint32),
    ]


class _ProbeResult(ctypes.Structure):
    _fields_ = [
        ("granted", ctypes.c_uint32),
        ("skipped", ctypes.c_uint32),
        ("errors", ctypes.c_int32 * 16),
        ("error", ctypes.c_int32),
        ("spawn_us", ctypes.c_uint32),
        ("step", ctypes.c_char * 64),
    ]


@dataclass
class Policy:
    uid: int = 65534
    address_space_bytes: int = 0
    memory_bytes: int = 0
    tmp_bytes: int = 0
    file_bytes: int = 0
    processes: int = 0
    open_files: int = 0
    cpu_s: int = 0
    gpu: bool = False
    gpu_node: int | None = None  # the number of the only visible node; None: all
    readable: list[str] = field(default_factory=list)
    cgroup_name: str | None = None
    require: int = 0

    def to_struct(self) -> _Policy:
        paths = [os.fsencode(path) for path in self.readable]
        return _Policy(
            version=VERSION,
            uid=self.uid,
            address_space_bytes=self.address_space_bytes,
            memory_bytes=self.memory_bytes,
            tmp_bytes=self.tmp_bytes,
            file_bytes=self.file_bytes,
            processes=self.processes,
            open_files=self.open_files,
            cpu_s=self.cpu_s,
            gpu=int(self.gpu),
            gpu_node=0 if self.gpu_node is None else self.gpu_node + 1,
            readable=(ctypes.c_char_p * (len(paths) + 1))(*paths, None),
            cgroup_name=None if self.cgroup_name is None else self.cgroup_name.encode(),
            require=self.require,
        )


def _find() -> Path:
    if library := find_library(LIBRARY):
        return library
    raise ImportError(f"{LIBRARY} is in none of: " + ", ".join(map(str, library_folders())))


# PyDLL keeps the GIL: the thread that returns from kw_confine() must hold it.
_library = ctypes.PyDLL(str(_find()))
_library.kw_confine.argtypes = [ctypes.POINTER(_Policy), ctypes.c_int]
_library.kw_close_others.argtypes = [ctypes.POINTER(ctypes.c_int), ctypes.c_size_t]
_library.kw_probe.argtypes = [ctypes.POINTER(_ProbeResult)]


def layer_names(mask: int) -> list[str]:
    return [name for bit, name in enumerate(LAYERS) if mask >> bit & 1]


def probe() -> dict:
    """The layers that this host grants. A fork server calls it once before it forks, so that its children know them."""
    result = _ProbeResult()
    if error := _library.kw_probe(ctypes.byref(result)):
        raise OSError(error, os.strerror(error), "kw_probe")
    refused = {name: os.strerror(code) for name, code in zip(LAYERS, result.errors) if code}
    return {
        "granted": layer_names(result.granted),
        "refused": refused,
        "error": os.strerror(result.error) if result.error else None,
        "step": result.step.decode() or None,
        "spawn_ms": result.spawn_us / 1000,
    }


def confine(policy: Policy, status_fd: int) -> None:
    """In a forked child: returns in the runner, which is its grandchild, or in no process at all."""
    _library.kw_confine(ctypes.byref(policy.to_struct()), status_fd)


def close_others(keep: list[int]) -> None:
    """Close every descriptor except 0, 1, 2 and these."""
    if error := _library.kw_close_others((ctypes.c_int * len(keep))(*keep), len(keep)):
        raise OSError(error, os.strerror(error), "kw_close_others")
