"""Edges of families: rows of zeros, and rows of a mask with nothing on, or all; where the reference has an answer there."""
import pytest
import torch
from oracle_world import draw, module, session  # noqa
from test_oracle_choices import learned
from test_oracle_soundness import answered, drawn, prepared

from kernelwright._engine.oracle import families
from kernelwright._engine.oracle.inputs import tensors_in

ROWS = "[torch.randn(64, 32)]"


def edged(make, name="some_rows", seed=7):
    """(the first input as drawn, as the family changes it without its edges, and with them, the words of the latter)."""
    first, units = learned(lambda: [make()])
    plain, found = (families.varied(first, units, name, seed, ["x"], edges) for edges in (False, True))
    return first[0], tensors_in(plain.values)[0], tensors_in(found.values)[0], found.words


def empty(mask):
    return ~mask.bool().any(-1)


@pytest.mark.parametrize("make", [
    lambda: torch.randn(64, 32), lambda: torch.randn(64, 32).bfloat16(), lambda: torch.randn(2, 32)])
def test_some_rows_are_zero_and_never_all(make):
    _, plain, found, words = edged(make)
    zero = (found == 0).all(-1)
    assert 0 < zero.sum() < len(found) and "some zero" in words and not (plain == 0).all(-1).any()


# A norm along any of the dimensions, or over several, meets zeros alone.
@pytest.mark.parametrize("shape", [(4, 8, 16), (1, 8, 16), (4, 8, 4, 16)])
def test_a_line_along_each_dimension_is_zero(shape):
    _, _, found, _ = edged(lambda: torch.randn(shape))
    assert all((found == 0).all(dim).any() for dim in range(1, len(shape))) and found.count_nonzero()


@pytest.mark.parametrize("make", [lambda: torch.randn(64), lambda: torch.randn(1, 64), lambda: torch.randn(64, 32).T,
                                  lambda: torch.rand(64, 32) + 1])
def test_other_tensors_have_no_rows_of_zeros(make):
    _, plain, found, _ = edged(make)
    assert torch.equal(plain, found)


def test_probabilities_have_zeros_and_rows_of_one_value():
    _, plain, found, words = edged(lambda: torch.softmax(torch.randn(64, 32), -1))
    assert (plain > 0).all() and 0.05 < (found == 0).float().mean() < 0.5 and "some values zero" in words
    assert (found.amax(-1) == 1).any() and torch.allclose(found.sum(-1), torch.ones(64))


def test_some_rows_are_small_and_not_zero():
    _, plain, found, _ = edged(lambda: torch.randn(512, 64))
    small = (found.abs().amax(-1) < 0.01) & (found != 0).any(-1)
    assert 0 < small.sum() < 128 and not (plain.abs().amax(-1) < 0.01).any()


def test_rows_near_zero_stay_within_the_range_that_was_drawn():
    x, plain, found, words = edged(lambda: torch.rand(512, 128))
    faint = found.amax(-1) < 0.001
    assert 0 < faint.sum() < 512 and "near zero" in words and not (plain.amax(-1) < 0.001).any()
    _, (unit,) = learned(lambda: [torch.rand(512, 128)])
    assert found.min() >= unit.traits.low > 0


@pytest.mark.parametrize("forward, has_edges", [
    ("return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)", True),
    ("return torch.nn.functional.normalize(x, dim=-1)", True),
    ("return torch.nn.functional.layer_norm(x, (32,))", True),
    ("return x.log_softmax(-1)", True),
    ("return (x / x.abs().amax(-1, keepdim=True).clamp(min=1e-5) * 127).round().to(torch.int8)", True),
    ("return x.sort(-1).values", True),
    ("return x / x.norm(dim=-1, keepdim=True)", False),
    ("return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)", False),
    ("return torch.arange(32.0)[x.argmax(-1)]", False),  # the order of equal numbers decides
    ("return torch.arange(32.0)[torch.sigmoid(x / 8).topk(2).indices]", False),
])
def test_rows_of_zeros_are_used_where_the_reference_has_an_answer(session, forward, has_edges):
    prepared(session, module(forward, ROWS))
    arena, reply = drawn(session, "some_rows")
    assert arena is not None and ("some zero" in reply.description) == has_edges


@pytest.mark.parametrize("forward, candidate", [
    ("return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)",
     lambda x: x * torch.rsqrt(x.square().mean(-1, keepdim=True))),
    ("return torch.nn.functional.normalize(x, dim=-1)", lambda x: x / x.norm(dim=-1, keepdim=True)),
])
def test_a_norm_without_its_epsilon_is_wrong(session, forward, candidate):
    prepared(session, module(forward, ROWS))
    assert not answered(session, candidate, "some_rows").right
    own = eval("lambda x: " + forward.removeprefix("return "))
    assert answered(session, own, "some_rows").right


