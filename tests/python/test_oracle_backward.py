"""An oracle judges gradients as it does outputs: which there are, how far they may be off, and whose fault it is."""
import pytest
import torch
from oracle_world import LINEAR, draw, judge, module, request, session  # noqa: F401

from kernelwright._engine import wire
from kernelwright._engine.backward import expanded
from kernelwright._engine.oracle.faults import TaskFault
from kernelwright._engine.outputs import place_outputs
from kernelwright._engine.values import from_wire
from kernelwright._engine.wire import made, text, texts

INPUT, WEIGHT, BIAS = "gradient of input x", "gradient of parameter fc.weight", "gradient of parameter fc.bias"


def prepared(session, source, **fields):
    return session.prepare(request(backward=True, **fields), source)[0]


def refused(session, source):
    with pytest.raises(TaskFault) as caught:
        prepared(session, source)
    return caught.value.error


def tried(session, candidate, seed=77):
    """The JudgedT of `candidate(inputs, cotangents, weights)`, a dict of outputs and gradients."""
    spec = wire.from_bytes("CallSpec", session._task.spec)
    arena = draw(session, seed=seed)
    inputs = [from_wire(each, arena.tensor) for each in spec.inputs.items]
    cotangents = [arena.tensor(each.tensor) for each in spec.cotangents.items]
    weights = {text(each.name): arena.tensor(each.tensor) for each in spec.weights or ()}
    return judge(session, place_outputs(candidate(inputs, cotangents, weights), arena, spec.outputsOffset), seed=seed)


def linear(inputs, cotangents, weights):
    """The outputs and gradients of LINEAR, by hand."""
    out = torch.relu(inputs[0] @ weights["fc.weight"].T + weights["fc.bias"])
    slope = cotangents[0] * (out > 0)
    return {"output": out, INPUT: slope @ weights["fc.weight"], WEIGHT: slope.T @ inputs[0], BIAS: slope.sum(0)}


def test_each_input_and_parameter_has_a_gradient(session):
    assert texts(prepared(session, LINEAR).gradients) == [INPUT, WEIGHT, BIAS]


def test_none_has_one_unless_it_is_asked_for(session):
    reply, spec = session.prepare(request(), LINEAR)
    assert not reply.gradients and wire.from_bytes("CallSpec", spec).cotangents is None


def test_right_gradients_are_right(session):
    prepared(session, LINEAR)
    reply = tried(session, linear)
    assert reply.right and [text(each.output) for each in reply.outputs] == ["output", INPUT, WEIGHT, BIAS]


@pytest.mark.parametrize("name", [INPUT, WEIGHT, BIAS])
def test_a_wrong_gradient_is_named(session, name):
    prepared(session, LINEAR)
    reply = tried(session, lambda *given: {**linear(*given), name: linear(*given)[name] * 1.01})
    assert not reply.right and text(reply.error).startswith(f"{name}: ") and text(reply.errorClass) == "wrong_value"


def test_cotangents_are_new_in_each_trial(session):
    prepared(session, LINEAR)
    kept = []
    for seed in (1, 2):
        tried(session, lambda inputs, cotangents, weights: kept.append(cotangents[0].clone()) or linear(
            inputs, cotangents, weights), seed)
    assert not torch.equal(*kept)


def test_a_single_cotangent_is_never_near_zero(session):
    prepared(session, module("return x.mean()"))
    backward = session._task.reference.backward
    assert min(abs(backward.cotangents(seed, torch.device("cpu"))[0].item()) for seed in range(200)) >= 0.5


@pytest.mark.parametrize("result, strides", [
    ("x * 2", (0, 0)), ("torch.softmax(x, -1)", (0, 1)), ("torch.softmax(x, 0)", (1, 0)),
    ("torch.softmax(x.view(-1), 0)", (1,)), ("x[0].sum(), x * 2", (0, 0))])
