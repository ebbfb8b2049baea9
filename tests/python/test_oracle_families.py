"""Traits that are learned from draws, and families of changed inputs."""
import pytest
import torch
from oracle_world import ROOT

from kernelwright._engine.oracle import certificate, certify, families, traits
from kernelwright._engine.oracle.inputs import tensors_in
from kernelwright._engine.oracle.reshape import KINDS
from kernelwright._engine.oracle.traits import KEPT, NORMAL, PROBABILITIES, WITHIN

ALL = [name for name, each in families.FAMILIES.items() if each.normal and not each.is_apart]


def drawn(make, seed=0):
    torch.manual_seed(seed)
    return make()


def learned(make):
    """(the first draw, its units)."""
    first, second = drawn(make, 1), drawn(make, 2)
    return first, traits.learned(tensors_in(first), tensors_in(second))


def change(make, name, seed=7):
    """(the values as drawn, as changed, what is said)."""
    first, units = learned(make)
    kept = [each.clone() for each in tensors_in(first)]
    found = families.varied(first, units, name, seed, [f"x{at}" for at in range(len(kept))])
    for own, before in zip(tensors_in(first), kept):
        assert torch.equal(own, before)
    return first, found.values, found.words


def square(symmetric):
    found = torch.randn(8, 8)
    return found + found.T if symmetric else found


@pytest.mark.parametrize("make, kind", [
    (lambda: torch.randn(64, 32), NORMAL),
    (lambda: torch.randn(64, 32).bfloat16(), NORMAL),
    (lambda: torch.randn(64, 32).to(torch.float8_e4m3fn), NORMAL),
    (lambda: torch.randn(64, 32).double(), NORMAL),
    (lambda: torch.linspace(-3, 3, 100)[torch.arange(100) * 37 % 100], NORMAL),  # it never varies
    (lambda: torch.nn.Parameter(torch.randn(4, 8)), NORMAL),
    (lambda: torch.randn(64, 32).clamp(-2, 2), WITHIN),
    (lambda: torch.randn(64, 32).clamp(-2, 2).bfloat16(), WITHIN),
    (lambda: torch.randn(64, 32).clamp(max=2), NORMAL),  # no bound holds below
    (lambda: (torch.rand(64, 64) * 2 - 1).bfloat16(), NORMAL),  # rounding repeats all numbers
    (lambda: torch.tanh(torch.randn(64, 32)), NORMAL),
    (lambda: torch.randn(8), NORMAL),
    (lambda: torch.randn(1, 64).expand(8, 64), NORMAL),
    (lambda: torch.randn(8, 8).T, NORMAL),
    (lambda: torch.tril(torch.randn(16, 16)), NORMAL),
    (lambda: torch.rand(64, 32), WITHIN),
    (lambda: torch.randn(64, 32) + 1, NORMAL),
    (lambda: torch.randn(64, 32) + 3, WITHIN),
    (lambda: torch.rand(64, 32) * 3 - 1, WITHIN),  # no tails
    (lambda: torch.nn.functional.gelu(torch.randn(64, 32)), WITHIN),  # one tail
    (lambda: torch.randn(64, 32).abs(), WITHIN),
    (lambda: torch.softmax(torch.randn(64, 32), -1), PROBABILITIES),
    (lambda: torch.softmax(torch.randn(4, 8, 16).half(), 1), PROBABILITIES),
    (lambda: torch.randn(64).sort().values, KEPT),
    (lambda: torch.randint(0, 2, (64,)).float() * 2 - 1, KEPT),
    (lambda: torch.randint(0, 5, (256,)).float() / 5 + 0.1, KEPT),
    (lambda: torch.full((4, 8), 0.5), KEPT),
    (lambda: torch.zeros(8, 8), KEPT),
    (lambda: torch.randn(8, 8).where(torch.eye(8) > 0, float("-inf")), KEPT),
    (lambda: torch.randint(0, 9, (64,)), KEPT),
    (lambda: torch.randn(64) > 0, KEPT),
    (lambda: torch.randn(64, dtype=torch.complex64), KEPT),
    (lambda: torch.randn(()), KEPT),
    (lambda: torch.randn(3), KEPT),
    (lambda: torch.empty(0, 8), KEPT),
])
def test_kind(make, kind):
    _, (unit,) = learned(lambda: [make()])
    assert unit.traits.kind == kind and bool(unit.traits.why) == (kind == KEPT)