def one_pass(x):
    """A layer normalisation by the sums of numbers and of squares."""
    mean = x.sum(-1, keepdim=True) / 32
    return (x - mean) * torch.rsqrt(x.square().sum(-1, keepdim=True) / 32 - mean * mean + 1e-5)


def welford(x):
    """A layer normalisation by a mean and a sum of squares that grow with each number."""
    mean, squares = torch.zeros_like(x[:, 0]), torch.zeros_like(x[:, 0])
    for at, value in enumerate(x.unbind(-1)):
        step = value - mean
        mean = mean + step / (at + 1)
        squares = squares + step * (value - mean)
    return (x - mean[:, None]) / torch.sqrt(squares[:, None] / 32 + 1e-5)


def online(x):
    """A softmax of halves with a maximum that grows."""
    largest = x[:, :16].amax(-1, keepdim=True)
    total = (x[:, :16] - largest).exp().sum(-1, keepdim=True)
    other = torch.maximum(largest, x[:, 16:].amax(-1, keepdim=True))
    total = total * (largest - other).exp() + (x[:, 16:] - other).exp().sum(-1, keepdim=True)
    return (x - other).exp() / total


# Kernels that do it in another way than the reference, rightly.
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("forward, candidate", [
    ("return torch.nn.functional.layer_norm(x, (32,))", one_pass),
    ("return torch.nn.functional.layer_norm(x, (32,))", welford),
    ("return x / (x.square().mean(-1, keepdim=True).sqrt() + 1e-6)",
     lambda x: x * (1 / ((x * x).sum(-1, keepdim=True) / 32).sqrt().add(1e-6))),
    ("return x / x.norm(dim=-1, keepdim=True).clamp(min=1e-12)",
     lambda x: x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-24)),
    ("return x / (x.abs().sum(-1, keepdim=True) + 1e-8)", lambda x: x * (1 / (x.abs().sum(-1, keepdim=True) + 1e-8))),
    ("return x.softmax(-1)", online),
    ("return x.logsumexp(-1)", lambda x: x.amax(-1) + (
        (x - x.amax(-1, keepdim=True)) * 1.4426950408889634).exp2().sum(-1).log()),
    ("return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5)",
     lambda x: (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True).sqrt() + 1e-5)),
    ("return x.sort(-1).values", lambda x: -(-x).sort(-1, descending=True).values),
])
def test_other_ways_are_right_on_rows_of_zeros(session, forward, candidate, seed):
    prepared(session, module(forward, ROWS))
    arena, reply = drawn(session, "some_rows", seed)
    assert arena is not None and "some zero" in reply.description
    found = answered(session, candidate, "some_rows", seed)
    assert found.right, found.error


def ends(x):
    """The places of the last of each row's largest numbers."""
    return 31 - x.flip(-1).argmax(-1)


# Zeros of a sparse draw tie, too, once a product has made numbers of them.
def test_a_kernel_may_take_another_of_equal_numbers(session):
    prepared(session, module("return torch.arange(32.0)[(x.relu() @ torch.eye(32)).argmax(-1)]", "[torch.randn(256, 32)]"))
    tried = 0
    for family in ("some_rows", "sparse", "region", "scaled_60"):
        if drawn(session, family)[0] is not None:
            tried += 1
            assert answered(session, lambda x: torch.arange(32.0)[ends(x.relu())], family).right
    assert tried >= 2


@pytest.mark.parametrize("name, all_alike", [("mostly_low", empty), ("mostly_high", lambda mask: mask.bool().all(-1))])
@pytest.mark.parametrize("make", [lambda: torch.rand(64, 64) < 0.5, lambda: torch.rand(8, 1, 8, 64).lt(0.5).float()])
def test_some_rows_of_a_mask_are_empty_or_full(make, name, all_alike):
    _, plain, found, words = edged(make, name)
    alike = all_alike(found)
    assert 0 < alike.sum() < alike.numel() and "some rows all" in words
    assert not empty(plain).any() and torch.equal(plain[~alike], found[~alike])


def with_first(mask):
    mask[:, 0] = True
    return mask


def never_empty():
    mask = torch.rand(256, 4) < 0.5
    return mask | (empty(mask)[:, None] & (torch.arange(4) == 1))


