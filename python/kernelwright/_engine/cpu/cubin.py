"""Reads registers and local memory of a kernel from its cubin, without a device or a tool."""
import struct

REGISTERS, FRAME = 0x2F, 0x11
SIZED = 0x04


def _sections(data):
    if data[:4] != b"\x7fELF" or data[4] != 2:
        return
    table, = struct.unpack_from("<Q", data, 0x28)
    entry, count, names_at = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + at * entry) for at in range(count)]
    names = headers[names_at][4]
    for header in headers:
        end = data.index(b"\0", names + header[0])
        yield data[names + header[0]:end].decode("ascii", "replace"), data[header[4]:header[4] + header[5]]


def usage(data):
    """{registers, local_bytes} of the largest function in a cubin; empty where it cannot be read.

    Local memory is mostly spilled registers; arrays that do not fit in registers count too.
    """
    found = {}
    try:
        for name, body in _sections(data):
            if name == ".nv.info":
                _read(body, found)
    except (struct.error, ValueError, IndexError):
        return {}
    return found


def _read(body, found):
    at = 0
    while at + 4 <= len(body):
        form, attribute, size = struct.unpack_from("<BBH", body, at)
        at += 4
        if form != SIZED:
            continue
        if attribute in (REGISTERS, FRAME) and size >= 8:
            value, = struct.unpack_from("<I", body, at + 4)
            key = "registers" if attribute == REGISTERS else "local_bytes"
            found[key] = max(found.get(key, 0), value)
        at += size
