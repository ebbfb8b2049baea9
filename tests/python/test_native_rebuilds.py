"""The compile broker builds CUDA C++ again, from text alone: options and headers cannot bring other code in."""
import json
import os
import stat
import time

import pytest
from fork_client import Server, memory_file
from kernelwright._engine import native_builds, wire
from kernelwright._engine.native_builds import builds, options_of
from kernelwright._engine.wire import made, numbers, texts

SOURCE = """
template <int N> __device__ __noinline__ float added(float x) { return x + N; }
template <int N> __global__ void add(float* x) { if (x[0] < 0) printf("negative\\n"); x[threadIdx.x] = added<N>(x[0]); }
"""
needs_nvrtc = pytest.mark.skipif(not native_builds.nvrtc_libraries(), reason="the installation has no NVRTC")


def claim(source=SOURCE, **facts):
    return json.dumps({"native": "nvrtc", "source": source, "name": "add.cu", "options": [], "headers": {},
                       "expressions": ["add<2>"], "library": "", **facts}).encode()


def built(*lines, capability=90, limit=60):
    return list(builds(lines, capability, time.monotonic() + limit))


# ---- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize("given, taken", [
    (["-DN=1", "-D", "M"], ["--define-macro=N=1", "--define-macro=M"]), (["-UN"], ["--undefine-macro=N"]),
    (["-std=c++17"], ["--std=c++17"]), (["--std=c++20"], ["--std=c++20"]), (["-O3"], ["--optimize=3"]),
    (["-use_fast_math"], ["--use_fast_math"]), (["-lineinfo"], ["--generate-line-info"]),
    (["-maxrregcount=32"], ["--maxrregcount=32"]), (["--maxrregcount", "32"], ["--maxrregcount=32"]),
    (["-Xptxas", "-O2,-dlcm=cg"], ["--ptxas-options=-O2,-dlcm=cg"]), (["--ptxas-options=-v"], ["--ptxas-options=-v"]),
    (["--expt-relaxed-constexpr"], ["--expt-relaxed-constexpr"]), (["-ftz=true"], ["--ftz=true"]),
    (["-Xcompiler", "-fPIC", "-t", "4", "-c", "-Wno-deprecated-gpu-targets"], []),
])
def test_options_that_change_code_in_a_known_way_are_taken_over(given, taken):
    found = options_of(given, "nvcc", 90)
    assert (found.options, found.left_out, found.not_built) == (taken, "", "")


@pytest.mark.parametrize("given", [
    ["-include", "/tmp/x.h"], ["--options-file=/tmp/x"], ["-optf", "x"], ["--pre-include=x"], ["library.a"], ["-lcublas"],
    ["-Xptxas", "--input-file=x"], ["-Xptxas=-ofile=/x"], ["-std=bogus"], ["--library-path=/tmp"], ["-dlto"], ["-x", "ptx"],
    ["--ptxas-path=/tmp/ptxas"], ["-prec-div=/tmp"], ["@/tmp/options"], ["-D"], ["--compiler-bindir=/tmp", "--nvvm-path=/tmp"],
])
def test_options_that_could_bring_code_in_are_left_out_and_named(given):
    found = options_of(given, "nvcc", 90)
    assert found.options == [] and found.left_out.startswith("without its options")