@pytest.mark.parametrize("shared, places", [
    (lambda x: [x, x], [[0, 1]]), (lambda x: [x[:8], x[8:]], [[0, 1]]), (lambda x: [x, {"y": [x.T]}], [[0, 1]]),
    (lambda x: [x, x.clone()], [[0], [1]]),
])
def test_tensors_that_share_memory_are_one_unit(shared, places):
    first, units = learned(lambda: shared(torch.randn(16, 16)))
    assert [unit.places for unit in units] == places
    changed = tensors_in(families.varied(first, units, "scaled_8", 1, ["a", "b"]).values)
    assert all(torch.equal(own * 8, other) for own, other in zip(tensors_in(first), changed))
    if len(places) == 1:
        assert changed[0].untyped_storage().data_ptr() == changed[1].untyped_storage().data_ptr()
        assert (changed[0] is changed[1]) or tensors_in(first)[0] is not tensors_in(first)[1]


NORMAL_FACTS = {
    "scaled_8": lambda x, y: torch.equal(y, x * 8),
    "scaled_60": lambda x, y: torch.equal(y, x * 60),
    "reduced_16": lambda x, y: torch.equal(y, x / 16),
    "negated": lambda x, y: torch.equal(y, -x),
    "lowered_4": lambda x, y: torch.allclose(y, x - 4, atol=0.2),
    "far_below": lambda x, y: torch.allclose(y, x - 128, atol=6),
    "shifted_4": lambda x, y: torch.allclose(y, x + 4, atol=0.2),
    "shifted_8": lambda x, y: torch.allclose(y, x + 8, atol=0.4),
    "heavy_tailed": lambda x, y: torch.allclose(y, x ** 3, rtol=0.1),
    "sparse": lambda x, y: 0.9 < (y == 0).float().mean() < 0.99 and torch.equal(y[y != 0], x[y != 0]),
    "spiked": lambda x, y: torch.equal(y[y != x], x[y != x] * 60) and 0 < (y != x).sum() <= 2,
    "region": lambda x, y: in_one_piece(x, y) and torch.equal(y[y != x], x[y != x] * 8),
    "some_rows": lambda x, y: set(((y / x).round().amin(1)).tolist()) == {1, 8} and torch.equal(
        (y / x).round().amin(1), (y / x).round().amax(1)),
    "sorted_rows": lambda x, y: torch.equal(y.sort(-1).values, x.sort(-1).values) and {-1, 1} == set(
        (y[:, -1] - y[:, 0]).sign().tolist()) and ((y.diff() >= 0).all(-1) | (y.diff() <= 0).all(-1)).all(),
    "on_steps": lambda x, y: torch.equal(y * 32, (y * 32).round()) and (y - x).abs().max() <= 0.04,
    "constant_rows": lambda x, y: torch.equal(y, x[:, :1].expand(x.shape)),
}


def in_one_piece(x, y):
    places = (x != y).reshape(-1).nonzero().reshape(-1)
    return len(places) == x.numel() // 8 == int(places[-1] - places[0]) + 1


@pytest.mark.parametrize("name", ALL)
def test_what_looks_normal_is_changed(name):
    x, y, words = change(lambda: torch.randn(128, 64), name)
    assert NORMAL_FACTS[name](x, y), y
    assert words.startswith("x0: ") and y.stride() == x.stride()


@pytest.mark.parametrize("name", [name for name in ALL if families.FAMILIES[name].within or name == "constant_rows"])
@pytest.mark.parametrize("make", [lambda: torch.rand(64, 32), lambda: torch.rand(64, 32).bfloat16() * 3 + 1])
def test_other_numbers_stay_within_their_range(make, name):
    x, y, words = change(make, name)
    _, (unit,) = learned(make)
    assert words and not torch.equal(x, y) and y.dtype == x.dtype
    assert y.min() >= unit.traits.low and y.max() <= unit.traits.high


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dim", [-1, 1])
def test_probabilities_stay_probabilities(name, dim):
    x, y, words = change(lambda: torch.softmax(torch.randn(8, 16, 32), dim), name)
    assert torch.allclose(y.sum(dim), torch.ones(()), atol=1e-5) and y.min() >= 0
    assert bool(words) == (not torch.equal(x, y)) == (families.FAMILIES[name].probabilities is not None)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("make", [lambda: torch.tril(torch.randn(32, 32)), lambda: torch.triu(torch.rand(32, 32))])
