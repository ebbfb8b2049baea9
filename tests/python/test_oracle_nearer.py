"""Results that are as near to float64 as the reference's own are right."""
import pytest
import torch
from oracle_world import module, request, session, tried  # noqa

from kernelwright._engine.oracle import undecided

PRODUCTS = module("return x @ y + z @ y", "[torch.randn(shape).bfloat16() for shape in ((64, 4096), (64, 4096), (4096, 64))]",
                  parameters="self, x, z, y")


def in_one_sum(x, z, y):
    return (x.double() @ y.double() + z.double() @ y.double()).bfloat16()


def with_short_operands(x, z, y):
    return ((x * 1.0).to(torch.float8_e4m3fn).double() @ y.double() + z.double() @ y.double()).bfloat16()


def off_at_one_place(x, z, y):
    found = in_one_sum(x, z, y)
    found[3, 5] += 8.0
    return found


@pytest.mark.parametrize("function, right", [(in_one_sum, True), (with_short_operands, False), (off_at_one_place, False)])
def test_a_sum_that_is_rounded_once_is_right(session, function, right):
    session.prepare(request(), PRODUCTS)
    found = tried(session, lambda inputs, _: function(*inputs))
    assert found.right == right
    assert any("as near to float64" in each for each in found.findings) == right


# Neither a plainly wrong result nor a wrong integer is worth the time of a run in float64.
@pytest.mark.parametrize("source, function", [
    (PRODUCTS, lambda x, z, y: (x @ y).bfloat16()),
    (PRODUCTS.replace("return x @ y + z @ y", "return x @ y, x.argmax(-1)"), lambda x, z, y: (x @ y, x.argmin(-1)))])
def test_other_wrong_results_need_no_run_in_float64(session, monkeypatch, source, function):
    session.prepare(request(), source)
    runs = []
    monkeypatch.setattr(undecided, "settled", lambda prepared, pristine, seed, sides, found, devices, by_a_step: found)
    monkeypatch.setattr(session._task.reference, "call_wide", lambda *_: runs.append(1))
    assert not tried(session, lambda inputs, _: function(*inputs)).right and not runs


def test_the_finding_names_the_outputs_that_differ(session):
    session.prepare(request(), PRODUCTS.replace("return x @ y + z @ y", "return x @ y + z @ y, x * 2"))
    found = tried(session, lambda inputs, _: (in_one_sum(*inputs), inputs[0] * 2))
    assert found.right and [each.split(":")[0] for each in found.findings if "as near" in each] == ["output[0]"]
