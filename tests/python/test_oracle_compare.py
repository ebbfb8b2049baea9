"""Every form of a wrong output, and differences that are no fault."""
import math

import pytest
import torch

from kernelwright._engine import wire
from kernelwright._engine.oracle import tf32
from kernelwright._engine.oracle.bits import all_same_bits
from kernelwright._engine.oracle.compare import Returned, compare, returned
from kernelwright._engine.oracle.elements import at_once, begins_wrong, difference
from kernelwright._engine.oracle.tolerance import Budget, Flat, chosen, exact_of, ulp
from kernelwright._engine.wire import made

X = torch.linspace(-2, 2, 4096).reshape(8, 512)
RULE = Flat()


def judged(expected, actual, rule=RULE, **more):
    return compare(expected, returned(actual), rule, **more)


@pytest.mark.parametrize("expected, actual, kind, words", [
    (X, (X,), "wrong_structure", "expected a tensor of shape [8, 512], got a tuple of 1"),
    (X, None, "wrong_structure", "got None"),
    ((X, X), X, "wrong_structure", "expected a tuple of 2"),
    ({"a": X}, {"b": X}, "wrong_structure", "['a']"),
    ([X, 3], [X, 4], "wrong_value", "output[1]: expected int 3, got int 4"),
    ([X, 3], [X, True], "wrong_structure", "output[1]"),
    ([X, 0.5], [X, 0.6], "wrong_value", "expected 0.5, got 0.6"),
    (X, X.T, "wrong_shape", "expected shape [8, 512], got [512, 8]"),
    (X, X.double(), "wrong_dtype", "expected float32, got float64"),
    ((X, X), (X, X + 1), "wrong_value", "output[1]: 4096 of 4096 values differ (100.0%)"),
    (X, torch.where(X > 1.99, math.nan, X), "nonfinite", "NaN or infinite in one of the two only"),
    (torch.where(X > 1.99, math.inf, X), X, "nonfinite", "expected inf"),
    (torch.where(X > 1.99, math.inf, X), torch.where(X > 1.99, -math.inf, X), "nonfinite", "got -inf"),
    (X > 0, X >= -1, "wrong_value", "expected False, got True; largest error 1; these must be equal"),
    (X.long(), X.long() + 1, "wrong_value", "these must be equal"),
])
def test_wrong(expected, actual, kind, words):
    found = judged(expected, actual)
    assert found.error_class == kind and words in found.error, found.error


def test_text_and_numbers():
    actual = X.clone()
    actual[3, 5:42] += 0.5
    actual[3, 7] += 0.25
    found = judged(X, actual)
    assert found.error == (f"output: 37 of 4096 values differ (0.9%); first at [3, 5]: expected {X[3, 5]:.6g}, got "
                           f"{actual[3, 5]:.6g}; largest error 0.75; rtol=0.0001 atol=0.0001")
    assert found.mismatched == 37 and found.share == 37 / 4096 and found.max_abs == pytest.approx(0.75)
    assert found.first == ("output", [3, 5], X[3, 5].item(), actual[3, 5].item())
    assert judged(torch.tensor(1.0), torch.tensor(2.0)).error.startswith(
        "output: 1 of 1 values differ (100.0%); first expected 1, got 2")


def test_right():
    same = torch.where(X > 1.99, math.nan, X)
    same[0, 0] = -math.inf
    assert judged(same, same.clone()).right
    assert judged((X, {"k": X > 0, "n": None, "s": "a"}), (X, {"n": None, "k": X > 0, "s": "a"})).right
    assert judged(torch.zeros(0, 3), torch.zeros(0, 3)).right
    found = judged((X,), [X])
    assert found.right and found.findings == ["output is a list, the reference's a tuple"]


def test_strides_are_a_finding():
    found = judged(X, X.T.contiguous().T)
    assert found.right and found.findings == ["output has strides [1, 8], the reference's [512, 1]"]
    assert not judged(X[:1], torch.empty_strided((1, 512), (7, 1)).copy_(X[:1])).findings


@pytest.mark.parametrize("dtype, error, name, right", [
    (torch.float32, 5e-5, "kernelbench", True), (torch.float32, 3e-3, "kernelbench", False),
    (torch.float16, 5e-3, "kernelbench", True), (torch.bfloat16, 1e-1, "kernelbench", False),
    (torch.float16, 5e-3, "seed", False), (torch.float64, 5e-5, "seed", True), (torch.complex64, 3e-3, "", False),
    (torch.complex64, 3e-5, "", True),
])
def test_tolerances(dtype, error, name, right):
    base = torch.full((64,), 0.5, dtype=dtype)
    assert judged(base, base + error, chosen(made(wire.ToleranceT, name=name))).right is right


def test_explicit_tolerance():
    rule = chosen(made(wire.ToleranceT, name="kernelbench", rtol=0.0, atol=0.5))
    assert judged(X, X + 0.45, rule).right and not judged(X, X + 0.55, rule).right
    assert rule.of(torch.float16) == (0.0, 0.5)


