"""Values over the wire: equal after the round trip, or reported as not portable."""
import collections
import dataclasses

import numpy
import pytest
import torch

from kernelwright._engine import values, wire

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Output:
    logits: object
    loss: float


def through(value):
    """The value after packing and unpacking, and the placed tensors."""
    placed = []

    def place(tensor):
        placed.append(tensor)
        return wire.made(wire.TensorT, offset=len(placed) - 1)
    tree = wire.from_bytes("Value", wire.to_bytes(values.to_wire(value, place)))
    return tree, values.from_wire(tree, lambda ref: placed[ref.offset])


@pytest.mark.parametrize("value", [
    None, True, False, 0, -(1 << 63), (1 << 63) - 1, 2.5, float("inf"), "", "häh", torch.bfloat16, [], (), {},
    [1, (2, [3.0]), {"a": None, "b": [True]}], {"": 1},
])
def test_round_trip(value):
    found = through(value)[1]
    assert found == value and type(found) is type(value)


def test_nan():
    assert through(float("nan"))[1] != through(float("nan"))[1]


def test_tensors_are_placed_in_order():
    a, b = torch.ones(2), torch.nn.Parameter(torch.zeros(3))
    tree, found = through({"a": a, "b": [b, a]})
    assert found["a"] is a and found["b"][0] is b
    assert [each.offset for each in values.tensors_of(tree)] == [0, 1, 2]


def test_relatives_of_containers():
    assert through(Point(1, 2))[1] == (1, 2)
    assert through(torch.Size([3, 4]))[1] == (3, 4)
    assert through(collections.OrderedDict(a=1))[1] == {"a": 1}
    assert through(Output(3, 0.5))[1] == {"logits": 3, "loss": 0.5}
    assert through(numpy.float64(1.5))[1] == 1.5 and through(numpy.int64(4))[1] == 4
    assert through({1: "x"})[1] == {"1": "x"}


class Lazy(torch.Tensor):
    """A tensor that could compute when it is read."""


@pytest.mark.parametrize("value, name", [
    (object(), "object"), ({1, 2}, "set"), (1 << 63, "int"), (1j, "complex"), (lambda: 0, "function"),
    (torch.ones(2).as_subclass(Lazy), "Lazy"), (torch.ones(2).to_sparse(), "Tensor"),
    (torch.empty(2, device="meta"), "Tensor"), ({object(): 1}, "dict"), ("x" * 5000, "str"),
    (torch.ones, "builtin_function_or_method"),
])
def test_what_does_not_cross_is_named(value, name):
    tree = values.to_wire([value], None)
    assert values.unportable_in(tree) == [name]
    with pytest.raises(ValueError, match=name):
        values.from_wire(tree, None)


def test_values_are_bounded():
    circle = []
    circle.append(circle)
    for value in (circle, [0] * 5000, [[[0] * 100] * 100] * 100):
        with pytest.raises(values.TooLarge):
            values.to_wire(value, None)


@pytest.mark.parametrize("name", ["nothing", "Tensor", "__name__", ""])
def test_dtypes_are_dtypes(name):
    with pytest.raises(ValueError):
        values.dtype_of(name)