def test_a_triangle_stays_one(make, name):
    x, y, _ = change(make, name)
    assert not y[x == 0].any()


@pytest.mark.parametrize("name", ALL)
def test_symmetry_stays(name):
    _, y, _ = change(lambda: square(True), name)
    assert torch.equal(y, y.T)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("make", [
    lambda: [torch.empty(0, 8), torch.randn(()), torch.randn(2, dtype=torch.complex64), torch.randint(9, (8,)), 3, "s", None],
    lambda: [torch.randn(64).half(), {"a": [torch.randn(8, 4)], "b": (torch.rand(5, 5), True)}],
    lambda: [torch.randn(64, 4).to(torch.float8_e5m2), torch.randn(1, 64), torch.randn(64, 1), torch.randn(1, 1, 8)],
    lambda: [torch.randn(8, 1).expand(8, 16), torch.randn(16, 8)[::2, ::3], torch.randn(4, 8).T.double()],
    lambda: [torch.as_strided(torch.randn(16), (1, 4, 4), (7, 4, 1))],
])
def test_shapes_strides_and_dtypes_stay(make, name):
    first, units = learned(make)
    labels = [str(at) for at in range(len(tensors_in(first)))]
    one, two = (tensors_in(families.varied(first, units, name, 3, labels).values) for _ in range(2))
    for own, changed, again in zip(tensors_in(first), one, two):
        assert (changed.dtype, changed.shape, changed.stride()) == (own.dtype, own.shape, own.stride())
        assert torch.equal(*(each.view(torch.uint8) if each.element_size() == 1 else each for each in (changed, again)))


def test_another_seed_changes_other_values():
    x, units = learned(lambda: torch.randn(64, 64))
    one, two = (families.varied(x, units, "region", seed, ["x"]).values for seed in (1, 2))
    assert not torch.equal(one, two)


def test_only_families_that_change_something_are_offered():
    assert families.offered(learned(lambda: [torch.randint(9, (8,)), torch.ones(4)])[1]) == []
    assert families.offered(learned(lambda: [torch.randn(8, 8)])[1]) == ALL
    assert "shifted_4" not in families.offered(learned(lambda: [torch.rand(8, 8)])[1])
    assert [name for name in ALL if families.reported_only(name)] == ["constant_rows", "shifted_8", "on_steps"]


def test_several_tensors_are_shifted_to_both_sides():
    values, units = learned(lambda: [torch.randn(64, 64), torch.rand(8), torch.randn(64, 64)])
    moved = families.varied(values, units, "shifted_apart", 1, ["a", "b", "c"])
    assert torch.allclose(moved.values[0], values[0] + 4, atol=0.2) and torch.allclose(moved.values[2], values[2] - 4, atol=0.2)
    assert moved.values[1] is values[1] and moved.words.startswith("a, c: ")
    assert "shifted_apart" not in families.offered(learned(lambda: [torch.randn(8, 8), torch.rand(8)])[1])


def test_the_words_name_what_was_changed():
    _, _, words = change(lambda: [torch.randn(8, 8), torch.rand(8, 8), torch.arange(8), torch.randn(8)], "scaled_60")
    assert words == "x0, x3: scaled by 60; x1: raised to near its upper end"


@pytest.mark.parametrize("word", [families.GIVEN, *families.FAMILIES, *KINDS, *certificate.ANSWERS, certify.AFFINE,
                                  certify.BFLOAT16, certify.HALF])
def test_kernelwright_explain_has_the_word(word):
    assert f'NamedWords{{"{word}",' in (ROOT / "src/verify/explain/trial_words.cpp").read_text()
