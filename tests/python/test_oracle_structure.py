"""Equal numbers and rows of unit length stay what they are in every family."""
import pytest
import torch
from test_oracle_families import ALL, change, learned

from kernelwright._engine.oracle import traits
from kernelwright._engine.oracle.inputs import tensors_in
from kernelwright._engine.oracle.traits import CHOSEN, KEPT

def table():
    found = torch.randn(16, 8)
    return torch.cat([found, found], -1)


def heads():
    return torch.randn(2, 8, 4).repeat_interleave(3, 0)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("make, is_kept", [
    (table, lambda x: torch.equal(x[:, :8], x[:, 8:])),
    (heads, lambda x: all(torch.equal(x[0], x[at]) for at in (1, 2)) and torch.equal(x[3], x[5])),
    (lambda: torch.nn.functional.normalize(torch.randn(16, 8), dim=-1),
     lambda x: torch.allclose(x.norm(dim=-1), torch.ones(16), atol=1e-3))])
def test_what_holds_in_every_draw_stays(make, is_kept, name):
    x, y, _ = change(make, name)
    assert is_kept(x) and is_kept(y)


def test_one_draw_proves_no_structure():
    torch.manual_seed(1)
    first, other = table(), torch.randn(16, 16)
    (unit,) = traits.learned([first], [other])
    assert not unit.traits.structure.repeats


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("transposed", [False, True])
def test_twins_stay_equal(transposed, name):
    def make():
        one = torch.randn(8, 4)
        return [one, one.T.contiguous() if transposed else one.clone()]
    _, (one, two), _ = change(make, name)
    assert torch.equal(one, two.T if transposed else two)


def test_others_are_no_twins():
    _, units = learned(lambda: [torch.randn(8, 4), torch.randn(8, 4), torch.randn(4, 8)])
    assert all(unit.traits.structure.twin is None and not unit.traits.structure.repeats for unit in units)


# The zeros end where the lengths say.
@pytest.mark.parametrize("padded, kind", [(True, KEPT), (False, CHOSEN)])
def test_lengths_stay_where_zeros_lie_behind_them(padded, kind):
    def make():
        lengths = torch.randint(2, 17, (32,))
        x = torch.randn(32, 16)
        return [x * (torch.arange(16) < lengths[:, None]) if padded else x, lengths]
    draws = []
    for seed in range(4):
        torch.manual_seed(seed)
        draws.append(tensors_in(make()))
    assert traits.learned(*draws)[1].traits.kind == kind
