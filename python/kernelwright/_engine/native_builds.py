"""Builds CUDA C++ again, for the compile broker: text goes in, cubins come out.

The compilers are those of the installation, found by this process. Sources, headers and options are a candidate's
claims. Only options that change the generated code in a known way are taken over; none names a file outside the
installation, and all else is left out. Each compiler runs in a process of its own, which may crash or be killed.
"""
import contextlib
import functools
import glob
import json
import os
import re
import shutil
import signal
import site
import subprocess
import sys
import sysconfig
import tempfile
import time
from typing import NamedTuple

from .native_sources import NVCC, NVRTC, SOURCE_BYTES, SOURCES
from .nvrtc_process import BROKEN

CUBIN_BYTES = 64 << 20  # of one candidate's sources together
WORDS, WAIT_S = 300, 0.01
FAILED_BUILD = 1  # the exit code of a compiler that refused the source; any other failure is no fault of the source
_FOLDERS = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+")  # of this machine, in what a compiler says
_NAME = re.compile(r"(?!.*(?:^|/)\.\.(?:/|$))[\w.+-][\w./+-]{0,199}", re.ASCII)
_ARCH = re.compile(r"(?:sm|compute|lto)_(\d{2,3})([af]?)")
# nvcc starts its steps through a shell, so a macro for it has no character that means anything there.
_MACRO = {NVRTC: r"[^\0\n]{1,500}", NVCC: r"[A-Za-z_]\w*(=[\w.,:+-]{0,500})?"}
_ASSEMBLED = "the driver assembled the code from PTX, and the broker has no such assembler"
_PACKAGED = "cupy/carray.cuh"  # CuPy puts it before the code that it generates itself
_NVRTC_PROCESS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nvrtc_process.py")

# Option → the form that both compilers accept. Those with a value end in "=".
_FLAGS = {"use_fast_math", "restrict", "extra-device-vectorization", "generate-line-info", "device-debug",
          "expt-relaxed-constexpr", "expt-extended-lambda", "extended-lambda", "device-as-default-execution-space",
          "device-int128", "no-exceptions", "disable-warnings", "dopt", "builtin-move-forward"}
_VALUES = {"ftz", "prec-div", "prec-sqrt", "fmad", "maxrregcount", "std", "define-macro", "undefine-macro",
           "ptxas-options", "default-stream", "dopt", "builtin-move-forward", "builtin-initializer-list", "optimize",
           "device-float128", "jump-table-density", "ofast-compile"}
_ALIASES = {"lineinfo": "generate-line-info", "G": "device-debug", "D": "define-macro", "U": "undefine-macro",
            "Xptxas": "ptxas-options", "default-device": "device-as-default-execution-space", "w": "disable-warnings",
            "O": "optimize", "I": "include-path", "isystem": "include-path", "arch": "gpu-architecture",
            "gencode": "generate-code", "rdc": "relocatable-device-code", "dc": "device-c", "Xcompiler": "compiler-options",
            "Xcudafe": "compiler-options", "diag_suppress": "diag-suppress",
            "Wno-deprecated-gpu-targets": "quiet", "t": "threads"}
# Options without effect on the code of a kernel: they pass without a word.
_IGNORED = {"compiler-options", "quiet", "threads", "pch", "c", "ccbin", "compiler-bindir", "MD", "MF", "diag-suppress",
            "display-error-number", "split-compile", "time", "no-display-error-number", "minimal", "no-source-include"}
_WITH_VALUE = {*_VALUES, "include-path", "gpu-architecture", "generate-code", "relocatable-device-code",
               "compiler-options", "threads", "ccbin", "compiler-bindir", "code", "MF", "diag-suppress", "split-compile",
               "time"} - {"dopt"}
