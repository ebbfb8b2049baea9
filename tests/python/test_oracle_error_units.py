"""The unit of errors: what the reference itself loses against float64."""
import pytest
from oracle_world import draw, judge, module, request, session, tried  # noqa: F401

from kernelwright._engine import wire
from kernelwright._engine.oracle import error_units
from kernelwright._engine.wire import made, text

PRODUCT = module("return x @ y", "[torch.randn(64, 512), torch.randn(512, 64)]", parameters="self, x, y")
MEANS = module("return x.mean(1)", "[torch.rand(64, 4096) * 0.02]")


def ratios(session, candidate):  # noqa: F811
    """{output: its largest error in units} of a right candidate."""
    found = tried(session, candidate)
    assert found.right, text(found.error)
    return {text(each.output): each.maxAbsError / each.errorUnit for each in found.outputs if each.errorUnit > 0}


def unit_of(session, source, output="output", **fields):  # noqa: F811
    session.prepare(request(**fields), source)
    return session._task.error_units[output]


def test_an_exact_copy_has_no_error(session):  # noqa: F811
    session.prepare(request(), PRODUCT)
    assert ratios(session, lambda inputs, _: inputs[0] @ inputs[1]) == {"output": 0}


def test_another_order_of_additions_has_a_small_ratio(session):  # noqa: F811
    session.prepare(request(), PRODUCT)
    parts = [slice(0, 128), slice(128, 256), slice(256, 512)]
    found = ratios(session, lambda inputs, _: sum(inputs[0][:, at] @ inputs[1][at] for at in parts))
    assert 0 < found["output"] < 10


def test_coarse_arithmetic_within_the_tolerance_has_a_large_ratio(session):  # noqa: F811
    session.prepare(request(), MEANS)
    found = ratios(session, lambda inputs, _: inputs[0].bfloat16().float().mean(1))
    assert found["output"] > 100


def test_under_strict_the_unit_is_the_same(session):  # noqa: F811
    plain = unit_of(session, PRODUCT)
    assert unit_of(session, PRODUCT, tolerance=made(wire.ToleranceT, name="strict"), taskKey="strict") == plain


def test_the_unit_is_the_loss_but_at_least_one_ulp(session):  # noqa: F811
    found = unit_of(session, module("return torch.relu(x), x @ x.T", "[torch.ones(8, 8) * 1.5]"), "output[0]").value
    assert found == 2.0 ** -23
    assert session._task.error_units["output[1]"].value == 2.0 ** -19  # of 18, which float32 holds exactly


@pytest.mark.parametrize("forward, why", [
    ("return (x * 100).long()", error_units.EXACT),
    ("return x > 0", error_units.EXACT),
    ("return x.double() * 2", error_units.FLOAT64),
    ("return torch.nn.functional.dropout(x)", error_units.RANDOM),
    ("assert x.dtype is torch.float32\n        return torch.exp(x)", error_units.NO_FLOAT64),
    ("return torch.exp(x).view(torch.int32).view(torch.float32)", error_units.NARROWED),
    ("return torch.log(x)", error_units.NONFINITE)])
def test_where_there_is_no_unit(session, forward, why):  # noqa: F811
    found = unit_of(session, module(forward))
    assert (found.value, found.why) == (None, why)


def test_conversions_inside_are_widened(session):  # noqa: F811
    found = unit_of(session, module("return torch.exp(x.float()).to(torch.float32)"))
    assert found.value > 0 and found.why == ""


def test_a_result_of_nan_has_no_unit(session):  # noqa: F811
    session.prepare(request(), PRODUCT)
    (found,) = tried(session, lambda inputs, _: (inputs[0] @ inputs[1]) * float("nan")).outputs
    assert (found.errorUnit, text(found.noUnit)) == (-1, error_units.NONFINITE)


def test_a_large_task_is_not_run_in_float64(session, monkeypatch):  # noqa: F811
    monkeypatch.setattr(error_units, "LIMIT_BYTES", 100)
    assert unit_of(session, PRODUCT).why == error_units.TOO_LARGE


def test_each_output_has_its_own_unit(session):  # noqa: F811
    session.prepare(request(), module("return {'a': torch.exp(x), 'n': x.argmax(1), 'b': torch.exp(x) * 1000}"))
    found = session._task.error_units
    assert found["output['n']"].why == error_units.EXACT
    assert found["output['b']"].value > 100 * found["output['a']"].value


def test_a_changed_input_has_a_unit(session):  # noqa: F811
    session.prepare(request(), module("y.mul_(x)\n        return y + 1", "[torch.randn(4, 8), torch.randn(4, 8)]",
                                      parameters="self, x, y"))
    assert session._task.error_units["input y changed in place"].value > 0
    found = ratios(session, lambda inputs, _: inputs[1].mul_(inputs[0]) + 1)
    assert found == {"output": 0, "input y changed in place": 0}


@pytest.mark.parametrize("forward", ["y.mul_(x)\n        return torch.nn.functional.dropout(y)",
                                     "y.mul_(x)\n        return torch.nn.functional.dropout(y), y + 1"])
def test_changed_inputs_of_a_random_reference(session, forward):  # noqa: F811
    session.prepare(request(), module(forward, "[torch.randn(4, 8), torch.randn(4, 8)]", parameters="self, x, y"))
    units = session._task.error_units
    assert {each.why for each in units.values()} == {error_units.RANDOM} and "input y changed in place" in units


def test_changed_inputs_of_a_large_task(session, monkeypatch):  # noqa: F811
    monkeypatch.setattr(error_units, "LIMIT_BYTES", 100)
    session.prepare(request(), module("y.mul_(x)\n        return y + 1", "[torch.randn(4, 8), torch.randn(4, 8)]",
                                      parameters="self, x, y"))
    assert session._task.error_units["output"].why == error_units.TOO_LARGE


def test_the_reference_runs_in_float64_once_a_task(session, monkeypatch):  # noqa: F811
    calls = []
    run = error_units._in_float64
    monkeypatch.setattr(error_units, "_in_float64", lambda *given: calls.append(1) or run(*given))
    for _ in range(2):
        session.prepare(request(), PRODUCT)
        tried(session, lambda inputs, _: inputs[0] @ inputs[1])
    assert len(calls) == 1 and session._task.reference._exact is None


def test_a_wrong_form_has_no_outputs_and_a_judgement_names_the_reason(session):  # noqa: F811
    session.prepare(request(), module("return x > 0"))
    assert not tried(session, lambda inputs, _: inputs[0].T > 0).outputs
    found = tried(session, lambda inputs, _: inputs[0] > 0).outputs[0]
    assert found.errorUnit == -1 and text(found.noUnit) == error_units.EXACT
