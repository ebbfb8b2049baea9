"""Unusual but honest references."""
import pytest
import torch
from oracle_world import LINEAR, draw, module, request, session, tried  # noqa: F401

from kernelwright._engine.oracle.faults import TaskFault


def test_random_reference(session):
    reply, _ = session.prepare(request(), module("return torch.nn.functional.dropout(x, 0.5)"))
    assert reply.referenceRandom and "random numbers" in reply.findings[0]


def test_inputs_without_a_seed(session):
    reply, _ = session.prepare(request(), "import numpy\n" + module(
        "return x + 1", "[torch.from_numpy(numpy.random.default_rng().random(8))]"))
    assert "no seed reaches" in reply.findings[0] and tried(session, lambda inputs, _: inputs[0] + 1).right
    reply, _ = session.prepare(request(), "import numpy\n" + module("return x + 1", "[torch.from_numpy(numpy.random.rand(8))]"))
    assert not reply.findings and tried(session, lambda inputs, _: inputs[0] + 1).right


def test_state_is_put_back_before_each_call(session):
    source = module("self.count += 1; self.total += x.sum(); self.seen = x; return x + self.count + self.total", init=(
        "self.count = 0; self.register_buffer('total', torch.zeros(()))"))
    session.prepare(request(), source)
    for trial in range(3):
        assert tried(session, lambda inputs, _: inputs[0] + 1 + inputs[0].sum(), trial, 100 + trial).right


def test_inputs_must_keep_their_shape(session):
    source = module("return x + 1", "[torch.randn(int(torch.randint(3, 99, ())))]")
    session.prepare(request(certificateSeeds=[]), source)
    with pytest.raises(TaskFault) as caught:
        for seed in range(4):
            draw(session, seed=seed)
    assert "other shapes" in caught.value.error


def test_odd_inputs(session):
    source = module("return a.sum() + b[0] * b[1].sum() + c['k'] * d.sum()", parameters="self, a, b, c, d=None", inputs=(
        "[torch.randn(1, 8).expand(4, 8), (2.5, torch.randn(3)), {'k': torch.randn(3, 4).T}, torch.randn(9)[2:7]]"))
    session.prepare(request(), source)
    assert tried(session, lambda given, _: (given[0].sum() + given[1][0] * given[1][1].sum()
                                            + given[2]["k"] * given[3].sum())).right
    assert session._task.plan.labels == ["a", "b[1]", "c[0]", "d"]


def test_half_precision(session):
    session.prepare(request(precision="bf16"), LINEAR)
    found = tried(session, lambda i, w: torch.relu(torch.nn.functional.linear(i[0], w["fc.weight"], w["fc.bias"])))
    assert found.right and found.rtol == 1e-2


def test_poison_varies(session):
    session.prepare(request(), LINEAR)
    plan, seen = session._task.plan, set()
    for seed in range(24):
        region = draw(session, seed, seed).bytes(plan.outputs_offset, 4096)
        seen.add("nan" if region.view(torch.float32).isnan().all() else "zeros" if not region.any() else "data")
    assert seen == {"nan", "zeros", "data"}


def test_output_that_is_the_modules_own_buffer(session):
    source = module("self.total += x.sum(); return self.total", init="self.register_buffer('total', torch.zeros(1))")
    for text in (source, source.replace("register_buffer('total', ", "__setattr__('total', ")):
        reply, _ = session.prepare(request(), text)
        assert reply.provesNothing == ""
        assert tried(session, lambda inputs, _: inputs[0].sum()[None]).right


def test_parameters_that_the_call_changes(session):
    source = module("self.w.add_(1); return x * self.w", init="self.w = torch.nn.Parameter(torch.ones(8))")
    reply, _ = session.prepare(request(), source)
    assert reply.findings == ["the reference changes w"]
    for trial in range(2):
        assert tried(session, lambda inputs, weights: inputs[0] * weights["w"].add_(1), trial).right
