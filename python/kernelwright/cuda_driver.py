"""The few driver calls behind shared device memory, by ctypes; each failure carries the driver's name for it."""
import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_ubyte, c_uint64, c_ulonglong, c_ushort, c_void_p

PINNED, POSIX_FD, DEVICE, READ_WRITE = 1, 1, 1, 3
_RECOMMENDED = 1


class CudaError(RuntimeError):
    """A driver call that failed."""

    def __init__(self, call, code, name):
        self.code = code
        super().__init__(f"{call}: {name}")


class _Location(ctypes.Structure):
    _fields_ = [("type", c_int), ("id", c_int)]


class _Flags(ctypes.Structure):
    _fields_ = [("compression", c_ubyte), ("rdma", c_ubyte), ("usage", c_ushort), ("reserved", c_ubyte * 4)]


class _Properties(ctypes.Structure):
    _fields_ = [("type", c_int), ("handle_types", c_int), ("location", _Location), ("windows", c_void_p),
                ("flags", _Flags)]


class _Access(ctypes.Structure):
    _fields_ = [("location", _Location), ("flags", c_int)]


_ARGUMENTS = {
    "cuInit": [ctypes.c_uint],
    "cuCtxSynchronize": [],
    "cuMemGetAllocationGranularity": [POINTER(c_size_t), POINTER(_Properties), c_int],
    "cuMemCreate": [POINTER(c_uint64), c_size_t, POINTER(_Properties), c_ulonglong],
    "cuMemRelease": [c_uint64],
    "cuMemAddressReserve": [POINTER(c_uint64), c_size_t, c_size_t, c_uint64, c_ulonglong],
    "cuMemAddressFree": [c_uint64, c_size_t],
    "cuMemMap": [c_uint64, c_size_t, c_size_t, c_uint64, c_ulonglong],
    "cuMemUnmap": [c_uint64, c_size_t],
    "cuMemSetAccess": [c_uint64, c_size_t, POINTER(_Access), c_size_t],
    "cuMemExportToShareableHandle": [c_void_p, c_uint64, c_int, c_ulonglong],
    "cuMemImportFromShareableHandle": [POINTER(c_uint64), c_void_p, c_int],
    "cuGetErrorName": [c_int, POINTER(c_char_p)],
}
_loaded = []


def _library():
    # Loaded at the first call, so that a machine without a driver can import this.
    if not _loaded:
        library = ctypes.CDLL("libcuda.so.1")
        for name, arguments in _ARGUMENTS.items():
            getattr(library, name).argtypes = arguments
        _loaded.append(library)
        call("cuInit", 0)
    return _loaded[0]


def call(name, *arguments):
    """One driver call; raises CudaError unless it succeeds."""
    library = _library()
    code = getattr(library, name)(*arguments)
    if code:
        found = c_char_p()
        library.cuGetErrorName(code, byref(found))
        raise CudaError(name, code, (found.value or b"unknown error").decode())


def _properties(device):
    return _Properties(type=PINNED, handle_types=POSIX_FD, location=_Location(DEVICE, device))


def granularity(device):
    """The unit in which device memory is created and mapped."""
    size, properties = c_size_t(), _properties(device)
    call("cuMemGetAllocationGranularity", byref(size), byref(properties), _RECOMMENDED)
    return size.value


def create(size, device):
    """A handle of new memory that can be exported; `size` is a multiple of the granularity."""
    handle, properties = c_uint64(), _properties(device)
    call("cuMemCreate", byref(handle), size, byref(properties), 0)
    return handle.value


def export_fd(handle):
    """A descriptor by which another process can import the memory."""
    fd = c_int(-1)
    call("cuMemExportToShareableHandle", byref(fd), handle, POSIX_FD, 0)
    return fd.value


def import_fd(fd):
    """A handle of memory that another process exported; the descriptor stays the caller's."""
    handle = c_uint64()
    call("cuMemImportFromShareableHandle", byref(handle), c_void_p(fd), POSIX_FD)
    return handle.value


def map_handle(handle, size, device):
    """Map the memory at newly reserved addresses, readable and writable by `device`; the address."""
    address = c_uint64()
    call("cuMemAddressReserve", byref(address), size, 0, 0, 0)
    try:
        call("cuMemMap", address.value, size, 0, handle, 0)
    except CudaError:
        call("cuMemAddressFree", address.value, size)
        raise
    access = _Access(_Location(DEVICE, device), READ_WRITE)
    call("cuMemSetAccess", address.value, size, byref(access), 1)
    return address.value


def unmap(address, size, handle):
    """Undo map_handle() and let the handle go; silent, since a broken context has taken it all along."""
    for name, arguments in (("cuCtxSynchronize", ()), ("cuMemUnmap", (address, size)),
                            ("cuMemAddressFree", (address, size)), ("cuMemRelease", (handle,))):
        try:
            call(name, *arguments)
        except CudaError:
            continue
