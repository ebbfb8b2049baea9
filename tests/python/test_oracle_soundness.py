"""Draws of families: the reference decides whether they are sound, and how far a right answer may be from it."""
import itertools

import pytest
import torch
from oracle_world import SAMPLES, draw, judge, module, request, session, shapes_of  # noqa

from kernelwright._engine import wire
from kernelwright._engine.oracle import edges, families, kept_families
from kernelwright._engine.outputs import place_outputs
from kernelwright._engine.values import from_wire
from kernelwright._engine.wire import made


def prepared(session, source, shapes="", **fields):
    """The names of the families that are offered."""
    reply, _ = session.prepare(request(shapes, varied=True, **fields), source)
    return wire.texts(reply.families)


def drawn(session, family, seed=77, reuse=False):
    """(the arena or None, the DrawnT)."""
    return session.draw_family(made(wire.DrawT, trial=1, seed=seed, family=family, reuse=reuse))


def answered(session, candidate, family, seed=77, reuse=False):
    """The JudgedT of a candidate on inputs of a family."""
    arena, reply = drawn(session, family, seed, reuse)
    assert not reply.dropped, reply.dropped
    spec = wire.from_bytes("CallSpec", session._task.spec)
    inputs = [from_wire(each, arena.tensor) for each in spec.inputs.items]
    return judge(session, place_outputs(candidate(*inputs), arena, spec.outputsOffset), seed=seed, family=family)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_is_right_on_its_own_families(session, path):
    tried = 0
    for family in prepared(session, path.read_text(), shapes_of(path)):
        arena, reply = drawn(session, family)
        if reply.dropped:
            continue
        tried += 1
        spec = wire.from_bytes("CallSpec", session._task.spec)
        inputs = [from_wire(each, arena.tensor) for each in spec.inputs.items]
        outputs = place_outputs(session._task.reference.call(inputs, 77), arena, spec.outputsOffset)
        found = judge(session, outputs, family=family)
        assert found.right, (family, found.error)
    assert tried or path.stem == "hash_mix"  # it has integers alone


def test_families_are_offered_only_where_they_are_asked_for(session):
    reply, _ = session.prepare(request(), module("return x * 2"))
    assert not reply.families
    assert "scaled_60" in prepared(session, module("return x * 2"))


@pytest.mark.parametrize("forward", ["return torch.nn.functional.dropout(x, 0.5)", "return torch.rand_like(x) + x"])
def test_a_random_reference_has_no_families(session, forward):
    assert prepared(session, module(forward)) == []


@pytest.mark.parametrize("forward, family, why", [
    ("return torch.exp(x)", "scaled_60", "not finite"),
    ("return torch.log(x + 5)", "scaled_8", "not finite"),
    ("return torch.sin(x * 1e5)", "scaled_60", "float64 differ"),
    ("return (x * 2 ** 23).floor() % 2", "negated", "makes a difference"),
    ("assert x.abs().max() < 20; return x", "scaled_60", "AssertionError"),
    ("return x[x > -6]", "scaled_60", "other shapes"),
])
def test_what_is_not_sound_is_dropped(session, forward, family, why):
    prepared(session, module(forward, "[torch.randn(32, 64)]"))
    arena, reply = drawn(session, family)
    assert arena is None and why in reply.dropped


# The inputs of a task at other shapes: each of them may be too small for a family.
@pytest.mark.parametrize("version, why", [("", ""), ("prime", ""), ("one", "not finite"), ("empty", "not finite")])
def test_inputs_as_drawn_are_used_where_the_reference_has_an_answer(session, version, why):
    source = module("return x.std(0)", "[torch.randn(rows, 8)]") + "rows = 16\n"
    prepared(session, source, version=version)
    arena, reply = drawn(session, families.GIVEN)
    assert (arena is None) == bool(why) and why in reply.dropped
    assert not reply.reportedOnly


def test_inputs_as_drawn_are_those_of_the_task(session):
    prepared(session, module("return x * 2"))
    assert torch.equal(inputs_of(session, 7, families.GIVEN, reuse=False), session._task.draw(7)[0])