@pytest.mark.parametrize("make", [
    lambda: with_first(torch.rand(64, 64) < 0.5),   # each row has the first
    never_empty,                                    # and each has one
    lambda: torch.arange(64) < torch.randint(1, 60, (64, 1)),
    lambda: torch.rand(64, 64).argsort(-1) < 32,    # half of each row
    lambda: torch.rand(64, 64).argsort(-1) < torch.randint(1, 64, (64, 1)),
    lambda: torch.tril(torch.rand(64, 64) < 0.5) | torch.eye(64).bool(),
    lambda: torch.rand(64) < 0.5,
])
def test_masks_with_a_rule_have_no_empty_rows(make):
    _, plain, found, _ = edged(make, "mostly_low")
    assert torch.equal(plain, found)


MASKED = dict(inputs="[torch.randn(64, 32), torch.rand(64, 32) < 0.5]", parameters="self, x, mask")


@pytest.mark.parametrize("forward, has_edges", [
    ("return (x * mask).sum(-1) / mask.sum(-1).clamp(min=1)", True),
    ("return (x * mask).sum(-1) / (mask.sum(-1) + 1e-6)", True),
    ("return torch.softmax(x.masked_fill(~mask, -float('inf')), -1).nan_to_num(0)", True),
    ("return (x * mask).sum(-1) / mask.sum(-1)", False),
    ("return torch.softmax(x.masked_fill(~mask, -float('inf')), -1)", False),
    # Another answer for nothing is no better.
    ("return torch.softmax(x.masked_fill(~mask, -1e9), -1)", False),
    ("return torch.softmax(x + (~mask) * -1e9, -1)", False),
    ("return x.masked_fill(~mask, -1e9).amax(-1)", False),
])
def test_empty_rows_of_a_mask_are_used_where_their_answer_is_zero(session, forward, has_edges):
    prepared(session, module(forward, **MASKED))
    arena, reply = drawn(session, "mostly_low")
    assert arena is not None and ("some rows all off" in reply.description) == has_edges


def test_a_masked_mean_without_a_bound_of_its_count_is_wrong(session):
    prepared(session, module("return (x * mask).sum(-1) / mask.sum(-1).clamp(min=1)", **MASKED))
    assert not answered(session, lambda x, mask: (x * mask).sum(-1) / mask.sum(-1), "mostly_low").right
    assert answered(session, lambda x, mask: (x * mask).sum(-1) / mask.sum(-1).clamp(min=1), "mostly_low").right


POSITIVE = "[torch.rand(64, 32)]"


@pytest.mark.parametrize("forward, expects", [
    ("return torch.relu(x)", True),
    ("return torch.nn.functional.relu(x.view(-1) * 2, inplace=False)", True),
    ("return torch.nn.functional.leaky_relu(x, 0.1)", True),
    ("return torch.nn.functional.hardtanh(x.clone())", True),
    ("return torch.clamp(x, 0.1, 0.5).log()", True),
    ("return torch.where(x > 0, x, x * 0.1)", True),
    ("return torch.maximum(x, torch.zeros_like(x))", True),
    ("return x.abs().sum(-1)", True),
    ("return torch.relu(x).half().double()", True),
    ("return torch.relu(x) * x", False),        # the product may be taken in logarithms
    ("return torch.relu(x + 1)", False),        # there numbers above -1 are enough
    ("return x.amax(-1)", False),               # and a kernel may begin with zero
    ("return x.cumprod(-1)", False),
    ("return torch.tanh(x)", False),
    ("return x ** 4", False),
    ("return torch.where(x > 0.5, x.log(), x)", False),
])
def test_numbers_get_signs_where_the_reference_asks_for_them_alone(session, forward, expects):
    prepared(session, module(forward, POSITIVE))
    arena, reply = drawn(session, "some_rows")
    assert arena is not None and ("negated" in reply.description) == expects


def test_a_bound_that_no_draw_reaches_is_not_to_be_left_out(session):
    prepared(session, module("return torch.relu(x) * 2", POSITIVE))
    assert not answered(session, lambda x: x * 2, "some_rows").right
    assert answered(session, lambda x: x.clamp(min=0) * 2, "some_rows").right


@pytest.mark.parametrize("inputs", ["[torch.rand(64)]", "[torch.rand(64, 32).T]", "[torch.rand(64, 32) + 1]"])
def test_numbers_of_any_form_get_signs(session, inputs):
    prepared(session, module("return torch.relu(x)", inputs))
    assert not answered(session, lambda x: x.clone(), "some_rows").right


def test_a_reference_without_an_answer_is_asked_once(session):
    prepared(session, module("return x / x.norm(dim=-1, keepdim=True)", ROWS))
    for seed in (1, 2):
        assert "zero" not in drawn(session, "some_rows", seed)[1].description
    assert session._task.without_edges == {"some_rows"}
    assert draw(session) is not None
