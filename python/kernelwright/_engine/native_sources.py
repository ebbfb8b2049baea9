"""The CUDA C++ that a candidate's process compiles: notes each source with its options, for the compile broker.

NVRTC is reached by ctypes (PyTorch's `_compile_kernel`, and code of the candidate's), by CuPy or by NVIDIA's bindings;
nvcc by PyTorch's extension builder. Each is watched at its narrowest place. The notes are claims: they make nobody's
code the candidate's unless the broker's compilers give equal machine code.
"""
import ctypes
import functools
import importlib.abc
import importlib.util
import itertools
import json
import os
import re
import shlex
import sys
import sysconfig

SOURCES, SOURCE_BYTES, HEADERS = 16, 1 << 20, 64  # of one process; of one source with its headers; of one source
NVRTC, NVCC = "nvrtc", "nvcc"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">\n]+)[">]', re.MULTILINE)
_PACKAGES = tuple(dict.fromkeys(os.path.join(os.path.realpath(sysconfig.get_path(name)), "")
                                for name in ("purelib", "platlib")))
_POINTER, _TEXT = ctypes.c_void_p, ctypes.c_void_p
_NVRTC_CALLS = {
    "nvrtcCreateProgram": ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, _TEXT, _TEXT, ctypes.c_int, _POINTER, _POINTER),
    "nvrtcAddNameExpression": ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, _TEXT),
    "nvrtcCompileProgram": ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, ctypes.c_int, _POINTER),
    "nvrtcGetPTX": ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, _POINTER),
    "nvrtcGetCUBIN": ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, _POINTER),
}


class Sources:
    """The sources that were compiled, the latest last."""

    def __init__(self, compiled=lambda: None):
        self._claims, self._programs, self._compiled = {}, {}, compiled

    def lines(self):
        """The data for the broker, as JSON lines."""
        return b"".join(json.dumps(each).encode() + b"\n" for each in self._claims.values())

    def add(self, kind, source, name, options, headers, expressions=()):
        """Note a source that a compiler was given."""
        self._compiled()
        headers = {**local_headers(source, include_folders(options)), **headers}
        claim = {"native": kind, "source": source, "name": os.path.basename(name), "options": list(options),
                 "headers": headers, "expressions": list(expressions), "library": mapped_nvrtc(), "taken": []}
        key = json.dumps(claim)
        if len(key) <= SOURCE_BYTES:
            self._claims.pop(key, None)
            self._claims[key] = claim
        while len(self._claims) > SOURCES:
            del self._claims[next(iter(self._claims))]
        return claim

    # ---- NVRTC's calls -----------------------------------------------------------------------------

    def created(self, program, source, name, headers):
        """A program of NVRTC's was created."""
        self._programs[program] = {"source": source, "name": name, "headers": headers, "expressions": []}

    def named(self, program, expression):
        """The program was asked for an instance of a template."""
        if program in self._programs:
            self._programs[program]["expressions"].append(expression)

    def compiling(self, program, options):
        """The program is compiled."""
        if program in self._programs:
            facts = self._programs[program]
            facts.pop("claim", None)
            facts["claim"] = self.add(NVRTC, options=options, **facts)

    def taken(self, program, what):
        """The program's PTX or CUBIN was asked for."""
        claim = self._programs.get(program, {}).get("claim")
        if claim is not None and what not in claim["taken"]:
            claim["taken"].append(what)


def watch(sources):
    """From now on `sources` notes what this process compiles."""
    _watch_ctypes(sources)
    sys.meta_path.insert(0, _Wrapped({"cupy_backends.cuda.libs.nvrtc": _watch_cupy,
                                      "cuda.bindings.nvrtc": _watch_bindings}, sources))
    try:
        from torch.utils import cpp_extension
    except ImportError:
        return  # it needs setuptools, without which a candidate cannot build either
    _watch_builder(sources, cpp_extension)


# ---- the ways to NVRTC -----------------------------------------------------------------------------


def _string(address):
    return ctypes.string_at(address).decode("utf-8", "replace") if address else ""


def _strings(address, count):
    return [_string(each) for each in (ctypes.c_void_p * count).from_address(address)] if address and count > 0 else []


def _watch_ctypes(sources):
    """Functions of NVRTC that ctypes looks up are replaced by ones with the same C signature."""
    kept, look_up = {}, ctypes.CDLL.__getitem__

    def note(name, arguments):
        if name == "nvrtcCreateProgram":
            program, source, file, count, headers, names = arguments
            sources.created(ctypes.c_void_p.from_address(program).value, _string(source), _string(file),
                            dict(zip(_strings(names, count), _strings(headers, count))))
        elif name == "nvrtcAddNameExpression":
            sources.named(arguments[0], _string(arguments[1]))
        elif name == "nvrtcCompileProgram":
            sources.compiling(arguments[0], _strings(arguments[2], arguments[1]))
        else:
            sources.taken(arguments[0], name.removeprefix("nvrtcGet"))

    def noting(name, call):
        def noted(*arguments):
            code = call(*arguments)
            if code == 0:
                _quietly(note, name, arguments)
            return code
        return noted

    def found(library, name):
        function = look_up(library, name)
        kind = _NVRTC_CALLS.get(name) if isinstance(name, str) else None
        if kind is None:
            return function
        address = ctypes.cast(function, ctypes.c_void_p).value
        if (name, address) not in kept:
            kept[name, address] = kind(noting(name, kind(address)))
        return library._FuncPtr(ctypes.cast(kept[name, address], ctypes.c_void_p).value)

    ctypes.CDLL.__getitem__ = found


