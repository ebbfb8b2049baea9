"""The recorder of native/recorder: PyTorch's allocator in this process, and the recording of a call's device work.

recorder.h says what each function does. `install` comes before the first CUDA call of the process.
"""

import ctypes
import os
import sys

_HOOKS = {
    "set_record_stream_fn": "kwrec_record_stream",
    "set_begin_allocate_to_pool": "kwrec_begin_pool",
    "set_end_allocate_to_pool_fn": "kwrec_end_pool",
    "set_release_pool": "kwrec_release_pool",
    "set_base_alloc_fn": "kwrec_base_alloc",
    "set_reset_fn": "kwrec_reset",
}


class _Call(ctypes.Structure):
    _fields_ = [
        ("arena_address", ctypes.c_uint64),
        ("arena_bytes", ctypes.c_uint64),
        ("stream", ctypes.c_void_p),
        ("torch", ctypes.c_char_p),
        ("triton", ctypes.c_char_p),
    ]


class _Memory(ctypes.Structure):
    _fields_ = [
        ("allocated_bytes", ctypes.c_uint64),
        ("peak_bytes", ctypes.c_uint64),
        ("reserved_bytes", ctypes.c_uint64),
        ("allocations", ctypes.c_uint64),
    ]


def load(path) -> ctypes.CDLL:
    """The library with its functions declared; calls none of them."""
    library = ctypes.CDLL(str(path))
    library.kwrec_error.restype = ctypes.c_char_p
    library.kwrec_begin.argtypes = [ctypes.POINTER(_Call)]
    library.kwrec_export_state.argtypes = [ctypes.POINTER(ctypes.c_uint64)]
    library.kwrec_memory_use.argtypes = [ctypes.POINTER(_Memory)]
    library.kwrec_memory_use.restype = library.kwrec_reset_peak.restype = library.kwrec_drop.restype = None
    library.kwrec_mark.restype = None
    return library


class Recorder:
    """One process's recorder. A call that fails raises RuntimeError with the recorder's own message."""

    def __init__(self, library):
        self._library = library
        self._allocator = None

    def error(self) -> str:
        return self._library.kwrec_error().decode(errors="replace")

    def _must(self, result: int) -> int:
        if result < 0:
            raise RuntimeError(f"the recorder: {self.error()}")
        return result

    def check(self) -> None:
        """Raises unless CUPTI calls the recorder. Call it once a context exists."""
        if (state := self._library.kwrec_state()) != 1:
            raise RuntimeError(f"the recorder: {self.error() if state < 0 else 'CUPTI does not call it'}")

    def begin(self, address: int, size: int, stream: int) -> None:
        """Begin a recording while the device is idle, with the call's arena and the handle of its caller's stream."""
        torch, triton = (getattr(sys.modules.get(name), "__version__", "") for name in ("torch", "triton"))
        call = _Call(address, size, stream or None, str(torch).encode(), str(triton).encode())
        self._must(self._library.kwrec_begin(ctypes.byref(call)))

    def end(self) -> None:
        self._must(self._library.kwrec_end())

    def mark(self) -> None:
        """Mark the end of the forward and the begin of the backward pass in a running recording."""
        self._library.kwrec_mark()

    def write(self) -> int:
        """Write the recording into a sealed memory file, which the caller closes."""
        return self._must(self._library.kwrec_write())

    def state(self) -> tuple[int | None, int]:
        """The exported memory of the state, which the caller closes, and its size in bytes; None where there is none."""
        size = ctypes.c_uint64()
        fd = self._library.kwrec_export_state(ctypes.byref(size))
        if size.value == 0:
            return None, 0
        return self._must(fd), size.value

    def drop(self) -> None:
        self._library.kwrec_drop()

    def memory(self) -> dict[str, int]:
        use = _Memory()
        self._library.kwrec_memory_use(ctypes.byref(use))
        return {name: getattr(use, name) for name, _ in _Memory._fields_}

    def reset_peak(self) -> None:
        self._library.kwrec_reset_peak()


def install(path) -> Recorder:
    """Makes the recorder PyTorch's allocator, and makes the driver load it. Raises RuntimeError on failure."""
    import torch

    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise RuntimeError(f"nothing to record: no CUDA driver ({error})") from error
    if torch.cuda.is_initialized():
        raise RuntimeError("the recorder comes too late: CUDA is in use already")
    os.environ["CUDA_INJECTION64_PATH"] = str(path)
    recorder = Recorder(load(path))
    allocator = torch.cuda.memory.CUDAPluggableAllocator(str(path), "kwrec_malloc", "kwrec_free")
    _set_hooks(recorder._library, allocator.allocator())
    torch.cuda.memory.change_current_allocator(allocator)
    recorder._allocator = allocator
    _answer_statistics(recorder)
    return recorder


def _set_hooks(library, allocator) -> None:
    for setter, name in _HOOKS.items():
        getattr(allocator, setter)(ctypes.cast(getattr(library, name), ctypes.c_void_p).value)


def _statistics(recorder) -> dict:
    """The values for torch.cuda.memory_stats() and memory_summary(), in the nested form of PyTorch's own allocator."""
    use = recorder.memory()

    def values(current=0, peak=0, allocated=0):
        one = {"current": current, "peak": peak, "allocated": allocated, "freed": max(allocated - current, 0)}
        none = dict.fromkeys(one, 0)
        return {"all": one, "small_pool": none, "large_pool": dict(one)}

    blocks = values(use["allocated_bytes"], use["peak_bytes"], use["allocated_bytes"])
    reserved = values(use["reserved_bytes"], use["reserved_bytes"], use["reserved_bytes"])
    counts = values(0, 0, use["allocations"])
    return {
        "num_alloc_retries": 0,
        "num_ooms": 0,
        "num_sync_all_streams": 0,
        "num_device_alloc": 0,
        "num_device_free": 0,
        "max_split_size": -1,
        "allocated_bytes": blocks,
        "active_bytes": blocks,
        "requested_bytes": blocks,
        "reserved_bytes": reserved,
        "inactive_split_bytes": values(),
        "allocation": counts,
        "active": counts,
        "segment": values(1, 1, 1),
        "inactive_split": values(),
        "oversize_allocations": {"current": 0, "peak": 0, "allocated": 0, "freed": 0},
        "oversize_segments": {"current": 0, "peak": 0, "allocated": 0, "freed": 0},
    }


def _answer_statistics(recorder) -> None:
    """PyTorch raises where a pluggable allocator is asked for statistics, and honest candidates print them."""
    from torch import _C

    _C._cuda_memoryStats = lambda device: _statistics(recorder)
    _C._cuda_resetPeakMemoryStats = lambda device: recorder.reset_peak()
    _C._cuda_resetAccumulatedMemoryStats = lambda device: None
    _C._cuda_emptyCache = lambda: None
    _C._cuda_memorySnapshot = lambda *arguments: {
        "segments": [], "device_traces": [], "allocator_settings": {}, "external_annotations": []
    }
    _C._cuda_getMemoryFraction = lambda device: 1.0
    _C._cuda_setMemoryFraction = lambda fraction, device: None
