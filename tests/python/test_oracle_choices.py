"""Integers and masks: what their draws have in common stays, whatever a family changes."""
import pytest
import torch

from kernelwright._engine.oracle import choices, families, traits
from kernelwright._engine.oracle.choices import COUNTED, MASK, PREFIX, REORDERED, STEPS, TUPLES, VALUES
from kernelwright._engine.oracle.index_guard import IndexGuard
from kernelwright._engine.oracle.inputs import tensors_in
from kernelwright._engine.oracle.traits import CHOSEN, KEPT

FAMILIES = ["mostly_high", "mostly_low", "in_order"]


def learned(make):
    """(the first of four draws, its units)."""
    draws = []
    for seed in range(4):
        torch.manual_seed(seed)
        draws.append(make())
    return draws[0], traits.learned(*map(tensors_in, draws))


def changes(make):
    """(as drawn, as a family changes it) for each family that changes the only input."""
    first, units = learned(lambda: [make()])
    for name in FAMILIES:
        found = families.varied(first, units, name, 7, ["x"])
        if found.words:
            yield first[0], tensors_in(found.values)[0]


def prefix():
    return torch.arange(32) < torch.randint(3, 30, (16, 1))


def offsets():
    return torch.cat([torch.zeros(1, dtype=torch.int64), torch.randint(1, 9, (16,)).cumsum(0)])


def pairs():
    return torch.stack([torch.randperm(8)[:2] for _ in range(64)])


@pytest.mark.parametrize("make, how", [
    (lambda: torch.randint(1000, (256,)), VALUES),
    (lambda: torch.randint(-128, 128, (32, 64), dtype=torch.int8), VALUES),
    (lambda: torch.randint(9, (64, 32)).T, VALUES),
    (lambda: torch.randint(0, 9, (32, 64)).float(), VALUES),
    (lambda: torch.randint(-100, 100, (64,)).half(), VALUES),
    (lambda: torch.randperm(64).bfloat16(), REORDERED),
    (lambda: offsets().float(), STEPS),
    (lambda: torch.randperm(64), REORDERED),
    (lambda: torch.randperm(64) % 16, REORDERED),  # their sum stays
    (offsets, STEPS),
    (lambda: offsets().flip(0), STEPS),
    (pairs, TUPLES),
    (lambda: torch.randint(50, (2, 200)), TUPLES),
    (lambda: torch.rand(16, 32) < 0.9, MASK),
    (lambda: torch.rand(16, 32).lt(0.5).float(), MASK),
    (lambda: torch.zeros(16, 32).masked_fill(torch.rand(16, 32) < 0.3, float("-inf")), MASK),
    (lambda: torch.randint(0, 2, (64,)).float() * 2 - 1, MASK),
    (prefix, PREFIX),
    (lambda: ~prefix(), PREFIX),
    (lambda: torch.nn.functional.one_hot(torch.randint(10, (64,)), 10), COUNTED),
])
def test_what_draws_have_in_common(make, how):
    _, (unit,) = learned(lambda: [make()])
    assert unit.traits.kind == CHOSEN and unit.traits.seen.how == how


@pytest.mark.parametrize("make, why", [
    (lambda: torch.randint(9, (3,)), "too few values"),
    (lambda: torch.randint(0, 9, (256,)).float() / 5 + 0.1, "no integers and no mask"),
    (lambda: (torch.randn(64) * 1e9).round(), "no integers and no mask"),  # of such, float32 lacks most
    (lambda: torch.rand(16, 16) < 2, "no real numbers"),
    (lambda: torch.arange(64), "no real numbers"),
])
def test_what_is_kept(make, why):
    _, (unit,) = learned(lambda: [make()])
    assert (unit.traits.kind, unit.traits.why) == (KEPT, why)


def indices_of_columns():
    return torch.rand(24, 40).argsort(0)


def rectangle():
    rows, columns = torch.randint(2, 16, (2,))
    return (torch.arange(24) < rows)[:, None] & (torch.arange(32) < columns)


def sorted_edges():
    edges = torch.randint(50, (200, 2))
    return edges[edges[:, 0].argsort()]


