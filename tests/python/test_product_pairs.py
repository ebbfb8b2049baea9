"""Products that `dataset synth` writes by hand: the texts of drawn ones, and what their kernels compute."""
import ast
import random
import re

import pytest
import torch

from kernelwright._dataset.synth import grammar
from kernelwright._dataset.synth.products import FAMILIES, draw_product
from kernelwright._dataset.synth.products.draw import ProductDraw, name_of
from kernelwright._dataset.synth.products.text import Input, Kernel, Product, in_type, weights
from kernelwright._dataset.synth.products.tiles import Operand

DRAWN = [(family, number) for family in FAMILIES for number in range(12)]


def drawn(family, number):
    return draw_product(random.Random(f"test {family} {number}"), family)


def of_type(dtype):
    draw = ProductDraw(random.Random(1))
    draw.dtype = dtype
    return draw


@pytest.mark.parametrize("family, number", DRAWN)
def test_a_drawn_kernel_has_products_and_no_unknown_names(family, number):
    product = drawn(family, number)
    text = product.kernel_text()
    assert "tl.dot(" in text and "$" not in text
    module = ast.parse(text)
    for function in (node for node in module.body if isinstance(node, ast.FunctionDef)):
        known = {each.arg for each in function.args.args} | {"torch", "triton", "tl", "float", "range", "max"}
        known |= {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
        known |= {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        assert read <= known, read - known
        assert {each.arg for each in function.args.args} - {"h"} <= read | {each.name for each in product.inputs}


@pytest.mark.parametrize("family, number", DRAWN)
def test_a_drawn_reference_runs_in_the_type_of_its_inputs(family, number):
    names = {}
    product = drawn(family, number)
    exec(compile(product.reference_text(), "reference.py", "exec"), names)
    torch.manual_seed(0)
    inputs = names["get_inputs"]()
    assert [tuple(each.shape) for each in inputs] == [each.sizes for each in product.inputs]
    result = names[product.name](*inputs)
    for each in result if isinstance(result, tuple) else (result,):
        assert torch.isfinite(each.float()).all()


def test_lines_stay_short():
    texts = [drawn(family, number).kernel_text() for family, number in DRAWN]
    assert max(len(line) for text in texts for line in text.split("\n")) <= 128


def test_equal_numbers_give_equal_products():
    assert drawn("attention", 3).kernel_text() == drawn("attention", 3).kernel_text()


@pytest.mark.parametrize("operand, address", [
    (Operand("a", "MK"), "a_ptr + rows[:, None] * K + ks[None, :]"),
    (Operand("a", "MK", transposed=True), "a_ptr + ks[None, :] * M + rows[:, None]"),
    (Operand("a", "MK", strided=True), "a_ptr + rows[:, None] * stride_am + ks[None, :] * stride_ak"),
    (Operand("a", "MK", base="batch * M * K + "), "a_ptr + batch * M * K + rows[:, None] * K + ks[None, :]"),
])
def test_the_address_of_a_tile(operand, address):
    assert operand.address("rows", "ks") == address


def test_a_transposed_operand_passes_its_strides_the_other_way_round():
    assert Operand("x", "MK", True, True).scalars() == {"stride_xm": "x.stride(1)", "stride_xk": "x.stride(0)"}


def test_a_kernel_takes_only_the_sizes_that_it_reads():
    kernel = Kernel(["x"], {"M": "M", "N": "N"}, {"BLOCK": 32}, "", "tl.store(x_ptr + M, BLOCK)", ("triton.cdiv(M, BLOCK)",))
    assert "def f_kernel(x_ptr, M, BLOCK: tl.constexpr):" in kernel.source("f")
    assert kernel.launch("f") == ["BLOCK = 32", "grid = (triton.cdiv(M, BLOCK),)", "f_kernel[grid](x, M, BLOCK=BLOCK)"]


def test_a_module_has_kernel_and_launcher():
    kernel = Kernel(["x", "out"], {}, {}, "Copies.", "tl.store(out_ptr, tl.load(x_ptr))", ("1",))
    text = Product("f", [Input("x", (1,), "float32")], ["return x"], [], ["out = torch.empty_like(x)"], [kernel]).kernel_text()
    assert re.search(r"@triton\.jit\ndef f_kernel\(x_ptr, out_ptr\):\n    # Copies\.\n", text)
    assert text.endswith("def triton_kernel_wrapper(x):\n    out = torch.empty_like(x)\n    grid = (1,)\n"
                         "    f_kernel[grid](x, out)\n    return out\n")


def test_results_of_16_bits_are_rounded_once():
    assert in_type(of_type("float16"), "x + y") == "(x + y).to(torch.float16)"
    assert in_type(of_type("float32"), "x + y") == "x + y"


def test_weights_of_16_bits_keep_products_near_one():
    assert weights(of_type("float16"), "w", (16, 4), 16).made() == "torch.randn(16, 4, dtype=torch.float16) * 0.25"
    assert weights(of_type("float32"), "w", (16, 4), 16).made() == "torch.randn(16, 4)"


def test_a_name_has_each_word_once():
    assert name_of("matmul", ["bias", "relu"], "", "bias") == "matmul_bias_relu"


def test_a_quarter_of_the_sources_or_more_have_products():
    families = [grammar.draw(0, number).family for number in range(400)]
    assert 0.25 < sum(each in FAMILIES or each == "matmul" for each in families) / len(families) < 0.45


def test_sizes_of_a_compiled_product_differ_so_that_the_rewriter_cannot_take_one_for_another():
    for number in range(60):
        source = grammar.draw(0, number, ("matmul",))
        matrices = [each.sizes[-2:] for each in source.inputs if each.name in ("x", "other", "weight")]
        assert len({size for sizes in matrices for size in sizes}) == len(matrices) + 1, source.text


def test_a_reference_takes_sizes_from_its_tensors():
    for family, number in DRAWN:
        product = drawn(family, number)
        sizes = {size for each in product.inputs for size in each.sizes if size > 32}
        body = "\n".join(product.reference)
        numbers = {int(each) for each in re.findall(r"(?<![\w.])\d+(?![\w.])", body)}
        assert not sizes & numbers, product.reference_text()


def test_a_limit_of_indices_is_a_size_by_name():
    texts = [drawn("expert_matmul", number).reference_text() for number in range(12)]
    assert any("EXPERTS = 5\n" in text and "torch.randint(0, EXPERTS, (" in text for text in texts)


def test_a_half_feature_of_linear_attention_stays_half():
    texts = [drawn("chunked_scan", number).kernel_text() for number in range(200)]
    halves = [text for text in texts if "tl.maximum(q, 0.0)" in text and "state.to(v.dtype)" in text]
    assert halves and all("q = tl.maximum(q, 0.0).to(v.dtype)" in text for text in halves)
