"""Errors in units of what the reference itself loses against float64."""
import json

import jsonschema
import pytest

from . import program

pytestmark = pytest.mark.skipif(program.DEVICE != "cpu", reason="the kernels are written for the interpreter")

REFERENCE = """
import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return RESULT


def get_inputs():
    return [torch.randn(64, 64) * 3e-4, torch.randn(64, 64)]
"""

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(a, b, out, N: tl.constexpr, PART: tl.constexpr):
    row, at, part = tl.program_id(0), tl.arange(0, N), tl.arange(0, PART)
    total = tl.zeros([N], tl.float32)
    for start in range(0, N, PART):
        left = tl.load(a + row * N + start + part)
        right = tl.load(b + (start + part)[:, None] * N + at[None, :])
        total += tl.sum(left[:, None] * right, 0)
    tl.store(out + row * N + at, total)


def triton_kernel_wrapper(a, b):
    out = torch.empty_like(a)
    product_kernel[(64,)](a, b, out, N=64, PART=16)
    return RESULT
"""
ROUNDED = KERNEL.replace("left[:, None] * right", "(left.to(tl.bfloat16)[:, None] * right.to(tl.bfloat16)).to(tl.float32)")
ROWS = {
    "reordered": ("a @ b", KERNEL, "out"),
    "bfloat16": ("a @ b", ROUNDED, "out"),
    "wrong": ("a @ b", KERNEL, "out + 1"),
    "exact": ("(a @ b > 1e-3).long()", KERNEL, "(out > 1e-3).long() * 0 + (a @ b > 1e-3).long()"),
    "no_float64": ("a.view(torch.int32).view(torch.float32) @ b.float() if a.dtype is torch.float32 else None", KERNEL, "out"),
    "raises": ("a @ b", KERNEL.replace("torch.empty_like(a)", "torch.empty_like(a, 1, 2, 3)"), "out"),
}


@pytest.fixture(scope="module")
def judged(verify, tmp_path_factory):
    """{id: verdict} of ROWS."""
    folder = tmp_path_factory.mktemp("ratios")
    rows = program.write_rows(folder / "batch.jsonl", [
        {"id": name, "reference_code": REFERENCE.replace("RESULT", reference), "kernel_code": kernel.replace("RESULT", result)}
        for name, (reference, kernel, result) in ROWS.items()])
    found = verify("--batch", rows, "--output", folder / "verdicts.jsonl")
    assert found.code == 0, found.stderr
    return {each["id"]: each for each in found.verdicts}


def test_another_order_of_additions_is_small_and_coarse_products_are_not(judged):
    small, large = judged["reordered"], judged["bfloat16"]
    assert small["status"] == large["status"] == "correct"
    assert small["counts"] is True
    assert large["counts"] is False and large["counts_reason"] == "precision"
    assert small["comparison"]["error_ratio"] < 10
    assert large["comparison"]["error_ratio"] > 100


def test_each_output_has_its_unit(judged):
    comparison = judged["bfloat16"]["comparison"]
    (each,) = comparison["error_ratios"]
    assert (each["output"], each["why_null"]) == ("output", None)
    assert each["error_ratio"] == comparison["error_ratio"]
    assert each["error_ratio"] == pytest.approx(comparison["max_abs_error"] / each["unit"])


def test_a_wrong_result_has_a_ratio(judged):
    assert judged["wrong"]["status"] == "incorrect" and judged["wrong"]["comparison"]["error_ratio"] > 1e6


def test_where_there_is_none_the_reason_is_stated(judged):
    assert judged["exact"]["comparison"]["error_ratio_why_null"] == "exact"
    assert judged["no_float64"]["comparison"]["error_ratio_why_null"] == "no_float64"
    assert judged["raises"]["comparison"]["error_ratio_why_null"] == "not_compared"
    for name in ("exact", "no_float64", "raises"):
        assert judged[name]["comparison"]["error_ratio"] is None


def test_verdicts_are_held_to_the_schema(judged):
    schema = json.loads((program.ROOT / "docs/verdict.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    assert [error.message for each in judged.values() for error in validator.iter_errors(each)] == []
