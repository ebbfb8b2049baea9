"""What the oracle says of a task without a candidate."""
import pytest
from oracle_world import module, request, session  # noqa: F401

from kernelwright._engine import wire
from kernelwright._engine.oracle import certify, error_units
from kernelwright._engine.wire import made, text, texts

SEEDS = [101, 202, 303]


def certified(session, source, **fields):  # noqa: F811
    session.prepare(request(**fields), source)
    return session.certify(made(wire.CertifyT, seeds=SEEDS))


def weak(session, source, **fields):  # noqa: F811
    return texts(certified(session, source, **fields).weakAnswers)


def test_a_sound_task_has_nothing_to_say(session):  # noqa: F811
    found = certified(session, module("return torch.softmax(x, -1)", "[torch.randn(16, 64)]"))
    (given,), (output,) = found.inputs, found.outputs
    assert (text(given.input), text(given.dtype), list(given.shape)) == ("x", "float32", [16, 64])
    assert given.varies and not given.ignored and text(given.values) == "normal"
    assert not output.illConditioned and 0 <= output.referenceLoss < 1e-6 < output.rms and output.sensitivity >= 0
    assert not texts(found.weakAnswers) and not texts(output.emptyAnswers) and text(output.whyUnknown) == ""


def test_an_input_that_no_output_needs_is_ignored(session):  # noqa: F811
    source = module("return torch.exp(x) + 1e-7 * y", "[torch.randn(4, 8), torch.randn(4, 8)]", parameters="self, x, y")
    found = certified(session, source)
    assert [each.ignored for each in found.inputs] == [False, True]


def test_an_input_that_never_varies(session):  # noqa: F811
    source = module("return torch.exp(x) * y", "[torch.randn(4, 8), torch.ones(4, 8)]", parameters="self, x, y")
    found = certified(session, source)
    assert [each.varies for each in found.inputs] == [True, False]
    assert text(found.inputs[1].whyKept) == "constant" and not found.inputs[1].ignored


def test_integers_vary_too(session):  # noqa: F811
    (given,) = certified(session, module("return x * 2", "[torch.randint(0, 9, (4, 8))]")).inputs
    assert given.varies and text(given.whyKept) == "no real numbers"


@pytest.mark.parametrize("forward, inputs, answer", [
    ("return x.mean(1)", "[torch.rand(64, 4096) * 0.02]", "bfloat16"),
    ("return x.square().mean(1)", "[torch.randn(4, 4096) * 0.03]", "half"),
    ("return x + 1e-5 * torch.sin(50 * x)", "[torch.randn(16, 64)]", "affine")])
def test_a_weak_answer_passes(session, forward, inputs, answer):  # noqa: F811
    assert answer in weak(session, module(forward, inputs))


@pytest.mark.parametrize("forward, inputs", [
    ("return x.mean(1)", "[torch.randn(64, 64)]"),
    ("return x.square().mean(1)", "[torch.randn(4, 64)]"),
    ("return 3 * x + 1", "[torch.randn(16, 64)]"),  # an affine function is no incomplete one
    ("return x @ y", "[torch.randn(32, 64), torch.randn(64, 32)]")])
def test_an_honest_task_has_no_weak_answer(session, forward, inputs):  # noqa: F811
    assert weak(session, module(forward, inputs, parameters="self, x, y=None")) == []


def test_strict_passes_no_weak_answer(session):  # noqa: F811
    source = module("return x.mean(1)", "[torch.rand(64, 4096) * 0.02]")
    assert weak(session, source, tolerance=made(wire.ToleranceT, name="strict")) == []


def test_an_ill_conditioned_output(session):  # noqa: F811
    (output,) = certified(session, module("return (x + 1e6 - 1e6)", "[torch.randn(16, 64)]")).outputs
    assert output.illConditioned and output.referenceLoss > 1e-3 * output.rms


def test_a_step_is_ill_conditioned_where_inputs_lie_on_it(session):  # noqa: F811
    source = module("return torch.floor(x * 8) / 8", "[torch.randint(0, 64, (64, 64)) / 8 + torch.randn(64, 64) * 1e-9]")
    (output,) = certified(session, source).outputs
    assert output.illConditioned


@pytest.mark.parametrize("forward, why", [
    ("return torch.log(x)", error_units.NONFINITE), ("return x > 0", error_units.EXACT),
    ("return torch.nn.functional.dropout(x)", error_units.RANDOM),
    ("assert x.dtype is torch.float32\n        return torch.exp(x)", error_units.NO_FLOAT64)])
def test_where_distances_are_not_known(session, forward, why):  # noqa: F811
    (output,) = certified(session, module(forward)).outputs
    assert text(output.whyUnknown) == why and output.referenceLoss == -1


def test_one_of_several_outputs_may_be_empty(session):  # noqa: F811
    found = certified(session, module("return torch.exp(x), torch.zeros(4)"))
    assert [texts(each.emptyAnswers) for each in found.outputs][0] == []
    assert "zeros" in texts(found.outputs[1].emptyAnswers)


def test_an_only_output_has_the_empty_answers_of_the_task(session):  # noqa: F811
    (output,) = certified(session, module("return x * 0")).outputs
    assert "zeros" in texts(output.emptyAnswers)


def test_changes_in_place_and_unseeded_inputs(session):  # noqa: F811
    found = certified(session, module("x.add_(1)\n        return torch.exp(x)"))
    assert texts(found.changedInputs) == ["x"] and not found.unseeded
    source = "import os\n" + module("return torch.exp(x)", "[torch.tensor(list(os.urandom(8))).float()]")
    assert certified(session, source, taskKey="other").unseeded


def test_a_slow_reference_is_not_tried_for_ever(session, monkeypatch):  # noqa: F811
    source = module("return x.mean(1)", "[torch.rand(64, 4096) * 0.02]")
    assert not text(certified(session, source).untried)
    monkeypatch.setattr(certify, "BUDGET_S", -1.0)
    found = certified(session, source)
    assert text(found.untried) == certify.SLOW and not texts(found.weakAnswers)


def test_a_large_task_is_not_copied(session, monkeypatch):  # noqa: F811
    monkeypatch.setattr(error_units, "LIMIT_BYTES", 100)
    found = certified(session, module("return x.mean(1)", "[torch.rand(64, 4096) * 0.02]"))
    assert text(found.untried) == certify.LARGE and text(found.outputs[0].whyUnknown) == error_units.TOO_LARGE
    assert found.inputs[0].varies and not found.inputs[0].ignored


def test_without_the_reference_s_own_error_nothing_is_weak(session):  # noqa: F811
    assert weak(session, module("return x.bfloat16().float().mean(1).view(torch.int32).view(torch.float32)",
                                "[torch.rand(64, 4096) * 0.02]")) == []


def test_a_reference_that_refuses_changed_inputs_has_no_weak_answer(session):  # noqa: F811
    source = module("assert x.bfloat16().float().ne(x).any()\n        return x.mean(1)", "[torch.rand(64, 4096) * 0.02]")
    assert "bfloat16" not in weak(session, source)
