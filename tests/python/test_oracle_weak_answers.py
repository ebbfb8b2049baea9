"""Outputs for which an incomplete computation passes the tolerance have a smaller limit; others keep the tolerance."""
import pytest
import torch
from oracle_world import module, request, session, tried  # noqa: F401

from kernelwright._engine import wire
from kernelwright._engine.oracle import weak_answers
from kernelwright._engine.wire import made, text, texts


def prepared(session, source, **fields):  # noqa: F811
    reply, _ = session.prepare(request(**fields), source)
    return reply, session._task


def limit_of(session, source, **fields):  # noqa: F811
    return prepared(session, source, **fields)[1].limits.get(0)


SIGMOID = module("return torch.sigmoid(x * 0.05) * 0.1", "[torch.randn(64, 512)]")
MEAN = module("return x.mean(-1)", "[torch.rand(32, 1) + 0.02 * torch.rand(32, 32768)]")
SOFTMAX = module("return torch.softmax(x, -1)", "[torch.randn(4, 65536) * 0.1]")
FORGOTTEN = module("return (x * mask).mean(-1)", "[torch.randn(64, 1024) * 0.02, torch.rand(64, 1024) < 0.999]",
                   parameters="self, x, mask")
TABLE = module("return torch.sin(table) + 1e-5 * torch.exp(x)",
               "[torch.rand(16384), torch.arange(16384, dtype=torch.float32) * 0.001]", parameters="self, x, table")


@pytest.mark.parametrize("source, answer", [
    (SIGMOID, "a line of an input"), (MEAN, "half of every input"), (FORGOTTEN, "one without an input"), (TABLE, "stale")])
def test_an_incomplete_computation_that_passes_is_named(session, source, answer):  # noqa: F811
    reply, task = prepared(session, source)
    assert task.limits[0] < 1e-4 and not text(reply.provesNothing)
    assert any(answer in each and "may be at most" in each for each in texts(reply.findings))


@pytest.mark.parametrize("source, weak, own", [
    (SIGMOID, lambda x: (0.5 + x * 0.0125) * 0.1, lambda x: 0.1 / (1 + torch.exp(-0.05 * x))),
    (MEAN, lambda x: x[:, :16384].mean(-1), lambda x: x.double().mean(-1).float()),
    (SOFTMAX, lambda x: torch.full_like(x, 1 / 65536), lambda x: torch.exp(x) / torch.exp(x).sum(-1, keepdim=True)),
    (SOFTMAX, torch.zeros_like, lambda x: torch.exp2(x * 1.4426950408889634).double().div_(
        torch.exp2(x * 1.4426950408889634).double().sum(-1, keepdim=True)).float()),
    (FORGOTTEN, lambda x, mask: x.mean(-1), lambda x, mask: torch.where(mask, x, 0.0).sum(-1) / 1024),
    (TABLE, lambda x, table: torch.sin(table), lambda x, table: 1e-5 * torch.exp(x) + torch.sin(table)),
])
def test_it_is_wrong_and_the_computation_right(session, source, weak, own):  # noqa: F811
    prepared(session, source)
    found = tried(session, lambda inputs, _: weak(*inputs))
    assert not found.right and text(found.errorClass) == "wrong_value"
    assert tried(session, lambda inputs, _: own(*inputs), trial=2, seed=78).right


# Operands with 10 bits of mantissa count, so the limit leaves them room.
def test_operands_of_float16_stay_right(session):  # noqa: F811
    prepared(session, SIGMOID)
    assert tried(session, lambda inputs, _: torch.sigmoid(inputs[0].half().float() * 0.05) * 0.1).right


@pytest.mark.parametrize("forward, inputs", [
    ("return torch.softmax(x, -1)", "[torch.randn(32, 64)]"),
    ("return torch.relu(x @ y)", "[torch.randn(32, 64), torch.randn(64, 32)]"),
    ("return 3 * x + 1", "[torch.randn(16, 64)]"),                # a line itself
    ("return torch.relu(x)", "[torch.rand(16, 64)]"),             # its input itself
    ("return x.sum(-1)", "[torch.randint(9, (16, 64))]"),         # integers must be equal
    ("return torch.zeros_like(x)", "[torch.randn(16, 64)]"),
    ("return torch.nn.functional.dropout(x * 1e-6)", "[torch.randn(16, 64)]")])
def test_other_outputs_keep_the_tolerance(session, forward, inputs):  # noqa: F811
    assert limit_of(session, module(forward, inputs, parameters="self, x, y=None")) is None


def test_an_output_that_is_an_empty_answer_still_proves_nothing(session):  # noqa: F811
    reply, task = prepared(session, module("return torch.relu(x)", "[torch.rand(16, 64)]"))
    assert text(reply.provesNothing) == "echo" and not task.limits


def test_without_an_error_against_float64_a_task_still_proves_nothing(session):  # noqa: F811
    source = module("assert x.dtype is torch.float32\n        return torch.softmax(x, -1)", "[torch.randn(4, 65536) * 0.1]")
    reply, task = prepared(session, source)
    assert text(reply.provesNothing) == "zeros" and not task.limits


@pytest.mark.parametrize("tolerance", [dict(name="strict"), dict(name="custom", rtol=1e-3, atol=1e-3)])
def test_strict_and_custom_tolerances_have_no_limit(session, tolerance):  # noqa: F811
    assert limit_of(session, SIGMOID, tolerance=made(wire.ToleranceT, **tolerance)) is None


def test_one_of_several_outputs_has_a_limit(session):  # noqa: F811
    source = module("return torch.exp(x), torch.sigmoid(x * 0.05) * 0.1", "[torch.randn(64, 512)]")
    _, task = prepared(session, source)
    assert list(task.limits) == [1]
    weak = tried(session, lambda inputs, _: (torch.exp(inputs[0]), (0.5 + inputs[0] * 0.0125) * 0.1))
    assert not weak.right and "output[1]" in text(weak.error)


def test_a_slow_reference_is_not_repeated(session, monkeypatch):  # noqa: F811
    monkeypatch.setattr(weak_answers, "SLOW_S", -1.0)
    assert limit_of(session, MEAN) is None


# It tells nothing of operands in which the error of counting ones is as large.
def test_a_limit_that_would_refuse_counting_operands_is_left_out(session):  # noqa: F811
    source = module("return torch.softmax(q @ k.T * 2e-5, -1) @ v",
                    "[torch.randn(64, 32), torch.randn(128, 32), torch.randn(128, 32)]", parameters="self, q, k, v")
    assert limit_of(session, source) is None