@pytest.mark.parametrize("make, why", [
    (rectangle, "an order along several dimensions"),
    (sorted_edges, "tuples in an order"),
    (lambda: torch.stack([torch.arange(64) // 8, torch.randint(99, (64,))], 1), "tuples in an order"),
    (lambda: (torch.arange(24)[:, None] + torch.arange(24)[None] + torch.randint(24, ())) % 24,
     "an order along several dimensions"),
])
def test_an_order_that_a_change_would_break_is_kept(make, why):
    _, (unit,) = learned(lambda: [make()])
    assert (unit.traits.kind, unit.traits.why) == (KEPT, why)


def test_numbers_that_differ_along_columns_stay_so():
    found = list(changes(indices_of_columns))
    assert len(found) == 2
    assert all(torch.equal(after.sort(0).values, torch.arange(24)[:, None].expand(24, 40)) for _, after in found)


def test_a_prefix_along_columns_stays_one():
    for _, after in changes(lambda: prefix().T):
        assert (after.to(torch.int8).diff(dim=0) <= 0).all()


def test_rows_keep_their_sum():
    def make():
        cuts = torch.rand(32, 23).argsort(-1).argsort(-1)[:, :19] // 2
        return torch.cat([cuts, 300 - cuts.sum(1, keepdim=True)], 1)
    for _, after in changes(make):
        assert (after.sum(1) == 300).all()


def test_a_first_number_that_never_changes_stays():
    for before, after in changes(lambda: torch.cat([torch.ones(16, 1, dtype=torch.int64), torch.randint(900, (16, 64))], 1)):
        assert (after[:, 0] == 1).all() and not torch.equal(before, after)


def test_a_symmetric_mask_is_kept():
    def make():
        half = torch.rand(16, 16) < 0.5
        return [half & half.T]
    _, (unit,) = learned(make)
    assert unit.traits.kind == KEPT and unit.traits.why == "a symmetric mask"


@pytest.mark.parametrize("make", [
    lambda: torch.randint(1000, (256,)), lambda: torch.randint(-100, 5, (8, 64)), lambda: torch.randint(0, 64, (64,)) * 16,
    lambda: torch.randint(50, (2, 200)), lambda: torch.randint(0, 99, (64,)).to(torch.uint16), pairs,
    lambda: torch.randint(-100, 5, (8, 64)).float(), lambda: torch.randint(0, 64, (64,)).bfloat16() * 16])
def test_values_stay_within_those_drawn(make):
    tried = 0
    for before, after in changes(make):
        tried += 1
        assert after.dtype == before.dtype and after.stride() == before.stride()
        before, after = before.long(), after.long()
        assert after.min() >= 0 if before.min() >= 0 else after.min() >= -100
        assert not (after % 16).any() if not (before % 16).any() else True
        assert not torch.equal(before, after)
    assert tried == (2 if make().is_floating_point() else 3)


def test_permutations_stay_permutations():
    found = list(changes(lambda: torch.randperm(64)))
    assert len(found) == 2
    assert all(torch.equal(after.sort().values, torch.arange(64)) for _, after in found)


def test_offsets_keep_their_ends_and_their_steps():
    found = list(changes(offsets))
    assert len(found) == 2
    for before, after in found:
        assert (after[0], after[-1]) == (before[0], before[-1])
        assert torch.equal(after.diff().sort().values, before.diff().sort().values)
        assert not torch.equal(before, after)


def test_rows_of_few_numbers_stay_together():
    for _, after in changes(pairs):
        assert (after[:, 0] != after[:, 1]).all()


def test_a_one_hot_row_stays_one():
    for _, after in changes(lambda: torch.nn.functional.one_hot(torch.randint(10, (64,)), 10)):
        assert (after.sum(1) == 1).all()


def test_a_prefix_stays_one_and_within_the_lengths_drawn():
    for _, after in changes(prefix):
        assert (after.to(torch.int8).diff(dim=1) <= 0).all()
        assert after.sum(1).min() >= 3 and after.sum(1).max() < 30


def test_a_triangle_of_a_mask_stays():
    for _, after in changes(lambda: torch.tril(torch.rand(32, 32) < 0.5)):
        assert not torch.triu(after, 1).any()


def test_a_diagonal_of_a_mask_stays():
    for _, after in changes(lambda: torch.rand(32, 32).lt(0.5) | torch.eye(32).bool()):
        assert after.diagonal().all()


# A softmax over a row of which nothing is left has no answer, and a kernel need not give the reference's.
def test_no_row_of_a_mask_becomes_empty_where_none_was():
    for _, after in changes(lambda: torch.rand(256, 8).argsort(-1).argsort(-1) < torch.randint(1, 8, (256, 1))):
        assert after.any(1).all()


def test_an_expanded_mask_stays_expanded():
    for before, after in changes(lambda: (torch.rand(4, 1, 1, 32) < 0.5).expand(4, 8, 16, 32)):
        assert after.stride() == before.stride()
        assert (after == after[:, :1, :1]).all()


@pytest.mark.parametrize("make", [
    lambda: [torch.randint(1, 65, (8,)), prefix()[:8]],   # lengths, and the mask that they may give
    lambda: [offsets(), torch.randint(1, 9, (16,))],      # offsets, and the lengths between them
    lambda: [torch.randint(9, (64,)), torch.randint(5, (64,))],
])
def test_integers_that_may_depend_on_each_other_are_kept(make):
    _, units = learned(make)
    assert all(unit.traits.why == "other integers may belong to them" for unit in units)


def test_quantised_operands_vary_beside_each_other():
    _, units = learned(lambda: [torch.randint(-128, 128, (32, 64), dtype=torch.int8) for _ in range(2)])
    assert all(unit.traits.kind == CHOSEN for unit in units)


def test_floats_that_hold_whole_numbers_vary_beside_each_other_and_not_beside_integers():
    _, units = learned(lambda: [torch.randint(9, (32, 64)).float(), torch.randint(9, (64, 16)).float()])
    assert all(unit.traits.kind == CHOSEN for unit in units)
    _, units = learned(lambda: [torch.randint(9, (32, 64)).float(), torch.randint(9, (32,))])
    assert all(unit.traits.why == "other integers may belong to them" for unit in units)


# A variance of numbers that are nearly equal is no more than rounding to a kernel that takes it in one pass.
@pytest.mark.parametrize("shape", [(256, 16, 24), (256, 24), (24, 256)])
def test_lines_of_floats_keep_some_of_their_variance(shape):
    found = list(changes(lambda: torch.randint(1000, shape).float()))
    assert len(found) == 2
    for before, after in found:
        assert not torch.equal(before, after)
        assert (after.var(-1) > before.var(-1) / 17).all()


def test_sorted_rows_of_floats_leave_no_column_of_equal_numbers():
    found = list(changes(lambda: torch.rand(64, 32).argsort(-1).float()))
    assert found and all((after.var(0) > 0).all() for _, after in found)


def test_a_mask_beside_values_that_are_masked_already_is_kept():
    def make():
        mask = torch.rand(16, 32) < 0.5
        return [torch.randn(16, 32) * mask, mask]
    _, (_, mask) = learned(make)
    assert mask.traits.kind == KEPT


def test_what_never_varies_is_changed_for_the_record_only():
    make = lambda: [torch.randn(4, 8), torch.arange(64), torch.ones(8), torch.ones(4, dtype=torch.int64)]  # noqa: E731
    first, units = learned(make)
    assert not set(FAMILIES) & set(families.offered(units)) and families.offered(units)[-1] == "never_varied"
    assert families.reported_only("never_varied")
    x, places, ones, counts = tensors_in(families.varied(first, units, "never_varied", 3, list("abcd")).values)
    assert torch.equal(x, first[0]) and torch.equal(counts, first[3])
    assert torch.equal(places.sort().values, first[1]) and not torch.equal(places, first[1])
    assert ((ones - 1).abs() <= 0.5).all() and not torch.equal(ones, first[2])


def test_two_draws_alone_leave_integers_as_they_are():
    torch.manual_seed(0)
    (unit,) = traits.learned([torch.randint(9, (64,))], [torch.randint(9, (64,))])
    assert unit.traits.kind == KEPT


def test_words_name_every_change():
    for how in choices.WORDS:
        assert any(choices.Choices(how).words(change) for change in ("low", "high", "order"))


TABLE = torch.arange(40.0).reshape(10, 4)


@pytest.mark.parametrize("use", [
    lambda at: torch.nn.functional.embedding(at, TABLE), lambda at: TABLE[at], lambda at: TABLE.gather(0, at[:, None]),
    lambda at: TABLE.index_select(0, at), lambda at: torch.zeros(10).scatter(0, at, 1.0),
    lambda at: torch.zeros(10).index_add_(0, at, torch.ones(2)), lambda at: TABLE.clone().index_put_((at,), TABLE[:1, 0]),
    lambda at: torch.nn.functional.cross_entropy(TABLE[:2].repeat(1, 3)[:, :10], at)])
def test_an_index_beyond_its_dimension_is_refused_before_it_is_used(use):
    with IndexGuard():
        use(torch.tensor([0, 9]))
        with pytest.raises(IndexError, match="beyond its dimension of 10"):
            use(torch.tensor([0, 10]))


def test_an_ignored_label_is_no_index():
    with IndexGuard():
        torch.nn.functional.cross_entropy(TABLE, torch.tensor([0, -100] * 5))