def test_include_folders_are_the_installations(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_HOME", "")
    given = [f"-I{tmp_path}", "-isystem", "/usr/include", "-I/usr/../tmp", "--include-path=/missing"]
    assert options_of(given, "nvrtc", 90).options == ["-I/usr/include"]


@pytest.mark.parametrize("given, arch, assembled", [
    ([], "sm_90", False), (["-arch=sm_90a"], "sm_90a", False), (["--gpu-architecture=sm_80"], "sm_90", False),
    (["-gencode=arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=[sm_90,compute_90]"], "sm_90", False),
    (["-arch=compute_90", "-code=sm_90"], "sm_90", False), (["-arch=compute_90"], "sm_90", True),
    (["-gencode=arch=compute_80,code=compute_80"], "sm_90", True), (["-arch=native"], "sm_90", False),
])
def test_the_architecture_is_one_that_runs_here(given, arch, assembled):
    found = options_of(given, "nvcc", 90)
    assert (found.arch, bool(found.not_built)) == (arch, assembled)


@pytest.mark.parametrize("given", [["-rdc=true"], ["-dc"], ["--relocatable-device-code", "true"]])
def test_what_needs_a_linker_is_not_judged(given):
    assert "links no" in options_of(given, "nvcc", 90).not_built
    assert options_of(["-rdc=false"], "nvcc", 90).not_built == ""


# ---- a stand-in for nvcc -------------------------------------------------------------------------


@pytest.fixture(name="nvcc")
def _nvcc(tmp_path, monkeypatch):
    def write(script):
        path = tmp_path / "cuda" / "bin" / "nvcc"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    return write


# The last three words are -o, the cubin and the source.
COPY = 'while [ $# -gt 2 ]; do shift; done; cat "$2" > "$1"'


def test_a_source_and_its_headers_are_laid_out(nvcc):
    nvcc(COPY + '; cat "$(dirname "$2")/sub/mine.h" >> "$1"')
    found, = built(claim("text", native="nvcc", headers={"sub/mine.h": "header", "../out.h": "x", "/tmp/kw_out.h": "x"}))
    assert found.cubin == b"textheader" and not os.path.exists("/tmp/kw_out.h")


@pytest.mark.parametrize("option", [
    "-DF=$(touch x)", "-DF=`touch x`", '-DF="x"', "-DF=a;b", "-DF=a b", "-DF(x)=x", "--define-macro=F=a|b", "-DF=a&b",
    "-DF='x'",
])
def test_no_word_of_a_macro_reaches_the_shell_of_nvcc(option):
    found = options_of([option], "nvcc", 90)
    assert found.options == [] and "no such macro" in found.not_passed
    assert options_of([option], "nvrtc", 90).options != []


@pytest.mark.parametrize("option", ["-UF$(touch x)", "--undefine-macro=`touch x`", "-O$(touch x)"])
def test_no_other_value_reaches_the_shell_of_nvcc(option):
    assert options_of([option], "nvcc", 90).options == []


def test_plain_macros_are_passed_to_nvcc():
    given = ["-DF", "-DG=1", "--define-macro=H=float", "-D__CUDA_NO_HALF_OPERATORS__"]
    assert options_of(given, "nvcc", 90).options == [
        "--define-macro=F", "--define-macro=G=1", "--define-macro=H=float", "--define-macro=__CUDA_NO_HALF_OPERATORS__"]


@pytest.mark.parametrize("script, wrong, not_built", [
    ("echo 'a.cu(1): error: no'; exit 2", "refuses the source: a.cu(1): error: no", ""),
    ("kill -9 $$", "", "ended by signal 9"),
    ("echo \"nvcc error : 'cicc' died due to signal 11\"; exit 139", "", "signal"),
    ("echo 'nvcc fatal : Cannot find compiler'; exit 1", "", "does not work here"),
    ("echo 'a.cu:1:10: fatal error: b.h: No such file or directory'; exit 1", "", "lacks a header"),
    ("sleep 30", "", "time limit"),
])
def test_the_end_of_a_compiler_tells_whose_fault_it_was(nvcc, script, wrong, not_built):
    nvcc(script)
    found, = built(claim(native="nvcc"), limit=0.5)
    assert wrong in found.wrong and not_built in found.not_built
    assert (bool(found.wrong), bool(found.not_built), found.cubin) == (bool(wrong), bool(not_built), b"")


def test_without_a_compiler_nothing_is_said_about_the_source(monkeypatch):
    monkeypatch.setattr(native_builds, "_toolkits", lambda: [])
    monkeypatch.setattr(native_builds, "_packages", lambda: [])
    monkeypatch.setattr(native_builds, "nvrtc_libraries", lambda: [])
    found = built(claim(native="nvcc"), claim())
    assert [each.not_built for each in found] == ["the installation has no nvcc", "the installation has no NVRTC"]


def test_code_that_the_driver_assembled_is_not_judged():
    assert "assembled" in built(claim(taken=["PTX"]))[0].not_built


def test_a_packages_generated_code_is_nobodys_source():
    assert built(claim("#include <cupy/carray.cuh>\n")) == []


@pytest.mark.parametrize("line", [b'{"native": "nvrtc"', claim(native="gcc"), claim(options=[1]), claim(source=None),
                                  claim(headers={"a": "x" * native_builds.SOURCE_BYTES}), claim(expressions=3)])
def test_a_broken_claim_is_wrong(line):
    found, = built(line)
    assert found.wrong and not found.not_built


# ---- NVRTC itself, where it is installed ---------------------------------------------------------


@needs_nvrtc
def test_equal_sources_give_equal_cubins_and_others_do_not():
    one, two, other = built(claim(), claim(library="/tmp/libnvrtc.so"), claim(SOURCE.replace("x + N", "x - N")))
    assert one.cubin.startswith(b"\x7fELF") and one.cubin == two.cubin != other.cubin


@needs_nvrtc
def test_options_and_headers_reach_nvrtc():
    source = '#include "mine.h"\n__global__ void k(float* x) { x[0] = NUMBER + mine; }'
    facts = {"headers": {"mine.h": "constexpr int mine = 3;"}, "expressions": []}
    found, bad = built(claim(source, options=["-DNUMBER=2"], **facts), claim(source, **facts))
    assert found.cubin and not found.wrong
    assert "NUMBER" in bad.wrong and not bad.not_built


@needs_nvrtc
def test_a_broker_answers_with_cubins():
    server = Server("broker")
    runner, data = server.spawn(), memory_file(b"\n".join([claim(), claim("__global__ broken")]))
    runner.channel.send(made(wire.AttestT, capability=90, wanted=["f" * 64]), [data])
    os.close(data)
    found, fds = runner.channel.receive()
    sizes = numbers(found.cubinBytes)
    assert (found.sources, len(sizes), len(fds), len(texts(found.wrong)), texts(found.notBuilt)) == (2, 1, 1, 1, [])
    assert os.pread(fds[0], sizes[0], 0).startswith(b"\x7fELF") and os.fstat(fds[0]).st_size == sizes[0]
    assert server.close() == 0
