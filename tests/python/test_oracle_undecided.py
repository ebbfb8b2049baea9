"""Values that rounding decides are right in every form in which the reference gives them."""
import pytest
import torch
from oracle_world import module, request, session, tried  # noqa

from kernelwright._engine import wire
from kernelwright._engine.oracle import undecided
from kernelwright._engine.oracle.wide import widely
from kernelwright._engine.outputs import place_outputs
from kernelwright._engine.wire import made

QUANTISED = module("scale = x.abs().amax(-1, keepdim=True) * (1 / 32767)\n        "
                   "return torch.round(x / scale).to(torch.int16)", "[torch.randn(64, 512)]")
EIGHT_BITS = module("return (x * 3.0).to(torch.float8_e4m3fn)",
                    "[torch.where(torch.rand(64, 512) < 2e-3, 1.0625 / 3, torch.rand(64, 512))]")  # 1.0625 is between two
MASK = module("return (x @ x.T).sum(-1) > 0.0", "[torch.randn(64, 512)]")
LARGEST = module("return x.argmax(-1)", "[torch.randint(40, (64, 512)).float() / 7]")
HALVES = module("return torch.round(x).to(torch.int16)", "[torch.randint(-40, 40, (64, 512)) / 2]")


# Nearly all of a row is its first share, which float32 rounds to one.
SHARES = module("return (x.softmax(-1) * 65535.0).to(torch.int32)",
                "[torch.cat([torch.full((4096, 1), 20.0), torch.randn(4096, 3)], 1)]")


def shares_by_exact_sums(x):
    power = torch.exp(x - x.amax(-1, keepdim=True))
    return (power * (65535.0 / power.double().sum(-1, keepdim=True).float())).to(torch.int32)


def by_reciprocal(x):
    return torch.round(x * (1.0 / (x.abs().amax(-1, keepdim=True) * (1 / 32767)))).to(torch.int16)


def off_by_one(x):
    found = by_reciprocal(x)
    found.view(-1)[::1000] += 1
    return found


def by_division(x):
    return torch.round(x / (x.abs().amax(-1, keepdim=True) * (1 / 32767))).to(torch.int16)


def last_of_the_largest(x):
    return x.shape[-1] - 1 - x.flip(-1).argmax(-1)


def tried_on(session, source, function, **fields):
    session.prepare(request(**fields), source)
    return tried(session, lambda inputs, _: function(inputs[0].clone()))


def test_a_quantised_value_between_two_steps_may_be_either(session):
    found = tried_on(session, QUANTISED, by_reciprocal)
    assert found.right and len(found.findings) == 1
    assert "some values differ where rounding decides" in found.findings[0] and found.findings[0].startswith("output: ")


def test_a_value_that_rounding_inside_decides_may_be_either(session):
    found = tried_on(session, SHARES, shares_by_exact_sums)
    assert found.right and "results inside" in found.findings[0]


@pytest.mark.parametrize("forward, stays", [
    ("x.exp() + x.exp()", False), ("x.softmax(-1)", False), ("x.mul_(3.0)", False), ("x.clamp(0.3, 0.4)", True),
    ("x.sort(-1).values", True), ("x.round()", True), ("(x.round() * 2.0).sum(-1)", True)])
def test_results_of_operators_that_round_are_moved(forward, stays):
    x = torch.rand(64, 8, dtype=torch.float64)
    moves = undecided._Moves(5, 1)
    with widely(10.0, moves.of_result):
        found = eval(forward, {"x": x.clone()})
    plain = eval(forward, {"x": x.clone()})
    assert torch.equal(found, plain) == stays
    assert torch.allclose(found, plain, rtol=3 * undecided.ULPS * 2.0 ** -23, atol=0.0)


# Sums of whole numbers are exact, also those that 16 bits do not hold.
def test_whole_numbers_are_not_moved(session):
    source = module("return (x @ y).to(torch.int32)", "[torch.randint(-9, 10, (256, 512)).float() for _ in range(2)]",
                    parameters="self, x, y").replace("x @ y", "x @ y.T")
    session.prepare(request(), source)

    def truncated(x, y):
        found = x @ y.T
        return (found - (found.abs() > 2048) * found.sign() * (found % 2 != 0)).to(torch.int32)

    assert not tried(session, lambda inputs, _: truncated(*inputs)).right


