"""Driver calls for shared device memory, by ctypes; each failure carries the driver's name for it."""
import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_ubyte, c_uint64, c_ulonglong, c_ushort, c_void_p

PINNED, POSIX_FD, DEVICE, READ_WRITE = 1, 1, 1, 3
_RECOMMENDED = 1
WANTED_RESERVED = 1 << 36  # drivers honour the hint for large ranges only


class CudaError(RuntimeError):
    """A driver call that failed."""

    def __init__(self, call, code, name):
        self.code = code
        super().__init__(f"{call}: {name}")


class AddressTaken(RuntimeError):
    """The driver did not give the addresses that were asked for."""


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
    "cuMemcpyDtoH_v2": [c_void_p, c_uint64, c_size_t],
    "cuMemcpyHtoD_v2": [c_uint64, c_void_p, c_size_t],
    "cuGetErrorName": [c_int, POINTER(c_char_p)],
}
_loaded = []


def _library():
    # Loaded at the first call, so that this module can be imported on a machine without a driver.
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
    """A handle of memory that another process exported; the caller keeps the descriptor."""
    handle = c_uint64()
    call("cuMemImportFromShareableHandle", byref(handle), c_void_p(fd), POSIX_FD)
    return handle.value


def map_handle(handle, size, device, wanted=0, behind=0):
    """Map the memory at newly reserved addresses, readable and writable by `device`; returns the address.

    Where `wanted` is not 0, any other address is useless, and AddressTaken is raised. The `behind` bytes after the memory
    stay unmapped.
    """
    address, reserved = c_uint64(), reserved_bytes(size, wanted, behind)
    call("cuMemAddressReserve", byref(address), reserved, 0, wanted, 0)
    if wanted and address.value != wanted:
        call("cuMemAddressFree", address.value, reserved)
        raise AddressTaken(f"the addresses from {wanted:#x} on are taken")
    try:
        call("cuMemMap", address.value, size, 0, handle, 0)
    except CudaError:
        call("cuMemAddressFree", address.value, reserved)
        raise
    access = _Access(_Location(DEVICE, device), READ_WRITE)
    call("cuMemSetAccess", address.value, size, byref(access), 1)
    return address.value


def read(address, size):
    """Bytes of device memory."""
    found = ctypes.create_string_buffer(size)
    call("cuMemcpyDtoH_v2", found, address, size)
    return found.raw


def write(address, data):
    """Write bytes into device memory."""
    call("cuMemcpyHtoD_v2", address, data, len(data))


def release(handle):
    """Release a handle that was not mapped."""
    call("cuMemRelease", handle)


def reserved_bytes(size, wanted, behind=0):
    """How many addresses map_handle() reserves."""
    return max(size + behind, WANTED_RESERVED) if wanted else size + behind


def unmap(address, size, handle, reserved):
    """Undo map_handle() and release the handle. Errors are ignored: a broken context has freed it already."""
    for name, arguments in (("cuCtxSynchronize", ()), ("cuMemUnmap", (address, size)),
                            ("cuMemAddressFree", (address, reserved)), ("cuMemRelease", (handle,))):
        try:
            call(name, *arguments)
        except CudaError:
            continue
