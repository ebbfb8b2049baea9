"""Pairs of CUDA and Triton: expressions and texts of drawn ones, and what NVRTC says of the CUDA side, also by hand."""
import ast
import ctypes
import functools
import pathlib
import re
import runpy

import pytest
import torch

from kernelwright._dataset.synth.cuda_pairs.draft import draw_pair
from kernelwright._dataset.synth.cuda_pairs.draw import Draw
from kernelwright._dataset.synth.cuda_pairs.expressions import BY_WORD, Apply, Leaf, is_atom, written
from kernelwright._dataset.synth.cuda_pairs.families import FAMILIES
from kernelwright._dataset.synth.cuda_pairs.program import arguments_of, cpp, expanded, fill, floor, folded

ROUND = len(FAMILIES)
HAND_PAIRS = pathlib.Path(__file__).parents[2] / "bench" / "dataset" / "hand_pairs.py"
BY_HAND = sorted((pathlib.Path(__file__).parents[2] / "examples" / "cuda_pairs").glob("*.cu"))


@functools.cache
def first_pairs():
    """Three pairs of each family."""
    return [draw_pair(7, number) for number in range(3 * ROUND)]


def apply(word, *operands, constant=0.5):
    return Apply(BY_WORD[word], tuple(Leaf(each) if isinstance(each, str) else each for each in operands), constant)


@pytest.mark.parametrize("language, lines, text", [
    ("cuda", ["const float total = x + y;"], "total / (1.0f + expf(-total))"),
    ("triton", ["total = x + y"], "total * tl.sigmoid(total)"),
    ("torch", [], "F.silu(x + y)"),
])
def test_a_value_that_is_used_twice_becomes_a_variable(language, lines, text):
    assert written(apply("silu", apply("add", "x", "y")), language) == (lines, text)


def test_operands_get_brackets_where_they_have_operators():
    node = apply("mul", apply("shift", "x"), apply("relu", "y"))
    assert written(node, "cuda") == ([], "(x + 0.5f) * fmaxf(y, 0.0f)")


def test_a_variable_does_not_take_a_name_in_use():
    lines, _ = written(apply("square", apply("add", "total", "y")), "triton", ("total",))
    assert lines == ["total2 = total + y"]


@pytest.mark.parametrize("text, atom", [
    ("x", True), ("f(a + b)", True), ("(a + b).sum()", True), ("x[i + 1]", True), ("a + b", False), ("-x", False),
    ("f(a) * g(b)", False),
])
def test_an_atom_has_no_operator_outside_of_brackets(text, atom):
    assert is_atom(text) is atom


def test_a_value_of_several_lines_takes_the_indentation_of_its_line():
    assert fill("""
        for (;;) {
          $body
          $nothing
        }
        """, body=["a;", "b;"], nothing="") == "for (;;) {\n  a;\n  b;\n}"


def test_macros_are_expanded_with_their_arguments():
    text = expanded("STORE(out, i, f(LOAD(x, g(i, 2))))", lambda name, parts: f"{name.lower()}<{'|'.join(parts)}>")
    assert text == "store<out|i|f(load<x|g(i, 2)>)>"
    assert arguments_of("f(a, (b, c))", 2) == (["a", "(b, c)"], 12)


def test_a_grid_is_written_for_both_hosts():
    assert cpp("cdiv(n_rows * n_cols, THREADS)") == "(n_rows * n_cols + THREADS - 1) / THREADS"
    assert floor("min(cdiv(n, BLOCK), 8)") == "min(((n + BLOCK - 1) // BLOCK), 8)"


def test_long_lists_are_folded_between_items():
    assert folded("f(", ["int a", "int b"], ")", width=9) == "f(\n    int a,\n    int b)"


def test_equal_seed_and_number_give_equal_texts():
    assert draw_pair(3, 40) == draw_pair(3, 40)
    assert draw_pair(3, 40) != draw_pair(4, 40)


def test_families_take_turns():
    assert [pair.family for pair in first_pairs()[:ROUND]] == sorted(FAMILIES)
    assert draw_pair(0, 5, ("scan", "matmul")).family == "scan"