def test_cotangents_are_expanded_where_no_gradient_vanishes(session, result, strides):
    prepared(session, module(f"return {result}", "[torch.randn(4, 8)]"))
    backward = session._task.reference.backward
    assert expanded(backward.cotangents(3, torch.device("cpu"), True)[-1]).stride() == strides
    assert expanded(backward.cotangents(3, torch.device("cpu"))[-1]).stride() == ((8, 1) if len(strides) == 2 else (1,))


def test_expanded_cotangents_are_drawn_again_where_they_are_judged(session):
    prepared(session, LINEAR)
    spec = wire.from_bytes("CallSpec", session._task.spec)
    arena = session.draw(made(wire.DrawT, trial=0, seed=5, slot=0, expanded=True))
    inputs = [from_wire(each, arena.tensor) for each in spec.inputs.items]
    weights = {text(each.name): arena.tensor(each.tensor) for each in spec.weights}
    found = linear(inputs, [arena.tensor(spec.cotangents.items[0].tensor)], weights)
    outputs = place_outputs(found, arena, spec.outputsOffset)
    draw(session, trial=1, seed=6)
    reply = session.judge(made(wire.JudgeT, trial=0, seed=5, outputs=outputs))
    assert reply.right, text(reply.error)


@pytest.mark.parametrize("value, words", [
    (None, "the outputs carry no gradient"), ("absent", f"no {WEIGHT}: the candidate has neither"),
    ("unused", f"no {WEIGHT}: the backward returns None"), ("<b>", f"no {WEIGHT}: the call returns none")])
def test_a_missing_gradient_is_named(session, value, words):
    prepared(session, LINEAR)
    reply = tried(session, lambda *given: {**linear(*given), WEIGHT: value})
    assert text(reply.errorClass) == "no_gradient" and text(reply.error).startswith(words)


def test_wrong_outputs_come_before_missing_gradients(session):
    prepared(session, LINEAR)
    reply = tried(session, lambda *given: {"output": given[1][0], INPUT: None, WEIGHT: None, BIAS: None})
    assert text(reply.error).startswith("output: ")


@pytest.mark.parametrize("change", [lambda found: found["output"], lambda found: {"output": found["output"]},
                                    lambda found: None])
def test_a_result_without_the_form_of_gradients_is_wrong(session, change):
    prepared(session, LINEAR)
    assert text(tried(session, lambda *given: change(linear(*given))).errorClass) == "wrong_structure"


def test_a_changed_cotangent_is_named(session):
    def spoils(inputs, cotangents, weights):
        found = linear(inputs, cotangents, weights)
        cotangents[0].zero_()
        return found
    prepared(session, LINEAR)
    reply = tried(session, spoils)
    assert text(reply.errorClass) == "input_modified" and "changed cotangent of output," in text(reply.error)


def test_small_gradients_are_judged_by_their_own_size(session):
    # 1e-4 would pass whatever has the size of these gradients.
    prepared(session, module("return x.mean()", "[torch.randn(64, 1024)]"))
    right = {"output": lambda x: x.mean(), INPUT: lambda x, g: (g / x.numel()).expand(x.shape)}

    def result(inputs, cotangents, share):
        return {"output": right["output"](inputs[0]), INPUT: right[INPUT](inputs[0], cotangents[0]) * share}
    assert tried(session, lambda inputs, cotangents, _: result(inputs, cotangents, 1.0)).right
    assert not tried(session, lambda inputs, cotangents, _: result(inputs, cotangents, 1.001)).right


def test_the_order_of_a_large_sum_is_granted(session):
    prepared(session, module("return x * y", "[torch.randn(200000, 1) * 30, torch.randn(1)]", parameters="self, x, y"))

    def one_by_one(inputs, cotangents, _):
        x, y = inputs
        terms = (cotangents[0] * x).view(-1)
        total = terms.cumsum(0)[-1:]  # in float32, term after term
        return {"output": x * y, INPUT: cotangents[0] * y, "gradient of input y": total}
    reply = tried(session, one_by_one)
    assert reply.right, text(reply.error)


