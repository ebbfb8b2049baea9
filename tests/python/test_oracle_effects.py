"""What a reference changes in place is an output, and each output is certified by itself."""
import pytest
import torch
from oracle_world import draw, judge, module, request, session, tried  # noqa

from kernelwright._engine import wire
from kernelwright._engine.outputs import place_outputs
from kernelwright._engine.wire import made

ADDS = module("y.add_(x)\n        return y * 2.0", "[torch.randn(4, 8), torch.randn(4, 8)]", parameters="self, x, y")
SMALL = module("return torch.relu(x), x * 3e-6")
NAME = "input y changed in place"


def adds(inputs, _):
    inputs[1].add_(inputs[0])
    return inputs[1] * 2.0


def test_a_change_in_place_is_an_output_of_its_own(session):
    session.prepare(request(), ADDS)
    found = tried(session, adds)
    assert found.right and [each.output for each in found.outputs] == ["output", NAME]


@pytest.mark.parametrize("left", [lambda y: None, lambda y: y.zero_(), lambda y: y[3:].neg_()])
def test_another_change_in_place_is_wrong(session, left):
    session.prepare(request(), ADDS)

    def candidate(inputs, _):
        found = (inputs[0] + inputs[1]) * 2.0
        left(inputs[1])
        return found
    found = tried(session, candidate)
    assert found.errorClass == "wrong_value" and found.firstMismatch.output == NAME
    assert found.error.startswith(NAME) and "the reference changes this input" in found.error


def test_a_right_change_does_not_make_up_for_a_wrong_output(session):
    session.prepare(request(), ADDS)
    found = tried(session, lambda inputs, weights: adds(inputs, weights) + 1)
    assert found.errorClass == "wrong_value" and found.firstMismatch.output == "output"


def test_an_input_that_the_reference_leaves_alone_stays_as_it_is(session):
    session.prepare(request(), ADDS)

    def candidate(inputs, weights):
        found = adds(inputs, weights)
        inputs[0].zero_()
        return found
    assert tried(session, candidate).errorClass == "input_modified"


@pytest.mark.parametrize("source, call", [
    ("y.add_(x)\n        return y", lambda x, y: y.add_(x)),
    ("y.add_(x)\n        return {'output': y[1:], 'sum': y.sum()}", lambda x, y: {"output": y.add_(x)[1:], "sum": y.sum()}),
    ("y.copy_(x > 0)\n        return x + y", lambda x, y: x + y.copy_(x > 0))])
@pytest.mark.parametrize("rule", ["kernelbench", "strict"])
def test_outputs_may_be_the_changed_input(session, source, call, rule):
    session.prepare(request(tolerance=made(wire.ToleranceT, name=rule)),
                    module(source, "[torch.randn(4, 8), torch.randn(4, 8)]", parameters="self, x, y"))
    assert tried(session, lambda inputs, _: call(*inputs)).right


def test_a_mask_that_is_filled_in_place(session):
    session.prepare(request(), module("m.logical_not_()\n        return x * m", "[torch.randn(4, 8), torch.rand(4, 8) > 0.5]",
                                      parameters="self, x, m"))
    assert tried(session, lambda inputs, _: inputs[0] * inputs[1].logical_not_()).right
    found = tried(session, lambda inputs, _: inputs[0] * ~inputs[1])
    assert found.firstMismatch.output == "input m changed in place"


def test_an_earlier_result_is_judged_without_the_inputs(session):
    session.prepare(request(), ADDS)
    spec = wire.from_bytes("CallSpec", session._task.spec)
    arena = draw(session)
    x, y = (arena.tensor(each.tensor) for each in spec.inputs.items)
    outputs = place_outputs((x + y) * 2.0, arena, spec.outputsOffset)
    assert judge(session, outputs, outputsOnly=True).right and not judge(session, outputs).right


@pytest.mark.parametrize("second, wanted", [(lambda x: x * 3e-6, True), (lambda x: x * 3.1e-6, False),
                                            (torch.zeros_like, False)])
def test_an_output_within_the_tolerance_of_zero_is_judged_by_its_error_budget(session, second, wanted):
    reply, _ = session.prepare(request(), SMALL)
    assert reply.provesNothing == "" and len(reply.findings) == 1
    assert reply.findings[0].startswith("output[1]: an empty answer (zeros) passes the tolerance")
    found = tried(session, lambda inputs, _: (torch.relu(inputs[0]), second(inputs[0])))
    assert found.right is wanted
    assert wanted or found.firstMismatch.output == "output[1]"


def test_an_input_that_hardly_changes_is_judged_by_its_error_budget(session):
    session.prepare(request(), module("y.mul_(1.00001)\n        return x + y", "[torch.randn(4, 8), torch.randn(4, 8)]",
                                      parameters="self, x, y"))
    assert tried(session, lambda inputs, _: inputs[0] + inputs[1].mul_(1.00001)).right
    assert tried(session, lambda inputs, _: inputs[0] + inputs[1] * 1.00001).firstMismatch.output == NAME


@pytest.mark.parametrize("second", ["torch.zeros(4)", "x", "torch.arange(4.0)", "(x > 99)"])
def test_an_output_that_is_an_empty_answer_keeps_its_tolerance(session, second):
    reply, _ = session.prepare(request(), module(f"return torch.relu(x), {second}"))
    assert reply.provesNothing == "" and not reply.findings and not session._task.tight


def test_another_output_keeps_its_tolerance(session):
    session.prepare(request(), SMALL)
    assert tried(session, lambda inputs, _: (torch.relu(inputs[0]) + 5e-5, inputs[0] * 3e-6)).right


def test_a_reference_without_float64_keeps_its_tolerance(session):
    source = module("assert x.dtype is torch.float32\n        return torch.relu(x), x * 3e-6")
    reply, _ = session.prepare(request(), source)
    assert any("does not run in float64" in each for each in reply.findings) and not session._task.tight
    assert tried(session, lambda inputs, _: (torch.relu(inputs[0]), inputs[0] * 3e-6)).right


NORM = module("return self.norm(x)", "[torch.randn(64, 8) * 2 + 1]", init="self.norm = torch.nn.BatchNorm1d(8)")


def normalised(x, weights):
    return torch.nn.functional.batch_norm(x, None, None, weights["norm.weight"], weights["norm.bias"], training=True)


def test_a_buffer_that_the_reference_changes_may_stay(session):
    session.prepare(request(), NORM)
    assert tried(session, lambda inputs, weights: normalised(inputs[0], weights)).right


def test_a_buffer_may_change_as_the_reference_changes_it(session):
    def call(inputs, weights):
        weights["norm.num_batches_tracked"] += 1
        return torch.nn.functional.batch_norm(inputs[0], weights["norm.running_mean"], weights["norm.running_var"],
                                              weights["norm.weight"], weights["norm.bias"], training=True)
    session.prepare(request(), NORM)
    assert tried(session, call).right


@pytest.mark.parametrize("buffer, change", [("running_mean", 5.0), ("running_var", 1e-2), ("num_batches_tracked", 2)])
def test_a_buffer_may_not_change_otherwise(session, buffer, change):
    def call(inputs, weights):
        weights[f"norm.{buffer}"] += change
        return normalised(inputs[0], weights)
    session.prepare(request(), NORM)
    found = tried(session, call)
    assert not found.right and found.firstMismatch.output == f"weight norm.{buffer} changed in place"
