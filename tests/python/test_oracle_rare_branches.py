"""Branches of a reference that its own inputs do not take."""
import pytest
import torch
from oracle_world import module

from kernelwright._engine.oracle import families, rare_branches, traits
from kernelwright._engine.oracle.inputs import tensors_in
from kernelwright._engine.oracle.load import load
from kernelwright._engine.oracle.reference import Reference


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A busy machine must not decide a test."""
    monkeypatch.setattr(rare_branches, "LIMIT_S", 60.0)


def scales_of(forward, make=lambda: [torch.randn(64, 32)], calls=None, **words):
    """The scales that lead to rare branches of a module with this `forward`; `calls` gets those that the search makes."""
    torch.manual_seed(1)
    first, second = make(), make()
    units = traits.learned(tensors_in(first), tensors_in(second))
    task = load(module(forward, **words), "", "")
    try:
        reference, sides = Reference(task, torch.device("cpu")), rare_branches.Sides()
        with sides:
            reference.call(first, 7)
        if calls is not None:
            call = reference.call
            reference.call = lambda *each: (calls.append(each), call(*each))[1]
        return rare_branches.scales(reference, first, units, 7, sides)
    finally:
        task.close()


@pytest.mark.parametrize("forward, above", [
    ("return torch.where(x > 1000.0, x * 2, x)", 1000),
    ("return torch.where(x.abs() <= 1000.0, x, -x)", 1000),
    ("return x.clamp(max=1e6)", 1e6),
    ("return x.clamp(min=-1e6)", 1e6),
    ("return x.clamp_(-1e6, 1e9)", 1e6),
    ("return torch.nn.functional.hardtanh(x, -500.0, 500.0)", 500),
    ("return torch.nn.functional.threshold(x, 500.0, 0.0)", 500),
    ("return torch.nn.functional.hardshrink(x * 1e-3, 0.5)", 500),
    ("return torch.minimum(x, torch.full_like(x, 1000.0))", 1000),
    ("return torch.relu(x + 1000.0)", 1000),
    ("return x * 2 if float(x.max()) > 1000.0 else x", 1000),
    ("return x * 2 if bool((x.sum() > 1e5).any()) else x", 3e3),
])
def test_a_scale_leads_beyond_the_bound(forward, above):
    found = scales_of(forward)
    assert found and above / 6 < abs(found[0]) < above * 6


def test_one_of_two_opposite_bounds_of_a_mean_gets_a_negative_scale():
    above, = scales_of("return torch.where(x.mean() > 50.0, x * 2, x)")
    below, = scales_of("return torch.where(x.mean() < -50.0, x * 2, x)")
    assert above * below < 0


def test_bounds_far_apart_get_a_scale_each():
    few, many = scales_of("return torch.where(x > 1e6, x * 3, torch.where(x > 1e3, x * 2, x))")
    assert few < 1e5 < many


@pytest.mark.parametrize("forward, searched", [
    ("return x.exp()", 0),                           # no bound
    ("return torch.relu(x)", 0),                     # both sides are drawn
    ("return x * 2 if x.shape[0] > 1000 else x", 0),  # no number decides
    ("return torch.where(x > 100.0, x * 2, x)", 2),  # scaled_60 goes there
    ("return torch.sigmoid(x).clamp(0.0, 1.0)", 13),  # nothing leads there
    ("return x / x.norm(dim=1, keepdim=True).clamp(min=1e-12)", 13),
])
def test_no_scale_is_needed(forward, searched):
    calls = []
    assert scales_of(forward, calls=calls) == () and len(calls) == searched


def test_numbers_within_a_range_stay_there():
    assert scales_of("return torch.where(x > 1000.0, x * 2, x)", lambda: [torch.rand(64, 32)]) == ()


def test_scales_have_room_in_half_precision():
    found, = scales_of("return x.clamp(max=2000.0)", lambda: [torch.randn(64, 32).half()])
    assert torch.isfinite(torch.randn(64, 32).half() * found * 2).all()
    assert scales_of("return x.clamp(max=60000.0)", lambda: [torch.randn(64, 32).half()]) == ()


def test_a_reference_that_raises_there_has_none():
    assert scales_of("if float(x.max()) > 1000.0: raise ValueError(1)\n        return x") == ()


def test_a_scale_stands_though_the_reference_raises_further_out():
    assert scales_of("x.norm(dim=1).clamp(min=1e-12)\n        assert float(x.abs().max()) < 1e7\n"
                     "        return torch.where(x > 1000.0, x * 2, x)")


def test_the_search_changes_neither_inputs_nor_weights():
    first = [torch.randn(64, 32), torch.rand(64, 32)]
    kept = [each.clone() for each in first]
    assert scales_of("if float(x.max()) > 1000.0:\n            y.mul_(2.0)\n        return x + y", lambda: first,
                     parameters="self, x, y")
    assert all(torch.equal(own, before) for own, before in zip(first, kept))


def test_the_family_scales_rows_by_each():
    torch.manual_seed(1)
    first, units = torch.randn(256, 8), traits.learned([torch.randn(256, 8)], [torch.randn(256, 8)])
    assert "rare_branch" not in families.offered(units)
    units[0].traits.beyond = (1e3, -1e6)
    assert "rare_branch" in families.offered(units)
    found = families.varied(first, units, "rare_branch", 3, ["x"])
    assert found.words == "x: rows scaled by one of 1e+03, -1e+06"
    ratios = (found.values / first).round().unique(dim=1)
    assert set(ratios.flatten().tolist()) == {1e3, -1e6} and ratios.shape[1] == 1