# Its gradient is off by a thousandth where the cotangent has a stride of 0.
ROUGH = """
import torch
import torch.nn as nn


class Rough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, cotangent):
        return cotangent * (2 + 0.002 * (0 in cotangent.stride() and cotangent.dtype is torch.float32))


class Model(nn.Module):
    def forward(self, x):
        return Rough.apply(x)


def get_inputs():
    return [torch.randn(64, 32)]


def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("is_expanded, off, right", [(True, 3e-3, True), (True, 2e-2, False), (False, 3e-3, False)])
def test_the_references_own_error_counts_by_the_same_strides(session, is_expanded, off, right):
    prepared(session, ROUGH)
    spec = wire.from_bytes("CallSpec", session._task.spec)
    arena = session.draw(made(wire.DrawT, trial=0, seed=5, slot=0, expanded=is_expanded))
    x, cotangent = arena.tensor(spec.inputs.items[0].tensor), arena.tensor(spec.cotangents.items[0].tensor)
    outputs = place_outputs({"output": x * 2, INPUT: cotangent * (2 + off)}, arena, spec.outputsOffset)
    reply = session.judge(made(wire.JudgeT, trial=0, seed=5, outputs=outputs))
    assert reply.right is right, text(reply.error)


# A bias in front of a mean that is taken away, as in a batch norm: its gradient is zero but for rounding.
@pytest.mark.parametrize("off, right", [(0, True), (1e-2, False)])
def test_a_gradient_of_rounding_alone_may_round_otherwise(session, off, right):
    prepared(session, module("z = x + y; return z - z.mean(0)", "[torch.randn(1024, 64), torch.randn(64)]",
                             parameters="self, x, y"))

    def row_by_row(inputs, cotangents, _):
        z, (g,) = inputs[0] + inputs[1], cotangents
        centred = g - g.mean(0)
        return {"output": z - z.mean(0), INPUT: centred, "gradient of input y": centred.flip(0).cumsum(0)[-1] + off}
    reply = tried(session, row_by_row)
    assert reply.right is right, text(reply.error)


@pytest.mark.parametrize("tolerance, right", [("kernelbench", False), ("custom", True)])
def test_a_tolerance_of_the_users_own_holds_as_it_is(session, tolerance, right):
    fields = dict(rtol=0.0, atol=1e-2) if tolerance == "custom" else {}
    prepared(session, module("return x.sum()"), tolerance=made(wire.ToleranceT, name=tolerance, **fields))
    reply = tried(session, lambda inputs, cotangents, _: {
        "output": inputs[0].sum(), INPUT: (cotangents[0] + 5e-3).expand(inputs[0].shape)})
    assert reply.right is right


def test_an_input_that_decides_nothing_may_lack_its_gradient(session):
    prepared(session, module("return x * (y > 0)", "[torch.randn(4, 8), torch.randn(4, 8)]", parameters="self, x, y"))
    spec = wire.from_bytes("CallSpec", session._task.spec)
    assert [(text(each.name), each.mayLack) for each in spec.gradients] == [(INPUT, False), ("gradient of input y", True)]


def test_integers_frozen_parameters_and_indices_have_none(session):
    source = module("return self.w[at] * x, torch.argmax(x)", "[torch.randint(0, 4, (8,)), torch.randn(8)]",
                    "self.w = torch.nn.Parameter(torch.randn(4)); self.f = torch.nn.Parameter(torch.ones(2), False)",
                    "self, at, x")
    assert texts(prepared(session, source).gradients) == [INPUT, "gradient of parameter w"]
    spec = wire.from_bytes("CallSpec", session._task.spec)
    assert len(spec.cotangents.items) == 1 and len(spec.inputs.items) == 2


def test_a_dictionary_of_outputs_has_a_cotangent_each(session):
    prepared(session, module("return {'a': x * 2, 'n': 3, 'b': x.sum()}"))
    assert session._task.plan.labels == ["x", "cotangent of output['a']", "cotangent of output['b']"]


@pytest.mark.parametrize("source, words", [
    (module("return x + 1", "[torch.arange(8)]"), "neither an input of real numbers nor a parameter"),
    (module("return (x > 0)"), "outputs carry no gradient"),
    (module("return (x * 2).detach()"), "outputs carry no gradient"),
    (module("return x.mul_(2)"), "changes its input x, so that no gradient is defined"),
    (module("return torch.zeros(3, requires_grad=True) + 1"), "no output of the reference depends on an input"),
    (module("return torch.nextafter(x, x + 1)"), "the reference's backward pass raised"),
])
def test_a_reference_without_gradients_is_the_tasks_fault(session, source, words):
    error = refused(session, source)
    assert words in error


def test_families_change_cotangents_too(session):
    reply = prepared(session, module("return torch.tanh(x)"), varied=True)
    drawn = session.draw_family(made(wire.DrawT, trial=1, seed=5, slot=0, family="scaled_8"))[1]
    assert "scaled_8" in texts(reply.families) and not drawn.dropped and "cotangent of output" in text(drawn.description)


def test_half_precision_has_gradients(session):
    prepared(session, LINEAR, precision="bf16")
    assert tried(session, linear).right


def test_the_strict_tolerance_holds_for_gradients(session):
    prepared(session, LINEAR, tolerance=made(wire.ToleranceT, name="strict"))
    assert tried(session, linear).right
    assert not tried(session, lambda *given: {**linear(*given), BIAS: linear(*given)[BIAS] + 3e-5}).right


def test_statistics_that_a_call_updates_are_as_before_each(session):
    source = module("return self.norm(x)", "[torch.randn(16, 8)]", "self.norm = torch.nn.BatchNorm1d(8)")
    reply = prepared(session, source)
    assert len(reply.gradients) == 3
    task = session._task
    first, again = (task.expected(task.draw(3), 3)[0] for _ in range(2))
    assert all(torch.equal(first[name], again[name]) for name in first)


@pytest.mark.parametrize("product", ["x @ self.w", "torch.matmul(x, self.w)", "torch.addmm(self.w[0], x, self.w)"])
def test_tf32_rounds_the_products_of_both_passes(session, product):
    def errors(**fields):
        prepared(session, module(f"return {product}", "[torch.randn(64, 64)]",
                                 "self.w = torch.nn.Parameter(torch.randn(64, 64))"), **fields)
        task = session._task
        inputs = task.draw(3)
        own, exact = task.reference.call(inputs, 3), task.reference.call_exact(inputs, 3)
        return [(own[name] - exact[name]).abs().max() / exact[name].abs().max() for name in own]
    assert max(errors()) < 1e-6 and all(1e-5 < each < 1e-2 for each in errors(tf32=True))


@pytest.mark.parametrize("dtype, factor, right", [(torch.float32, 2, True), (torch.float64, 2, True),
                                                  (torch.float32, 3, False)])
def test_where_a_gradient_jumps_pytorch_and_float64_are_right(session, dtype, factor, right):
    # Rounding decides which branch is taken: in float32 as often as not another one than in float64.
    prepared(session, module("above = (x + 1.0) - 1.0 > x; return x + torch.where(above, x, 2 * x) * 0.0 + "
                             "(torch.where(above, x, 2 * x) - torch.where(above, x, 2 * x).detach())"))

    def result(inputs, cotangents, _):
        x = inputs[0].to(dtype)
        return {"output": inputs[0].clone(), INPUT: cotangents[0] * torch.where((x + 1.0) - 1.0 > x, 2, factor + 1)}
    reply = tried(session, result)
    assert reply.right is right, text(reply.error)


def test_empty_inputs_have_empty_gradients(session):
    source = "ROWS = 4\n" + module("return torch.softmax(x, -1)", "[torch.randn(ROWS, 8)]")
    prepared(session, source, version="empty", certificateSeeds=[])
    reply = tried(session, lambda inputs, cotangents, _: {"output": inputs[0].clone(), INPUT: cotangents[0].clone()})
    assert reply.right and [list(each.shape) for each in reply.outputs] == [[0, 8], [0, 8]]
