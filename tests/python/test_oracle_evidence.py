"""What an oracle states about each judgement beyond right or wrong, and the bounds of its message."""
import math

import torch
from oracle_world import LINEAR, judge, module, request, session, tried  # noqa: F401

from kernelwright._engine import packets, wire
from kernelwright._engine.oracle.compare import compare, returned
from kernelwright._engine.oracle.elements import NEAR, at_once, difference, summary
from kernelwright._engine.oracle.judge import OUTPUT_LIMIT, _reply
from kernelwright._engine.oracle.tolerance import Flat, exact_of

X = torch.linspace(-2, 2, 4096).reshape(8, 512)
RULE = Flat()


def judged(expected, actual, rule=RULE, **more):
    return compare(expected, returned(actual), rule, **more)


def test_each_output_has_its_errors():
    found = judged({"a": X, "b": X.long()}, {"a": X + 5e-5, "b": X.long() + 1})
    first, second = found.outputs
    assert (first.name, first.dtype, first.shape, first.share) == ("output['a']", torch.float32, (8, 512), 0.0)
    assert (first.rtol, first.atol, first.loss) == (1e-4, 1e-4, None)
    assert 0.4 < first.max_over < 0.51
    assert (second.name, second.share, second.rtol, second.atol, second.max_over) == ("output['b']", 1.0, None, None, None)


def test_an_error_over_the_limit_is_above_one_exactly_where_it_is_wrong():
    limits = RULE.limits(torch.float32)
    for step, wrong in ((9e-5, False), (1.1e-4, True)):
        found = difference(torch.zeros(100), torch.full((100,), step), limits)
        assert (found.max_over > 1) is wrong is (found.mismatched > 0)
    assert difference(X, X, limits).max_over == 0


def test_where_nothing_is_allowed_an_error_is_infinitely_over():
    exact = Flat("custom", 0.0, 0.0)
    assert judged(X, X, exact).outputs[0].max_over == 0
    assert judged(X, X + 1, exact).outputs[0].max_over == math.inf


def test_values_that_are_not_finite_have_no_error():
    odd = X.clone()
    odd[0, 0], odd[1, 1] = math.nan, math.inf
    assert judged(odd, odd.clone()).outputs[0].max_over == 0
    assert at_once([(odd, odd.clone(), RULE.limits(odd.dtype), None)])[0].max_over == 0


def test_all_at_once_states_the_same_error():
    other = X + 3e-5
    limits = RULE.limits(X.dtype)
    assert at_once([(X, other, limits, None)])[0].max_over == difference(X, other, limits).max_over > 0
    assert at_once([(X.long(), X.long(), None, None)])[0].max_over == 0


def test_a_strict_rule_states_the_references_own_loss():
    expected = X.sum(1)
    exact = exact_of(expected, X.double().sum(1))
    assert judged(expected, expected.clone(), exact=exact).outputs[0].loss == exact.loss


def test_neighbours_lie_along_the_last_dimension():
    actual = X.clone()
    actual[3, 5:42] += 0.5
    near = judged(X, actual).near
    assert near.start == 0 and len(near.wrong) == 5 + NEAR + 1
    assert near.wrong == [False] * 5 + [True] * (NEAR + 1)
    assert near.expected == X[3, :5 + NEAR + 1].tolist() and near.actual == actual[3, :5 + NEAR + 1].tolist()


def test_neighbours_of_every_form():
    for expected in (torch.tensor(1.0), torch.ones(1), torch.ones(3, 1, 4).transpose(0, 2), torch.ones(2, 3).bool(),
                     torch.ones(5, dtype=torch.complex64).conj(), torch.ones(4, dtype=torch.float8_e4m3fn),
                     torch.ones(7, dtype=torch.int64), torch.ones(2, 9, dtype=torch.bfloat16)):
        actual = torch.zeros_like(expected)
        near = judged(expected, actual).near
        assert near.wrong == [True] * min(NEAR + 1, expected.shape[-1] if expected.dim() else 1), expected.dtype
        assert set(near.expected) == {1.0} and set(near.actual) == {0.0}
        assert (near.actual_values.max, near.actual_values.finite) == (0.0, expected.numel())


def test_a_summary_counts_what_is_not_finite():
    values = torch.tensor([1.0, -3.0, math.nan, math.inf, -math.inf, math.nan])
    found = summary(values)
    assert (found.finite, found.min, found.max, found.nan, found.infinite) == (2, -3.0, 1.0, 2, 2)
    found = summary(torch.full((3,), math.nan))
    assert (found.finite, found.min, found.max, found.nan) == (0, 0.0, 0.0, 3)


def test_the_summary_covers_all_chunks():
    values = torch.zeros(3 << 18)
    values[-1], values[0] = 7, -1
    found = summary(values)
    assert (found.min, found.max, found.finite) == (-1, 7, 3 << 18)


def test_a_search_that_stops_early_looks_for_nothing_more():
    found = judged(X, X + 1, stop_early=True)
    assert found.near is None and found.error_class == "wrong_value"


def test_a_wrong_form_has_no_errors():
    assert judged(X, X.T).outputs == []


def test_the_reply_states_them(session):  # noqa: F811
    session.prepare(request(), LINEAR)
    reply = tried(session, lambda inputs, weights: torch.zeros(64, 32))
    assert [wire.text(each.output) for each in reply.outputs] == ["output"]
    assert wire.text(reply.outputs[0].dtype) == "float32" and list(reply.outputs[0].shape) == [64, 32]
    assert reply.outputs[0].maxErrorOverLimit > 1 and reply.outputs[0].referenceLoss == -1
    first = reply.firstMismatch
    at = int(first.index[-1]) - int(first.nearFrom)
    assert first.nearWrong[at] and first.nearExpected[at] == first.expected and first.nearActual[at] == first.actual
    assert first.actualValues.max == 0 and first.expectedValues.finite == 64 * 32


def test_the_certificate_names_what_was_tried(session):  # noqa: F811
    reply, _ = session.prepare(request(), module("return x * 0"))
    assert [wire.text(each) for each in reply.emptyAnswers] == ["zeros", "constant", "echo", "stale"]
    assert reply.certificateSets == 5
    assert {"zeros", "constant", "stale"} <= {wire.text(each) for each in reply.passingAnswers}
    assert wire.text(reply.provesNothing) == "zeros"
    reply, _ = session.prepare(request(certificateSeeds=[]), LINEAR)
    assert not reply.emptyAnswers and reply.certificateSets == 0


def test_a_reply_fits_its_packet():
    shape = [1] * 60 + [20]
    many = {"\N{PILE OF POO}" * 500 + str(at): torch.ones(shape) for at in range(100)}
    found = judged(many, {key: each * math.nan for key, each in many.items()})
    found.findings += ["\N{PILE OF POO}" * 5000] * 50
    reply = _reply(found)
    assert len(reply.outputs) == OUTPUT_LIMIT and reply.outputsLeftOut == 100 - OUTPUT_LIMIT
    data = packets.encoded(reply)
    assert len(data) <= packets.LIMIT
    assert math.isnan(packets.decoded(data).firstMismatch.actual)