_JOINED = ("isystem", "D", "U", "I", "O")  # whose value may follow without a space
_OF_NVCC_ONLY = {"expt-relaxed-constexpr", "expt-extended-lambda", "optimize", "default-stream", "disable-warnings"}
_OF_NVRTC_ONLY = {"device-as-default-execution-space", "device-int128", "no-exceptions", "dopt", "builtin-move-forward",
                  "builtin-initializer-list", "device-float128", "jump-table-density", "ofast-compile"}
_ASSEMBLER = re.compile(
    r"-{0,2}(O[0-4]|v|verbose|warn-[\w-]+|(dlcm|dscm|fmad|opt-level|maxrregcount|allow-expensive-optimizations"
    r"|register-usage-level|def-load-cache|def-store-cache|suppress-[\w-]+)=[\w-]+)")


class Build(NamedTuple):
    """The end of one build: a cubin, or a reason."""

    cubin: bytes = b""
    wrong: str = ""  # the source's: it has no cubin, or an option was left out
    not_built: str = ""  # no fault of the source


class NotBuilt(Exception):
    """The broker cannot build this; it says nothing about the source."""


class Refused(Exception):
    """The source or its claim is not one that can be built."""


def is_native(line):
    """Whether a line of the broker's data is a source of CUDA C++."""
    return line.startswith(b'{"native":')


def builds(lines, capability, until):
    """The Build of each source that is not a package's own."""
    room = CUBIN_BYTES
    for line in lines[:SOURCES]:
        try:
            claim = _checked(json.loads(line))
            if _PACKAGED in claim["source"]:
                continue
            found = _built(claim, capability, until)
            if (room := room - len(found.cubin)) < 0:
                raise NotBuilt(f"the cubins have more than {CUBIN_BYTES} bytes")
        except NotBuilt as exc:
            found = Build(not_built=_short(exc))
        except Refused as exc:
            found = Build(wrong=_short(exc))
        except Exception as exc:
            found = Build(wrong=_short(f"{type(exc).__name__}: {exc}"))
        yield found


def _short(text):
    return str(text).strip()[:WORDS]


def _checked(claim):
    if claim["native"] not in (NVRTC, NVCC) or not isinstance(claim["source"], str):
        raise Refused("a source of no known compiler")
    if not all(isinstance(each, str) for each in (*claim["options"], *claim["expressions"], claim["name"], claim["library"])):
        raise Refused("an option that is no text")
    if sum(map(len, claim["headers"].values())) + len(claim["source"]) > SOURCE_BYTES:
        raise Refused(f"a source of more than {SOURCE_BYTES} bytes")
    return claim


def _built(claim, capability, until):
    chosen = options_of(claim["options"], claim["native"], capability)
    if chosen.not_built:
        raise NotBuilt(chosen.not_built)
    if claim.get("taken") == ["PTX"]:
        raise NotBuilt(_ASSEMBLED)
    with tempfile.TemporaryDirectory() as folder:
        source = _laid_out(claim, folder)
        cubin = os.path.join(folder, "out.cubin")
        own = [f"-I{os.path.dirname(source)}"]
        if claim["native"] == NVCC:
            command = [_nvcc(), "-cubin", *chosen.options, *own, f"-arch={chosen.arch}", "-o", cubin, source]
        else:
            command = [sys.executable, "-I", "-S", _NVRTC_PROCESS, _nvrtc(claim["library"]), cubin, source,
                       json.dumps([*chosen.options, *own, f"-arch={chosen.arch}"]), json.dumps(claim["expressions"])]
        _run(command, folder, until)
        with open(cubin, "rb") as file:
            return Build(cubin=file.read(CUBIN_BYTES + 1), wrong=chosen.left_out, not_built=chosen.not_passed)