@pytest.mark.parametrize("forward", ["return x.sum(-1)", "return x.softmax(-1)", "return x.argmax(-1)", "return x.long() % 7",
                                     "return torch.layer_norm(x, x.shape[-1:])", "return x.cumsum(-1)"])
@pytest.mark.parametrize("version", ["prime", "larger", "one"])
def test_inputs_as_drawn_are_sound_at_other_shapes(session, forward, version):
    prepared(session, module(forward, "[torch.randn(rows, columns)]") + "rows, columns = 16, 64\n", version=version)
    assert not drawn(session, families.GIVEN)[1].dropped


@pytest.mark.parametrize("forward, sound", [
    ("return x.topk(4).indices", False), ("return x.argsort(-1)", False), ("return x.topk(4).values", True),
    ("return x.sum(-1)", True), ("return torch.bincount(x.flatten(), minlength=100000)", True),
    ("return x.float().mean(-1)", True)])
def test_the_order_of_equal_integers_decides_nothing(session, forward, sound):
    prepared(session, module(forward, "[torch.randint(100000, (16, 512))]"))
    arena, reply = drawn(session, "mostly_high")
    assert (arena is not None) == sound and ("order of equal integers" in (reply.dropped or "")) != sound


@pytest.mark.parametrize("forward", ["return x.to(torch.int32).sum(-1)", "return (x.double() @ x.double().T).to(torch.int32)"])
def test_a_conversion_to_integers_orders_none(session, forward):
    prepared(session, module(forward, "[torch.randint(-8, 8, (16, 512), dtype=torch.int8)]"))
    assert not drawn(session, "mostly_low")[1].dropped


LEVELS = "return (x / x.abs().amax(-1, keepdim=True) * 10000).round().to(torch.int32)"
STEPS = "return (x.softmax(-1) * 4000).round().to(torch.int32)"


@pytest.mark.parametrize("forward, why", [
    (LEVELS, ""),
    (LEVELS + ", x.argsort(-1)", "values that must be equal"),         # places are no steps
    (LEVELS.replace("10000", "1e6"), "values that must be equal"),     # too many are undecided
    (LEVELS + " * 2", "values that must be equal")])                   # steps of two
def test_some_integers_that_rounding_decides_are_granted(session, forward, why):
    prepared(session, module(forward, "[torch.randn(64, 512)]"))
    arena, reply = drawn(session, "scaled_8")
    assert (arena is None) == bool(why) and why in (reply.dropped or "")


@pytest.mark.parametrize("function, right", [
    (lambda x: (x.softmax(-1) * 4000).round().to(torch.int32), True),
    (lambda x: (x.softmax(-1) * (4000 * (1 + 2e-7))).round().to(torch.int32), True),
    (lambda x: (x.softmax(-1) * (4000 * 1.01)).round().to(torch.int32), False),
    (lambda x: (x.exp() / x.exp().sum(-1, keepdim=True) * 4000).round().to(torch.int32), False)])
def test_other_integers_of_such_a_draw_are_wrong(session, function, right):
    prepared(session, module(STEPS, "[torch.randn(64, 512)]"))
    assert answered(session, function, "scaled_60").right == right


@pytest.mark.parametrize("forward, function, right", [
    ("return torch.round(x * 4) / 4", lambda x: torch.round(x * 4) / 4, True),
    ("return torch.round(x * 4) / 4", lambda x: torch.floor(x * 4 + 0.5) / 4, False),
    ("return torch.where(x >= 0.5, x, -x)", lambda x: torch.where(x > 0.5, x, -x), False),
    ("return (x > 0.5).to(torch.int32)", lambda x: (x >= 0.5).to(torch.int32), False)])
def test_numbers_on_steps_show_the_side_of_a_bound(session, forward, function, right):
    prepared(session, module(forward, "[torch.randn(64, 64)]"))
    assert answered(session, function, "on_steps").right == right
    assert drawn(session, "on_steps")[1].reportedOnly


FAKE = "return (x / x.abs().amax(-1, keepdim=True) * 127).round() / 127 * x.abs().amax(-1, keepdim=True)"