@pytest.mark.parametrize("at", range(ROUND), ids=sorted(FAMILIES))
def test_the_texts_of_a_family_belong_together(at):
    for pair in first_pairs()[at::ROUND]:
        for text in (pair.reference, pair.triton, pair.candidate):
            ast.parse(text)
        assert f"def {pair.name}(" in pair.reference and "def triton_kernel_wrapper(" in pair.triton
        assert f"__global__ void {pair.name}_kernel(" in pair.cuda and f"{pair.name}_kernel<<<" in pair.cuda
        assert f'"{pair.name}_kernel"' in pair.candidate and f"{pair.name}_kernel[grid](" in pair.triton
        for text in (pair.cuda, pair.triton, pair.reference):
            assert "LOAD(" not in text and "STORE(" not in text and not re.search(r"\$\w", text) and "\0" not in text
        assert all(pair.cuda.count(opening) == pair.cuda.count(closing) for opening, closing in ("()", "{}", "[]"))


def test_the_compared_text_knows_no_names():
    draws = [Draw(0, 0), Draw(0, 0)]
    draws[1].names = {**draws[1].names, "x": "source_tensor", "out": "target_tensor", "THREADS": "THREADS_IN_BLOCK"}
    from kernelwright._dataset.synth.cuda_pairs.program import written_pair
    first, second = (written_pair("unary", FAMILIES["unary"](draw), draw) for draw in draws)
    assert first.cuda != second.cuda and "source_tensor" in second.cuda
    assert first.compared == second.compared


def test_few_pairs_of_a_set_are_equal():
    assert len({pair.compared for pair in first_pairs()}) > 0.9 * len(first_pairs())


@functools.cache
def nvrtc():
    """NVRTC and CUDA's headers, from the packages that PyTorch brings; None where it brings none."""
    for root in pathlib.Path(torch.__path__[0]).parent.glob("nvidia/cu*"):
        builtins, library = (next(iter(root.glob(f"lib/{name}")), None) for name in ("libnvrtc-builtins.so*", "libnvrtc.so*"))
        if library and builtins and (root / "include" / "cuda_fp16.h").exists():
            ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
            return ctypes.CDLL(str(library)), str(root / "include")
    return None


def compile_log(source, *flags):
    """What NVRTC says of a source that does not compile for sm_90; empty where it compiles."""
    library, include = nvrtc()
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    words = [b"--gpu-architecture=sm_90", f"-I{include}".encode(), *flags]
    status = library.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words))
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return log.value.decode() if status else ""


@pytest.mark.skipif(nvrtc() is None, reason="PyTorch brings no NVRTC")
@pytest.mark.parametrize("at", range(ROUND), ids=sorted(FAMILIES))
def test_the_cuda_side_of_a_family_compiles(at):
    for pair in first_pairs()[at::ROUND]:
        source = re.search(r'SOURCE = r"""\n(.*?)\n"""', pair.candidate, re.S)[1]
        assert source in pair.cuda
        assert compile_log(source) == "", pair.cuda


@pytest.mark.skipif(nvrtc() is None, reason="PyTorch brings no NVRTC")
@pytest.mark.parametrize("file", BY_HAND, ids=lambda file: file.stem)
def test_the_cuda_side_of_a_pair_by_hand_compiles(file):
    # NVRTC takes no host code. As device code, which may launch kernels too, the launcher is type-checked.
    assert compile_log(file.read_text(encoding="utf-8"), b"-default-device", b"-rdc=true") == ""


@pytest.mark.parametrize("path", BY_HAND, ids=lambda path: path.stem)
def test_the_wrapper_of_a_pair_by_hand_launches_its_kernels_with_their_arguments(path, monkeypatch, tmp_path):
    rows = runpy.run_path(str(HAND_PAIRS))["rows_of"](path.parent)
    candidate = next(row["kernel_code"] for row in rows if row["id"] == f"{path.stem}/cuda")
    (tmp_path / "candidate.py").write_text(candidate, encoding="utf-8")
    inputs = runpy.run_path(str(path.with_name(f"{path.stem}_reference.py")))["get_inputs"]()
    wrapper, launched = runpy.run_path(str(tmp_path / "candidate.py"))["triton_kernel_wrapper"], {}
    monkeypatch.setitem(wrapper.__globals__, "launch", lambda name, grid, block, *args: launched.update({name: len(args)}))
    wrapper(*inputs)
    source = path.read_text(encoding="utf-8")
    kernels = {name: parameters.count(",") + 1
               for name, parameters in re.findall(r"__global__ void (\w+)\(([^)]*)\)", source)}
    assert kernels and launched == kernels