def _laid_out(claim, folder):
    """Write the source and its headers; returns the source's path."""
    at = os.path.join(folder, "source")
    name = claim["name"] if _NAME.fullmatch(claim["name"]) and "/" not in claim["name"] else "source"
    name = name if name.endswith((".cu", ".cpp")) else name + ".cu"
    for path, text in (*claim["headers"].items(), (name, claim["source"])):
        if not _NAME.fullmatch(path):
            continue  # its include fails, or finds the installation's
        full = os.path.join(at, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
    return os.path.join(at, name)


def _run(command, folder, until):
    """Run a compiler; raises what its end means."""
    said = os.path.join(folder, "said")
    with open(said, "wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=folder,
                                   start_new_session=True, env={**os.environ, "TMPDIR": folder})
        try:
            code = process.wait(max(until - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise NotBuilt("the time limit of the broker ended the compiler") from None
    if code == 0:
        return
    words = _first_error(said)
    if code < 0 or code > 128 or "died due to signal" in words:
        raise NotBuilt(f"the compiler ended by signal {-code if code < 0 else code}: {words}")
    if words.startswith(("nvcc fatal", "sh: ", "/bin/sh: ", BROKEN)):  # nvcc gets no wrong option
        raise NotBuilt(f"the compiler does not work here: {words.removeprefix(BROKEN)}")
    if any(each in words for each in ("No such file", "cannot open source file", "could not open source file")):
        raise NotBuilt(f"the broker lacks a header: {words}")  # the runner hands over those that it finds itself
    if code == FAILED_BUILD or "error" in words:
        raise Refused(f"the compiler refuses the source: {words}")
    raise NotBuilt(f"the compiler ended with code {code}: {words}")


def _first_error(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file.read(1 << 20).splitlines() if line.strip()]
    telling = ("error", "died due to", "nvcc fatal", BROKEN)
    first = next((line for line in lines if any(each in line for each in telling)), lines[-1] if lines else "no word")
    return _FOLDERS.sub("", first)


# ---- options ---------------------------------------------------------------------------------------


class Options(NamedTuple):
    """What is taken over of a claim's options."""

    options: list
    arch: str
    left_out: str
    not_built: str
    not_passed: str  # macros that the build lacks for the broker's own safety


def options_of(given, kind, capability):
    """The Options of this claim."""
    taken, left_out, not_passed, arches, not_built = [], [], [], [], ""
    words = iter(given)
    for word in words:
        name, value = _split(word, words)
        if name == "gpu-architecture":
            arches.append(value)
        elif name == "code":
            arches.append(value)
        elif name == "generate-code":
            arches += re.findall(r"code=\[?([\w,]+)", value)
        elif name in ("relocatable-device-code", "device-c"):
            if value != "false":
                not_built = "the broker links no relocatable device code"
        elif name == "include-path":
            if (folder := installed_folder(value)) is not None:
                taken.append(f"-I{folder}")
        elif name == "define-macro" and value and kind == NVCC and not _is_allowed(name, value, kind):
            not_passed.append(word)
        elif _is_allowed(name, value, kind):
            taken.append(f"--{name}" if value is None else f"--{name}={value}")
        elif name not in _IGNORED and not (name == "extended-lambda" or name in _OF_NVCC_ONLY | _OF_NVRTC_ONLY):
            left_out.append(word)
    arch, only_ptx = _arch(arches, capability)
    if only_ptx and not not_built:
        not_built = _ASSEMBLED
    words = f"without its options {' '.join(left_out)}" if left_out else ""
    macros = f"the broker passes no such macro to nvcc: {' '.join(not_passed)}" if not_passed else ""
    return Options(taken, arch, _short(words), not_built, _short(macros))


def _split(word, words):
    """(name, value) of an option; the value may be the next word."""
    bare = word.strip().lstrip("-")
    if not word.strip().startswith("-"):
        return "", word
    joined = next((each for each in _JOINED if bare.startswith(each) and not word.strip().startswith("--")), None)
    name, equals, value = bare.partition("=")
    if joined and _ALIASES.get(name, name) not in _WITH_VALUE | _FLAGS | _IGNORED:
        name, equals, value = joined, "=", bare[len(joined):].lstrip("=").strip()
    name = _ALIASES.get(name, name)
    if not equals and " " in name:
        name, _, value = name.partition(" ")
        name, equals, value = _ALIASES.get(name, name), "=", value.strip()
    if equals:
        return name, value
    return name, (next(words, "") if name in _WITH_VALUE else None)


def _is_allowed(name, value, kind):
    other = _OF_NVCC_ONLY if kind == NVRTC else _OF_NVRTC_ONLY
    if name in other:
        return False
    if name == "ptxas-options":
        return all(_ASSEMBLER.fullmatch(each) for each in re.split(r"[ ,]+", value.strip()))
    if name in _FLAGS and value is None:
        return True
    form = _MACRO[kind] if name == "define-macro" else r"c\+\+\w{2}" if name == "std" else r"[\w-]{1,100}"
    return name in _VALUES and value is not None and re.fullmatch(form, value) is not None


def installed_folder(path):
    """The folder, where it is one of the installation; None for all others."""
    real = os.path.realpath(path)
    return real if os.path.isdir(real) and real.startswith(_installation()) else None


@functools.cache
def _installation():
    paths = sysconfig.get_paths()
    found = [*(paths[each] for each in ("stdlib", "purelib", "platlib", "include")), sys.prefix, sys.base_prefix,
             *site.getsitepackages(), "/usr", "/opt", *filter(None, map(os.environ.get, ("CUDA_HOME", "CUDA_PATH")))]
    return tuple(dict.fromkeys(os.path.join(os.path.realpath(each), "") for each in found))


def _arch(claimed, capability):
    """(the architecture to build for, whether the claim has no machine code for this device)."""
    parts = [each for text in claimed for each in text.split(",")]
    if parts and all(each.startswith(("compute_", "lto_")) for each in parts):
        return f"sm_{capability}", True
    fitting = []
    for each in parts:
        match = _ARCH.fullmatch(each)
        if match and each.startswith("sm_") and _runs(int(match[1]), match[2], capability):
            fitting.append((int(match[1]), match[2]))
    return ("sm_{}{}".format(*max(fitting)) if fitting else f"sm_{capability}"), False


def _runs(number, suffix, capability):
    return number // 10 == capability // 10 and (number == capability if suffix == "a" else number <= capability)


# ---- compilers -------------------------------------------------------------------------------------


def _packages():
    return list(dict.fromkeys([*site.getsitepackages(), *(sysconfig.get_path(each) for each in ("purelib", "platlib"))]))


def _toolkits():
    found = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    if path := shutil.which("nvcc"):
        found.append(os.path.dirname(os.path.dirname(os.path.realpath(path))))
    return [each for each in [*found, "/usr/local/cuda"] if each]


def nvrtc_libraries():
    """The files of NVRTC in this installation, PyTorch's first."""
    patterns = [*(os.path.join(each, "nvidia", "*", "lib", "libnvrtc.so.[0-9]*") for each in _packages()),
                *(os.path.join(each, "torch", "lib", "libnvrtc*.so*") for each in _packages()),
                *(os.path.join(each, folder, "libnvrtc.so.[0-9]*") for each in _toolkits()
                  for folder in ("lib64", "targets/x86_64-linux/lib")), "/usr/lib/x86_64-linux-gnu/libnvrtc.so.[0-9]*"]
    found = [os.path.realpath(path) for pattern in patterns for path in sorted(glob.glob(pattern))
             if "builtins" not in path and ".alt." not in path]
    return list(dict.fromkeys(found))


def _nvrtc(claimed):
    found = nvrtc_libraries()
    if not found:
        raise NotBuilt("the installation has no NVRTC")
    return next((path for path in found if path == os.path.realpath(claimed)), found[0])


def _nvcc():
    places = [*_toolkits(), *(path for each in _packages() for path in sorted(glob.glob(os.path.join(each, "nvidia", "*"))))]
    found = next((path for each in places if os.access(path := os.path.join(each, "bin", "nvcc"), os.X_OK)), None)
    if found is None:
        raise NotBuilt("the installation has no nvcc")
    return found