@pytest.mark.parametrize("function, right", [
    (lambda x: (x * (127 / x.abs().amax(-1, keepdim=True))).round() * (x.abs().amax(-1, keepdim=True) / 127), True),
    (lambda x: (x / x.abs().amax(-1, keepdim=True) * 127).trunc() / 127 * x.abs().amax(-1, keepdim=True), False),
    (lambda x: x, False)])
def test_real_numbers_that_are_rounded_to_steps_are_compared(session, function, right):
    prepared(session, module(FAKE, "[torch.randn(256, 512)]"))
    sound = 0
    for seed in range(4):
        if not drawn(session, "scaled_8", seed)[1].dropped:
            sound += 1
            assert answered(session, function, "scaled_8", seed).right == right
    assert sound >= 3


# One addition after another loses more than some ulps.
@pytest.mark.parametrize("family", ["shifted_4", "scaled_60", "sorted_rows", "scaled_8"])
def test_a_running_sum_that_is_rounded_may_differ_by_a_step(session, family):
    prepared(session, module("return (x.cumsum(-1) * 32).round().to(torch.int32)", "[torch.randn(128, 1024)]"))

    def one_after_another(x):
        sums = torch.stack(list(itertools.accumulate(x.T, torch.add)), -1)
        return (sums * 32).round().to(torch.int32)

    seeds = [seed for seed in range(3) if not drawn(session, family, seed)[1].dropped]
    assert seeds and all(answered(session, one_after_another, family, seed).right for seed in seeds)


def test_ranks_by_comparisons_are_dropped_where_numbers_tie(session):
    prepared(session, module("y = x - x.mean(-1, keepdim=True); return (y[:, :, None] > y[:, None, :]).sum(-1)",
                             "[torch.randn(16, 32)]"))
    assert drawn(session, "sparse")[1].dropped


def test_numbers_on_steps_are_not_ordered(session):
    prepared(session, module("return x.argsort(-1)", "[torch.randn(64, 64)]"))
    assert "order of equal numbers" in drawn(session, "on_steps")[1].dropped


@pytest.mark.parametrize("seed", range(6))
def test_a_draw_beyond_the_range_that_was_learned_is_sound(session, seed):
    prepared(session, module("return x + y * 2", "[torch.randn(64, 16), torch.randn(64, 16) + 3]",
                             parameters="self, x, y"))
    assert not drawn(session, "shifted_4", seed)[1].dropped  # it leaves y as it is drawn