def _after(module, name, note):
    """From now on `note(answer, *arguments)` follows each call of a module's function."""
    call = getattr(module, name)

    @functools.wraps(call)
    def noted(*arguments, **more):
        answer = call(*arguments, **more)
        _quietly(note, answer, *arguments, *more.values())
        return answer

    setattr(module, name, noted)


def _watch_cupy(sources, module):
    _after(module, "createProgram", lambda program, source, name, headers, names:
           sources.created(program, source, name, dict(zip(names, headers))))
    _after(module, "addNameExpression", lambda _, program, expression: sources.named(program, expression))
    _after(module, "compileProgram", lambda _, program, options: sources.compiling(program, list(options)))
    for what in ("PTX", "CUBIN"):
        _after(module, f"get{what}", lambda _, program, what=what: sources.taken(program, what))


def _watch_bindings(sources, module):
    _after(module, "nvrtcCreateProgram", lambda answer, source, name, _, headers, names:
           sources.created(int(answer[1]), _decoded(source), _decoded(name),
                           dict(zip(map(_decoded, names or []), map(_decoded, headers or [])))))
    _after(module, "nvrtcAddNameExpression", lambda _, program, expression: sources.named(int(program), _decoded(expression)))
    _after(module, "nvrtcCompileProgram", lambda _, program, count, options:
           sources.compiling(int(program), [_decoded(each) for each in options or []]))
    for what in ("PTX", "CUBIN"):
        _after(module, f"nvrtcGet{what}", lambda _, program, *rest, what=what: sources.taken(int(program), what))


def _decoded(text):
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text or "")


def _quietly(note, *arguments):
    """A source that cannot be noted is not; the candidate's compilation goes on."""
    try:
        note(*arguments)
    except Exception:
        return


class _Wrapped(importlib.abc.MetaPathFinder):
    """Changes modules right after their import."""

    def __init__(self, changes, sources):
        self._changes, self._sources = changes, sources

    def find_spec(self, name, path, target=None):
        change = self._changes.pop(name, None)
        spec = importlib.util.find_spec(name) if change else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            _quietly(change, self._sources, module)

        spec.loader.exec_module = exec_module
        return spec


# ---- the way to nvcc -------------------------------------------------------------------------------


def _watch_builder(sources, cpp_extension):
    write = getattr(cpp_extension, "_write_ninja_file", None)
    if write is None:
        return

    def written(*args, **kwargs):
        answer = write(*args, **kwargs)
        _quietly(_note_ninja_file, sources, kwargs.get("path", args[0] if args else None))
        return answer

    cpp_extension._write_ninja_file = written


def _note_ninja_file(sources, path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    flags = dict(line.split(" = ", 1) for line in lines if " = " in line and not line.startswith(" "))
    options = [each for name in ("cuda_cflags", "cuda_post_cflags") for each in shlex.split(flags.get(name, ""))]
    for source in itertools.chain.from_iterable(_compiled_by_nvcc(line) for line in lines):
        if not os.path.realpath(source).startswith(_PACKAGES):  # a package's own sources are not the candidate's
            with open(source, encoding="utf-8", errors="replace") as file:
                sources.add(NVCC, file.read(), source, ["-I" + os.path.dirname(source), *options], {})


def _compiled_by_nvcc(line):
    """The sources of a line `build OBJECT: cuda_compile SOURCE...` of a ninja file, where $ escapes a character."""
    _, found, names = line.partition(": cuda_compile ")
    words = re.split(r"(?<!\$) ", names.strip()) if found and line.startswith("build ") else []
    return [re.sub(r"\$(.)", r"\1", word) for word in words if word]


# ---- headers ---------------------------------------------------------------------------------------


def include_folders(options):
    """The folders of the options -I FOLDER and -isystem FOLDER."""
    found, options = [], iter(options)
    for each in options:
        name = next((name for name in ("-isystem", "--include-path", "-I") if each.startswith(name)), None)
        if name:
            found.append(each[len(name):].lstrip("=").strip() or next(options, ""))
    return [each for each in found if each]


def local_headers(source, folders):
    """Name in an include → text of the headers outside the installation that a source includes, in any depth."""
    folders = [each for each in folders if os.path.realpath(each).startswith("/tmp/")]
    found, pending = {}, list(_INCLUDE.findall(source))
    while pending and folders and len(found) < HEADERS:
        name = pending.pop()
        path = next((path for folder in folders if os.path.isfile(path := os.path.join(folder, name))), None)
        if path is None or name in found:
            continue
        with open(path, encoding="utf-8", errors="replace") as file:
            found[name] = file.read(SOURCE_BYTES)
        pending += _INCLUDE.findall(found[name])
    return found


def mapped_nvrtc():
    """The file of the NVRTC that this process has loaded; empty if none."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        words = [line.split(maxsplit=5) for line in file if "libnvrtc.so" in line]
    return next((each[5].strip() for each in words if len(each) == 6), "")