def test_a_reference_that_refuses_moved_results_is_run_with_moved_inputs(session):
    checked = QUANTISED.replace("scale = ", "assert torch.allclose(x.softmax(-1).sum(-1), torch.ones(64, dtype=x.dtype), "
                                "atol=5e-7, rtol=0.0)\n        scale = ")
    found = tried_on(session, checked, by_reciprocal)
    assert found.right and len(found.findings) == 1


HALF = "[torch.randn(64, 64).bfloat16()]"


def last_of_equals(x, count):
    places = x.shape[-1] - 1 - torch.sort(x.flip(-1), dim=-1, descending=True, stable=True).indices
    return places[:, :count].contiguous()


# PyTorch states the order of equal numbers for argmax and for a stable sort alone.
@pytest.mark.parametrize("forward, right", [
    ("return x.topk(8).indices", True), ("return x.sort(-1, descending=True).indices[:, :8]", True),
    ("return torch.sort(x, dim=-1, descending=True, stable=True).indices[:, :8]", False)])
def test_equal_numbers_may_be_in_any_order(session, forward, right):
    for _ in range(3):
        session.prepare(request(varied=True), module(forward, HALF))
        found = tried(session, lambda inputs, _: last_of_equals(inputs[0].clone(), 8))
        assert found.right == right


def test_the_first_of_the_largest_is_the_one(session):
    session.prepare(request(varied=True), module("return x.argmax(-1)", "[torch.randint(9, (64, 64)).bfloat16()]"))
    assert not tried(session, lambda inputs, _: last_of_the_largest(inputs[0].clone())).right


def test_an_equal_result_has_no_such_finding(session):
    found = tried_on(session, QUANTISED, by_division)
    assert found.right and not found.findings


