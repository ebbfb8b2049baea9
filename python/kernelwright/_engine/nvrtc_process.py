"""Compiles one source of CUDA C++ with NVRTC. The program of a process of its own, since NVRTC may crash."""
import ctypes
import glob
import json
import os
import sys

BROKEN = "broken: "  # begins the words where NVRTC itself failed, and not the source
_OF_THE_SOURCE = (5, 6, 9)  # an invalid option, a compilation error, expressions after a compilation


def main(library, cubin, source, options, expressions):
    """Write the cubin of the file `source`; `options` and `expressions` are JSON."""
    # NVRTC opens it by its name alone, which finds a file only where it is loaded or on the search path.
    held = [ctypes.CDLL(path) for path in glob.glob(os.path.join(os.path.dirname(library), "libnvrtc-builtins.so.*"))]
    rtc = ctypes.CDLL(library)
    program, given = ctypes.c_void_p(), [each.encode() for each in json.loads(options)]
    with open(source, "rb") as file:
        text = file.read()
    if rtc.nvrtcCreateProgram(ctypes.byref(program), text, os.path.basename(source).encode(), 0, None, None):
        sys.exit(f"{BROKEN}NVRTC makes no program")
    for each in json.loads(expressions):
        rtc.nvrtcAddNameExpression(program, each.encode())
    code = rtc.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
    if code:
        sys.exit(f"{'' if code in _OF_THE_SOURCE else BROKEN}error {code} of NVRTC: {log_of(rtc, program)}")
    image = read(rtc, program, "CUBIN")
    if not image:
        sys.exit(f"{BROKEN}NVRTC gives no machine code, with {len(held)} files of its builtins")
    with open(cubin, "wb") as file:
        file.write(image)


def read(rtc, program, what):
    """The bytes that nvrtcGet`what` gives."""
    size = ctypes.c_size_t()
    if getattr(rtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) or not size.value:
        return b""
    found = ctypes.create_string_buffer(size.value)
    getattr(rtc, f"nvrtcGet{what}")(program, found)
    return found.raw


def log_of(rtc, program):
    """The compiler's first error."""
    lines = read(rtc, program, "ProgramLog").rstrip(b"\0").decode(errors="replace").splitlines()
    return next((each for each in lines if "error" in each), lines[0] if lines else "no word")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as exc:
        sys.exit(f"{BROKEN}{type(exc).__name__}: {exc}")