def without_maximum(x):
    power = x.float().exp()
    return (power / power.sum(-1, keepdim=True)).to(x.dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_values_in_16_bits_that_cannot_be_compared_have_to_be_finite(session, dtype):
    prepared(session, module("return x.softmax(-1)", f"[torch.randn(48, 200).to(torch.{dtype})]"))
    words = drawn(session, "scaled_60")[1].description
    assert ("scaled up to 4096" if dtype == "float16" else "values are compared together") in words
    found = answered(session, without_maximum, "scaled_60")
    assert not found.right and found.errorClass == "nonfinite"
    assert answered(session, lambda x: x.float().softmax(-1).to(x.dtype), "scaled_60").right


def in_bfloat16(function):
    return lambda *inputs: function(*(each.float() for each in inputs)).bfloat16()


ATTENTION = module("return (q @ k.mT * 0.125).softmax(-1) @ v", "[torch.randn(2, 64, 64).bfloat16() for _ in range(3)]",
                   parameters="self, q, k, v")


@pytest.mark.parametrize("source, function, right", [
    (module("return x.softmax(-1)", "[torch.randn(64, 256).bfloat16()]"), in_bfloat16(lambda x: x.softmax(-1)), True),
    (module("return x.softmax(-1)", "[torch.randn(64, 256).bfloat16()]"),
     in_bfloat16(lambda x: x.clamp(-6, 6).softmax(-1)), False),
    (ATTENTION, in_bfloat16(lambda q, k, v: (q @ k.mT * 0.125).softmax(-1) @ v), True),
    (ATTENTION, in_bfloat16(lambda q, k, v: (q @ k.mT * 0.125).softmax(-1).bfloat16().float() @ v), True),
    (ATTENTION, in_bfloat16(lambda q, k, v: (q @ k.mT * 0.125).clamp(-6, 6).softmax(-1) @ v), False)])
def test_values_in_16_bits_are_compared_together(session, source, function, right):
    tried = []
    for family in prepared(session, source):
        for seed in range(2):
            if not drawn(session, family, seed)[1].dropped:
                tried.append(answered(session, function, family, seed).right)
    assert all(tried) if right else tried.count(False) >= 4


@pytest.mark.parametrize("forward, inputs", [
    ("return x.sum(-1).exp()", "[torch.randn(32, 64).half()]"),  # 65,504 is near
    ("return x.softmax(-1).argmax(-1)", "[torch.randn(32, 64).bfloat16()]"),
    ("return torch.sin(x * 1e5)", "[torch.randn(32, 64)]"),
])
def test_what_is_inexact_is_dropped_where_more_than_finite_values_may_be_wrong(session, forward, inputs):
    prepared(session, module(forward, inputs))
    assert drawn(session, "scaled_60")[0] is None


def test_rounding_of_the_output_is_no_loss_of_the_reference(session):
    prepared(session, module("return (x * (448 / x.abs().amax(-1, keepdim=True).clamp(min=6))).to(torch.float8_e4m3fn)",
                             "[torch.randn(32, 128)]"))
    assert "compared" not in drawn(session, "scaled_60")[1].description

    def by_division(x):
        return (x / (x.abs().amax(-1, keepdim=True).clamp(min=6) / 448)).to(torch.float8_e4m3fn)

    assert answered(session, by_division, "scaled_60").right
    assert not answered(session, lambda x: (x * (448 / 6)).clamp(-448, 448).to(torch.float8_e4m3fn), "scaled_60").right


@pytest.mark.parametrize("family", ["shifted_4", "scaled_60", "some_rows", "spiked", "heavy_tailed", "scaled_8", "sorted_rows"])
@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_inputs_in_8_bits_have_families(session, family, dtype):
    assert family in prepared(session, module("return x.float().softmax(-1)", f"[torch.randn(32, 256).to(torch.{dtype})]"))
    assert answered(session, lambda x: x.float().softmax(-1), family).right


def test_the_session_goes_on_after_a_dropped_draw(session):
    prepared(session, module("return torch.exp(x)", "[torch.randn(32, 64)]"))
    assert drawn(session, "scaled_60")[0] is None
    assert answered(session, torch.exp, "negated").right
    assert draw(session) is not None


STAND_INS = [
    ("return torch.relu(x)", lambda x: x.abs(), "negated"),
    ("return torch.clamp(x, -20, 20)", lambda x: x.clone(), "scaled_60"),
    ("return torch.tanh(x * 0.01)", lambda x: x * 0.01, "scaled_8"),
    ("return torch.nn.functional.softplus(x)", lambda x: torch.log(1 + torch.exp(x)), "scaled_60"),
    ("return x.softmax(-1)", lambda x: torch.full_like(x, 1 / 64), "some_rows"),
]


@pytest.mark.parametrize("forward, candidate, family", STAND_INS)
def test_a_stand_in_is_wrong_and_the_reference_right(session, forward, candidate, family):
    source = module(forward, "[torch.randn(32, 64)]")
    prepared(session, source)
    assert not answered(session, candidate, family).right
    own = eval("lambda x: " + forward.removeprefix("return "))
    assert answered(session, own, family).right


# The flat rule alone would be less than float32 loses in sums of numbers that cancel.
def test_the_limit_grows_with_what_the_reference_itself_loses(session):
    prepared(session, module("return x.cumsum(-1)", "[torch.randn(4, 4096)]"))
    other_order = answered(session, lambda x: x.double().cumsum(-1).float(), "sorted_rows")
    assert other_order.right and other_order.outputs[0].referenceLoss > 0


# A conversion inside keeps .double() of module and inputs from reaching the computation.
def test_float32_inside_the_reference_is_widened(session):
    prepared(session, module("return (x.float() @ x.float().T).to(x.dtype)", "[torch.randn(32, 64).half()]"))
    assert not drawn(session, "scaled_8")[1].dropped


def test_another_draw_makes_a_judgement_of_the_family_impossible(session):
    prepared(session, module("return x * 2"))
    drawn(session, "scaled_8", seed=1)
    drawn(session, "scaled_8", seed=2)
    with pytest.raises(LookupError):
        judge(session, None, seed=1, family="scaled_8")


def inputs_of(session, seed, family="scaled_8", reuse=True):
    """The first input of a draw."""
    arena, _ = drawn(session, family, seed, reuse)
    return from_wire(wire.from_bytes("CallSpec", session._task.spec).inputs.items[0], arena.tensor).clone()


def test_a_draw_that_may_be_reused_serves_later_candidates(session):
    prepared(session, module("return x * 2"))
    first, fresh, later = (inputs_of(session, seed, reuse=reuse) for seed, reuse in ((1, True), (2, False), (3, True)))
    assert torch.equal(first, later) and not torch.equal(first, fresh)


def test_a_draw_serves_a_limited_number_of_candidates(session):
    prepared(session, module("return x * 2"))
    seen = [inputs_of(session, seed) for seed in range(kept_families.USES + 1)]
    assert all(torch.equal(each, seen[0]) for each in seen[:-1])
    assert not torch.equal(seen[-1], seen[0])


def test_a_reused_draw_is_judged_by_its_own_answer(session):
    prepared(session, module("return x * 2"))
    for seed in (1, 2):
        assert answered(session, lambda x: x * 2, "scaled_8", seed, reuse=True).right
        assert not answered(session, lambda x: x * 3, "scaled_8", seed, reuse=True).right


def test_a_reason_to_drop_a_family_is_kept_and_a_lack_of_memory_is_not(session, monkeypatch):
    prepared(session, module("return torch.exp(x)", "[torch.randn(32, 64)]"))
    assert "not finite" in drawn(session, "scaled_60", reuse=True)[1].dropped
    calls = []

    def without_memory(*_, **__):
        calls.append(1)
        raise RuntimeError("out of memory")

    monkeypatch.setattr(edges, "examined", without_memory)
    assert "not finite" in drawn(session, "scaled_60", reuse=True)[1].dropped and not calls
    for _ in range(2):
        assert "memory" in drawn(session, "scaled_8", reuse=True)[1].dropped
    assert len(calls) == 2


def test_large_draws_are_not_kept(session, monkeypatch):
    monkeypatch.setattr(kept_families, "LIMIT_BYTES", 1000)
    prepared(session, module("return x * 2", "[torch.randn(32, 64)]"))
    assert not torch.equal(inputs_of(session, 1), inputs_of(session, 2))


def sums_of_parts(x):
    """Running sums in float32, with a carry from part to part."""
    parts = x.view(len(x), -1, 64)
    within = torch.stack([parts[..., :end + 1].sum(-1) for end in range(64)], -1)
    carry = torch.zeros_like(within[:, 0, -1])
    found = []
    for part in within.unbind(1):
        found.append(part + carry[:, None])
        carry = carry + part[:, -1]
    return torch.cat(found, -1)


# PyTorch sums in float64 here: its loss alone would be a limit that no kernel in float32 keeps.
@pytest.mark.parametrize("seed", range(5))
def test_running_sums_that_cancel_may_lose_what_float32_loses(session, seed):
    prepared(session, module("return x.cumsum(-1)", "[torch.randn(64, 1024)]"))
    assert answered(session, sums_of_parts, "sorted_rows", seed + 1).right


def test_a_product_in_the_order_of_its_terms_is_right_on_sorted_rows(session):
    def in_order(x, y):
        total = torch.zeros(x.shape[0], y.shape[1])
        for at in range(x.shape[1]):
            total = torch.addcmul(total, x[:, at:at + 1], y[at:at + 1])
        return total

    prepared(session, module("return x @ y", "[torch.randn(64, 4096), torch.randn(4096, 64)]", parameters="self, x, y"))
    found = answered(session, in_order, "sorted_rows")
    assert found.right, found.error