def test_strict():
    exact = torch.randn(1000, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    eager = exact.float() + 1e-5
    budget = exact_of(eager, exact)
    assert budget.loss == pytest.approx(1e-5, rel=0.02)
    assert judged(eager, (exact + 3.5e-5).float(), exact=budget).right
    assert judged(eager, (exact + 5e-5).float(), exact=budget).error_class == "wrong_value"
    tight = exact_of(exact.float(), exact)
    step = ulp(exact.abs(), torch.float32)
    assert judged(exact.float(), (exact + 4 * step).float(), exact=tight).right
    assert not judged(exact.float(), (exact + 7 * step).float(), exact=tight).right


def test_ulp():
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        values = torch.tensor([0.0, 1.0, 1.5, 2.0, 1000.0], dtype=dtype)
        after = torch.nextafter(values.float(), torch.tensor(9e9)) if dtype is torch.float32 else None
        steps = ulp(values.double(), dtype)
        assert steps[1] == torch.finfo(dtype).eps and steps[3] == 2 * steps[1]
        if after is not None:
            assert torch.equal(steps[1:], (after.double() - values.double())[1:])
    assert Budget(0.0).limits(torch.float16)(torch.ones(1, dtype=torch.float64)).item() == 5 * 2**-10


def test_chunks():
    big = torch.zeros(3_000_000)
    other = big.clone()
    other[[1, 70_000, 2_999_999]] = 1
    found = judged(big, other)
    assert found.mismatched == 3 and found.first[1] == [1]
    assert judged(big, other, stop_early=True).mismatched == 1


def test_no_data():
    fits = Returned.of(X)
    fits.data = None
    assert compare(X, fits, RULE).error_class == "wrong_structure"
    assert compare(X, Returned.of(X), RULE, devices=("cuda",)).error == "output: expected a tensor on cuda, got one on cpu"


def test_tf32_rounding():
    values = torch.tensor([1 + 2**-10, 1 + 2**-11, 1 + 2**-12, -3.0, math.inf, math.nan])
    assert tf32.rounded(values)[:5].tolist() == [1 + 2**-10, 1 + 2**-10, 1.0, -3.0, math.inf]
    assert tf32.rounded(values)[5].isnan() and tf32.rounded(values.double()).dtype is torch.float64


def test_tf32_mode():
    a, b = torch.randn(64, 64), torch.randn(64, 64)
    wanted = tf32.rounded(a) @ tf32.rounded(b)
    with tf32.RoundedProducts():
        for got in (a @ b, torch.matmul(a, b), a.mm(b), torch.addmm(torch.zeros(64), a, b),
                    torch.nn.functional.linear(a, b.T), torch.einsum("ij,jk->ik", a, b),
                    torch.bmm(a[None], b[None])[0]):
            assert torch.allclose(got, wanted, atol=1e-5)
        assert torch.equal(a + b, torch.add(a, b))
    assert not torch.allclose(a @ b, wanted, atol=1e-5)


LIMITS = RULE.limits(torch.float32)


def test_outputs_that_are_right_are_found_so_at_once_with_the_same_figures():
    near = X + 1e-5 * torch.sin(1000 * X)
    counts = torch.arange(7)
    found = at_once([(X, near, LIMITS, None), (counts, counts.clone(), None, None), (X[:0], X[:0], LIMITS, None)])
    assert found == [difference(X, near, LIMITS), difference(counts, counts, None), difference(X[:0], X[:0], LIMITS)]
    assert found[0].max_abs > 0 and found[0].max_rel > 0


@pytest.mark.parametrize("wrong", [X + 1, torch.where(X > 1.99, math.nan, X), torch.where(X < -1.99, math.inf, X)])
def test_one_wrong_output_among_right_ones_is_never_passed_at_once(wrong):
    assert at_once([(X, X, LIMITS, None), (X, wrong, LIMITS, None)]) is None


def test_one_wrong_integer_is_never_passed_at_once():
    assert at_once([(torch.arange(9), torch.arange(9).clamp(max=7), None, None)]) is None


def test_what_is_not_a_number_on_both_sides_is_right_at_once():
    strange = torch.where(X > 1.99, math.nan, X)
    assert at_once([(strange, strange.clone(), LIMITS, None)])[0].mismatched == 0


@pytest.mark.parametrize("wrong_at, found", [(0, True), (70_000, False)])
def test_a_wrong_value_among_the_first_ones_is_found_there(wrong_at, found):
    values = torch.zeros(100_000)
    wrong = values.clone()
    wrong[wrong_at] = 1
    assert begins_wrong(values, wrong, LIMITS) == found


def test_an_output_without_values_does_not_begin_wrong():
    assert not begins_wrong(X[:0], X[:0], LIMITS)


def test_the_place_of_the_first_mismatch_is_an_index():
    wrong = X.clone()
    wrong[3, 7] += 1
    found = judged(X, wrong)
    assert found.first[1] == [3, 7]


def test_all_tensors_agree_only_where_each_pair_does():
    assert all_same_bits([(X, X.clone()), (X.T, X.T.clone())]) and all_same_bits([])
    assert not all_same_bits([(X, X.clone()), (X, torch.where(X == 0, -0.0, X) + 0.5)])