@pytest.mark.parametrize("source, function", [
    (QUANTISED, off_by_one),
    (QUANTISED, lambda x: (by_reciprocal(x) // 2) * 2),                # half of the values
    (LARGEST, last_of_the_largest),                                    # equal numbers stay equal
    (HALVES, lambda x: torch.floor(x + 0.5).to(torch.int16)),          # a tie of the task's own
    (module("return x > 0.0", "[torch.randn(64, 512).clamp(min=-2.4)]"), lambda x: x > -1e-3)])
def test_another_value_is_wrong(session, source, function):
    found = tried_on(session, source, function)
    assert found.errorClass == "wrong_value" and not found.findings


@pytest.mark.parametrize("forward, wrong", [
    ("x.mean()", lambda x: x.mean() + 0.1),                            # a single number
    ("torch.round(x * 1e4).to(torch.int32).t()", lambda x: torch.round(x * 1.01e4).to(torch.int32).t())])
def test_outputs_of_any_shape_can_be_wrong(session, forward, wrong):
    assert tried_on(session, module(f"return {forward}", "[torch.randn(64, 512)]"), wrong).errorClass == "wrong_value"


def test_an_output_in_another_order_of_dimensions_is_examined(session):
    source = QUANTISED.replace(".to(torch.int16)", ".to(torch.int16).t()")
    found = tried_on(session, source, lambda x: by_reciprocal(x).t())
    assert found.right and ["where rounding decides" in each for each in found.findings] == [True]


def test_a_step_of_an_eight_bit_float_may_be_either(session):
    found = tried_on(session, EIGHT_BITS, lambda x: (x * (3.0 + 1e-6)).to(torch.float8_e4m3fn))
    assert found.right and "some values differ where rounding decides" in found.findings[0]


def test_a_more_precise_result_of_sixteen_bits_is_right_where_few_values_differ(session):
    source = module("return torch.round(x * 1000 / 3).to(torch.int16)", "[torch.rand(64, 512)]")
    found = tried_on(session, source, lambda x: torch.round((x.float() * 1000) / 3).to(torch.int16), precision="bf16")
    assert found.errorClass == "wrong_value"  # 16 bits decide far more than one value in twenty
    source = module("return torch.round(x * 4 / 3).to(torch.int16)", "[torch.rand(64, 512)]")
    found = tried_on(session, source, lambda x: torch.round((x.float() * 4) / 3).to(torch.int16), precision="bf16")
    assert found.right


def test_a_random_reference_decides_alone(session):
    source = module("return torch.round(torch.nn.functional.dropout(x, 0.1)).to(torch.int16)", "[torch.randn(64, 512)]")
    found = tried_on(session, source, lambda x: torch.round(x).to(torch.int16))
    assert not found.right


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_a_tie_among_inputs_of_sixteen_bits_is_none_of_rounding(session, precision):
    source = module("return torch.round(x).to(torch.int16)", "[torch.rand(64, 512) * 8]")
    found = tried_on(session, source, lambda x: torch.floor(x.float() + 0.5).to(torch.int16), precision=precision)
    assert found.errorClass == "wrong_value"


def test_numbers_of_equal_size_stay_of_equal_size(session):
    source = module("return x.abs().argmax(-1)", "[(lambda y: torch.cat([y, -y], -1))(torch.randn(64, 256))]")
    found = tried_on(session, source, lambda x: (x.abs().argmax(-1) + 256) % 512)
    assert found.errorClass == "wrong_value"


def test_a_moved_index_beyond_its_dimension_explains_nothing(session):
    source = module("return torch.arange(10.0)[(x * 10).long()]", "[torch.rand(1 << 18)]")
    found = tried_on(session, source, lambda x: torch.arange(10.0)[(x * 10).long()].index_fill(0, torch.tensor([5]), 77.0))
    assert found.errorClass == "wrong_value"
    assert tried_on(session, source, lambda x: torch.arange(10.0)[(x * 10).long()]).right


def test_nan_is_at_the_same_places_in_every_right_result(session):
    source = module("return torch.round(x * 1e4).to(torch.int32), torch.log(1 - x)",
                    "[torch.rand(64, 512).clamp(max=1 - 2**-24)]")

    def candidate(x):
        steps, logarithm = torch.round(x * 10001.0 - x).to(torch.int32), torch.log(1 - x)
        logarithm.view(-1)[int(x.argmax())] = float("nan")
        return steps, logarithm
    assert not tried_on(session, source, candidate).right


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64"])
def test_integers_of_every_width_are_examined(session, dtype):
    source = module(f"return torch.round(x / 0.7 * 1e2).to(torch.{dtype})", "[torch.rand(64, 512)]")

    def candidate(x):
        found = torch.round(x / 0.7 * 1e2).to(torch.int64)
        found.view(-1)[7] += 1
        return found.to(getattr(torch, dtype))
    assert tried_on(session, source, candidate).errorClass == "wrong_value"


def test_a_quantisation_of_eight_bit_inputs_may_be_either(session):
    inputs = "[torch.randn(64, 512).to(torch.float8_e4m3fn), torch.rand(64, 1) + 0.1]"
    source = module("return torch.round(x.float() / scale * 3e4).to(torch.int32)", inputs, parameters="self, x, scale")
    session.prepare(request(), source)
    found = tried(session, lambda inputs, _: torch.round(inputs[0].float() * (3e4 / inputs[1])).to(torch.int32))
    assert found.right and "where rounding decides" in found.findings[0]



def in_blocks(x):
    """round(cumsum(x) / 0.037) * 0.037 with the sums of blocks of 16 added up first."""
    blocks = x.reshape(x.shape[0], -1, 16)
    ends = blocks.sum(-1).cumsum(-1)
    sums = blocks.cumsum(-1) + torch.nn.functional.pad(ends, (1, 0))[:, :-1, None]
    return torch.round(sums.reshape(x.shape) / 0.037) * 0.037


def test_a_step_on_a_family_may_be_either(session):
    session.prepare(request(varied=True), module("return torch.round(x.cumsum(-1) / 0.037) * 0.037", "[torch.randn(64, 256)]"))
    judged, differ = [], 0
    for seed in range(24):
        arena, _ = session.draw_family(made(wire.DrawT, trial=1, seed=seed, family="negated"))
        if arena is None:
            continue
        x = arena.tensor(session._task.plan.input_refs[0]).clone()
        outputs = place_outputs(in_blocks(x), arena, session._task.plan.outputs_offset)
        judged.append(session.judge(made(wire.JudgeT, trial=1, seed=seed, family="negated", outputs=outputs, outputsOnly=True)))
        differ += int((in_blocks(x) - session._task.reference.call([x], 1)).abs().max() > 0.03)
    assert differ and all(each.right for each in judged)
