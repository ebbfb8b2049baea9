"""Perturbed initialisers: different from the defaults, equal for equal constructors, without other effects."""
import pytest
import torch
from torch import nn

from kernelwright._engine.moved import moved_initialisers

MODULES = {
    "linear": lambda: nn.Linear(4, 5), "conv": lambda: nn.Conv2d(3, 4, 3), "layer_norm": lambda: nn.LayerNorm(6),
    "batch_norm": lambda: nn.BatchNorm2d(4), "attention": lambda: nn.MultiheadAttention(8, 2),
    "lstm": lambda: nn.LSTM(3, 4), "embedding": lambda: nn.Embedding(5, 3), "prelu": nn.PReLU,
    "transformer": lambda: nn.TransformerEncoderLayer(8, 2, 16),
}


def state(make, seed=3):
    with moved_initialisers(seed):
        return make().state_dict()


@pytest.mark.parametrize("name", MODULES)
def test_equal_constructors_get_equal_bits(name):
    first, second, other = state(MODULES[name]), state(MODULES[name]), state(MODULES[name], 4)
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert any(not torch.equal(first[key], other[key]) for key in first)


@pytest.mark.parametrize("name", MODULES)
def test_every_weight_moves_a_little(name):
    torch.manual_seed(3)
    plain = MODULES[name]().state_dict()
    for key, moved in state(MODULES[name]).items():
        if moved.is_floating_point():
            assert (moved != plain[key]).all(), key
            assert (moved - plain[key]).abs().mean() < 0.2, key


def test_random_numbers_come_out_as_without_us():
    torch.manual_seed(3)
    nn.Linear(4, 5)
    expected = torch.randn(6)
    with moved_initialisers(3):
        nn.Linear(4, 5)
        nn.Parameter(torch.ones(4))
        assert torch.equal(torch.randn(6), expected)


def test_everything_is_put_back():
    before = dict(vars(nn.init)), nn.Parameter.__dict__["__new__"], nn.modules.activation.xavier_uniform_
    with pytest.raises(ZeroDivisionError), moved_initialisers(1):
        assert nn.modules.activation.xavier_uniform_ is not before[2]
        1 / 0
    assert before == (dict(vars(nn.init)), nn.Parameter.__dict__["__new__"], nn.modules.activation.xavier_uniform_)
    assert torch.equal(nn.LayerNorm(3).weight, torch.ones(3))


def by_hand():
    module = nn.Module()
    module.weight, module.bias = nn.Parameter(torch.ones(6)), nn.Parameter(torch.zeros(6))
    return module


def data_filled():
    module = nn.Module()
    module.weight, module.bias = nn.Parameter(torch.empty(6)), nn.Parameter(torch.empty(6))
    nn.init.constant_(module.weight.data, 1)
    nn.init.zeros_(tensor=module.bias)
    return module


@pytest.mark.parametrize("make", [by_hand, data_filled])
def test_the_same_parameters_in_other_words(make):
    expected, found = state(MODULES["layer_norm"]), state(make)
    assert all(torch.equal(expected[key], found[key]) for key in expected)


def test_extra_parameters_of_other_shapes_change_nothing():
    def more():
        module = nn.Module()
        module.scale = nn.Parameter(torch.ones(2))
        module.norm = nn.LayerNorm(6)
        return module.norm
    expected, found = state(MODULES["layer_norm"]), state(more)
    assert all(torch.equal(expected[key], found[key]) for key in expected)


def test_variances_stay_positive():
    for seed in range(20):
        assert (state(lambda: nn.BatchNorm1d(500), seed)["running_var"] > 0.99).all()


def test_what_the_data_says_is_left_alone():
    data, integers = torch.arange(4.0), torch.ones(3, dtype=torch.int64)
    with moved_initialisers(1):
        assert torch.equal(nn.Parameter(data), torch.arange(4.0))
        assert torch.equal(nn.Parameter(integers, requires_grad=False), integers)
        assert torch.equal(torch.ones(3), torch.full((3,), 1.0))
        nn.LazyLinear(3)
        assert nn.Linear(3, 0).weight.shape == (0, 3)


def test_weights_packed_in_the_constructor_agree():
    with moved_initialisers(1):
        linear = nn.Linear(4, 4)
        packed = linear.weight.detach().t().contiguous()
    assert torch.equal(packed, linear.weight.t())


def filled(fill):
    module = nn.Linear(8, 8)
    fill(module)
    return module


@pytest.mark.parametrize("fill", [
    lambda module: module.weight.data.zero_(), lambda module: module.weight.data.fill_(1.0),
    lambda module: nn.init.eye_(module.weight)])
def test_a_weight_that_is_filled_later_moves(fill):
    plain = filled(fill).weight
    moved = state(lambda: filled(fill))["weight"]
    assert (moved != plain).all() and (moved - plain).abs().mean() < 0.2
    assert torch.equal(moved, state(lambda: filled(fill))["weight"])


def test_a_row_that_is_zero_stays():
    def make():
        module = nn.Embedding(5, 3)
        module.weight.data[2].zero_()
        return module
    assert (state(make)["weight"][2] == 0).all()


def holding(value, **fields):
    module = nn.Module()
    module.weight = nn.Parameter(value, **fields)
    return module


@pytest.mark.parametrize("make, moves", [
    (lambda: holding(torch.eye(8)), True), (lambda: holding(torch.arange(1.0, 9.0).repeat(16, 1)), True),
    (lambda: holding(torch.tril(torch.ones(8, 8)), requires_grad=False), False), (lambda: holding(torch.randn(8, 8)), False)])
def test_a_structure_moves_where_it_is_learned(make, moves):
    found = state(make)["weight"]
    torch.manual_seed(3)
    assert torch.equal(found, make().weight) != moves


@pytest.mark.parametrize("name, moves", [("running_mean", True), ("running_var", True), ("mask", False)])
def test_statistics_that_are_registered_by_hand_move(name, moves):
    def make():
        module = nn.Module()
        module.register_buffer(name, torch.ones(6))
        return module
    found = state(make)[name]
    assert bool((found != 1).all()) == moves and (name != "running_var" or (found >= 1).all())
