"""The sources that a process compiles are noted with their options, whichever way they take to the compiler."""
import ctypes
import json
import sys
import types
from types import SimpleNamespace

import pytest
from kernelwright._engine import native_sources
from kernelwright._engine.native_sources import Sources, include_folders, local_headers

CREATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int,
                          ctypes.c_void_p, ctypes.c_void_p)
COMPILE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


@pytest.fixture(name="sources")
def _sources(monkeypatch):
    monkeypatch.setattr(native_sources, "mapped_nvrtc", lambda: "")
    return Sources()


def claims(sources):
    return [json.loads(each) for each in sources.lines().splitlines()]


class FakeNvrtc(ctypes.CDLL):
    """A library whose functions are Python's, found as those of a file are."""

    def __init__(self):
        super().__init__(None)
        self.code = 0

        def create(program, *_):
            program[0] = 77
            return 0

        self.kept = {"nvrtcCreateProgram": CREATE(create), "nvrtcCompileProgram": COMPILE(lambda *_: self.code),
                     "nvrtcGetPTX": GET(lambda *_: 0), "nvrtcGetCUBIN": GET(lambda *_: 0)}

    def look_up(self, name):
        return ctypes.cast(self.kept[name], ctypes.c_void_p)


@pytest.fixture(name="nvrtc")
def _nvrtc(monkeypatch, sources):
    original = ctypes.CDLL.__getitem__
    monkeypatch.setattr(ctypes.CDLL, "__getitem__", lambda library, name: library.look_up(name) if isinstance(
        library, FakeNvrtc) else original(library, name))
    native_sources._watch_ctypes(sources)
    return FakeNvrtc()


def compiled(nvrtc, source=b"int x;", options=(b"-DN=1",)):
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"a.cu", 0, None, None)
    given = (ctypes.c_char_p * len(options))(*options)
    return program, nvrtc.nvrtcCompileProgram(program, len(options), given)


def test_what_ctypes_gives_to_nvrtc_is_noted(nvrtc, sources):
    assert compiled(nvrtc)[1] == 0
    claim, = claims(sources)
    assert (claim["native"], claim["source"], claim["name"], claim["options"]) == ("nvrtc", "int x;", "a.cu", ["-DN=1"])


def test_what_nvrtc_refuses_is_not_noted(nvrtc, sources):
    nvrtc.code = 6
    assert compiled(nvrtc)[1] == 6
    assert claims(sources) == []


def test_what_was_taken_from_nvrtc_is_noted(nvrtc, sources):
    program, _ = compiled(nvrtc)
    nvrtc.nvrtcGetPTX(program, None)
    assert claims(sources)[0]["taken"] == ["PTX"]
    nvrtc.nvrtcGetCUBIN(program, None)
    assert claims(sources)[0]["taken"] == ["PTX", "CUBIN"]


def test_other_functions_of_ctypes_stay(nvrtc):
    assert ctypes.CDLL(None).getpid is not None and ctypes.CDLL(None).getpid() > 0


def test_what_cupy_gives_to_nvrtc_is_noted(sources, monkeypatch, tmp_path):
    (tmp_path / "fake_nvrtc.py").write_text(
        "createProgram = lambda source, name, headers, names: 5\naddNameExpression = lambda program, name: None\n"
        "compileProgram = lambda program, options: None\ngetPTX = getCUBIN = lambda program: b'code'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    finder = native_sources._Wrapped({"fake_nvrtc": native_sources._watch_cupy}, sources)
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    import fake_nvrtc as nvrtc
    program = nvrtc.createProgram("int x;", "b.cu", ["text"], ["name.h"])
    nvrtc.addNameExpression(program, "k<1>")
    nvrtc.compileProgram(program, ("-O1",))
    assert nvrtc.getCUBIN(program) == b"code"
    claim, = claims(sources)
    assert (claim["headers"], claim["expressions"], claim["options"]) == ({"name.h": "text"}, ["k<1>"], ["-O1"])
    assert claim["taken"] == ["CUBIN"]


def test_a_note_that_fails_changes_nothing(sources, monkeypatch):
    module = types.SimpleNamespace(call=lambda: 3)
    native_sources._after(module, "call", lambda *_: 1 / 0)
    assert module.call() == 3


NINJA = """ninja_required_version = 1.3
nvcc = /usr/local/cuda/bin/nvcc
cuda_cflags = -DNAME=m -isystem /usr/include --compiler-options '-fPIC' -O3
cuda_post_cflags =
rule cuda_compile
  command = $nvcc $cuda_cflags -c $in -o $out $cuda_post_cflags
build main.o: compile {folder}/main.cpp
build cuda.cuda.o: cuda_compile {folder}/with$ space.cu
"""


def test_what_an_extension_gives_to_nvcc_is_noted(sources, tmp_path):
    (tmp_path / "with space.cu").write_text('#include "mine.h"\n')
    (tmp_path / "mine.h").write_text("int y;")

    def write(path):
        (tmp_path / "build.ninja").write_text(NINJA.format(folder=tmp_path))
    builder = SimpleNamespace(_write_ninja_file=write)
    native_sources._watch_builder(sources, builder)
    builder._write_ninja_file(str(tmp_path / "build.ninja"))
    claim, = claims(sources)
    assert (claim["native"], claim["name"], claim["headers"]) == ("nvcc", "with space.cu", {"mine.h": "int y;"})
    assert claim["options"] == [f"-I{tmp_path}", "-DNAME=m", "-isystem", "/usr/include", "--compiler-options", "-fPIC", "-O3"]


def test_a_packages_own_extension_is_not_noted(sources, tmp_path, monkeypatch):
    (tmp_path / "with space.cu").write_text("int x;")
    (tmp_path / "build.ninja").write_text(NINJA.format(folder=tmp_path))
    monkeypatch.setattr(native_sources, "_PACKAGES", (f"{tmp_path}/",))
    native_sources._note_ninja_file(sources, str(tmp_path / "build.ninja"))
    assert claims(sources) == []


def test_the_latest_sources_are_kept_once(sources):
    for at in (*range(native_sources.SOURCES + 1), 1):
        sources.add("nvrtc", f"int x{at};", "a.cu", [], {})
    found = [each["source"] for each in claims(sources)]
    assert len(found) == native_sources.SOURCES and found[-1] == "int x1;" and "int x0;" not in found


def test_a_source_that_is_too_long_is_not_kept(sources):
    sources.add("nvrtc", "x" * native_sources.SOURCE_BYTES, "a.cu", [], {})
    assert claims(sources) == []


def test_a_build_is_told_to_its_backend():
    told = []
    Sources(lambda: told.append(1)).add("nvrtc", "int x;", "a.cu", [], {})
    assert told == [1]


def test_include_folders_are_named_in_any_form():
    assert include_folders(["-Ia", "-I", "b", "-isystem", "c", "--include-path=d", "-DI"]) == ["a", "b", "c", "d"]


def test_local_headers_are_found_in_any_depth(tmp_path):
    (tmp_path / "a.h").write_text('#include <b.h>\n#include "none.h"\n')
    (tmp_path / "b.h").write_text("int b;")
    assert set(local_headers('# include "a.h"', [str(tmp_path)])) == {"a.h", "b.h"}
    assert local_headers('#include "stdio.h"', ["/usr/include"]) == {}
