"""The mapping of arguments to parameters, and the choice of the entry."""
import inspect

import pytest

from kernelwright._engine import arguments, convention

LINEAR = ["fc.weight", "fc.bias"]
TWO = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]


def plan(function, inputs=1, names=("x",), weights=(), never=()):
    return arguments.fill(inspect.signature(function), inputs, names, list(weights), list(weights), never)


def lines(function, **more):
    return " ".join(plan(function, **more).lines())


def called(function, **more):
    """The arguments that the function receives, each "input:0" or "weight:name"."""
    args, kwargs = arguments.bound(inspect.signature(function), plan(function, **more), str)
    return function(*args, **kwargs)


@pytest.mark.parametrize("function, more, expected", [
    (lambda x: 0, {}, "x=input:0"),
    (lambda a, b: 0, {"inputs": 2, "names": ("x", "y")}, "a=input:0 b=input:1"),
    (lambda y, x: 0, {"inputs": 2, "names": ("x", "y")}, "y=input:1 x=input:0"),
    (lambda weight, x: 0, {"weights": LINEAR}, "weight=weight:fc.weight x=input:0"),
    (lambda a: 0, {"inputs": 2, "names": ("x", "y")}, "a=input:0"),
    (lambda x, weight, bias: 0, {"weights": LINEAR}, "x=input:0 weight=weight:fc.weight bias=weight:fc.bias"),
    (lambda x, bias, weight: 0, {"weights": LINEAR}, "x=input:0 bias=weight:fc.bias weight=weight:fc.weight"),
    (lambda x, w, b: 0, {"weights": LINEAR}, "x=input:0 w=weight:fc.weight b=weight:fc.bias"),
    (lambda x, fc2_weight, w: 0, {"weights": TWO}, "x=input:0 fc2_weight=weight:fc2.weight w=weight:fc1.weight"),
    (lambda x, _FC1_weight: 0, {"weights": TWO}, "x=input:0 _FC1_weight=weight:fc1.weight"),
    (lambda x, weight, bias: 0, {"weights": TWO}, "x=input:0 weight=weight:fc1.weight bias=weight:fc1.bias"),
    (lambda x, scale=None: 0, {"weights": ["scale"]}, "x=input:0 scale=weight:scale"),
    (lambda x, bias=None, eps=1e-5: 0, {"weights": LINEAR}, "x=input:0"),
    (lambda x, *, scale: 0, {"weights": ["scale"]}, "x=input:0 scale=weight:scale"),
    (lambda x, *, block: 0, {"weights": ["scale"]}, "x=input:0"),
    (lambda x, block=64: 0, {"weights": LINEAR}, "x=input:0"),
    (lambda a, weight: 0, {"inputs": 2, "names": ("x", "y"), "weights": ["weight"]}, "a=input:0 weight=input:1"),
    (lambda a, weight, b: 0, {"inputs": 2, "names": ("x", "y"), "weights": ["weight"]},
     "a=input:0 weight=weight:weight b=input:1"),
    (lambda x, weight: 0, {"inputs": 2, "names": ("x", "weight"), "weights": ["weight"]}, "x=input:0 weight=input:1"),
    (lambda x, in_features, w: 0, {"weights": LINEAR, "never": ["in_features"]}, "x=input:0 w=weight:fc.weight"),
    (lambda *args: 0, {"weights": LINEAR}, "*=input:0 *=weight:fc.weight *=weight:fc.bias"),
    (lambda x, *rest: 0, {"inputs": 2, "names": ("a", "b"), "weights": ["w"]}, "x=input:0 *=input:1 *=weight:w"),
    (lambda: 0, {}, ""),
    (lambda: 0, {"inputs": 0, "names": ()}, ""),
])
def test_arguments(function, more, expected):
    assert lines(function, **more) == expected


def test_the_word_for_weights():
    assert plan(lambda x: 0, weights=LINEAR).weights == "none"
    assert plan(lambda x, weight: 0, weights=LINEAR).weights == "by name"
    assert plan(lambda x, w: 0, weights=LINEAR).weights == "in order"


def test_calls_arrive():
    assert called(lambda x, w, /, *, bias: (x, w, bias), weights=LINEAR) == (
        "input:0", "weight:fc.weight", "weight:fc.bias")
    assert called(lambda x, eps=3, scale=None: (x, eps, scale), weights=["scale"]) == ("input:0", 3, "weight:scale")
    assert called(lambda *args: args, weights=LINEAR) == ("input:0", "weight:fc.weight", "weight:fc.bias")


def test_what_is_missing_is_the_candidates_error():
    with pytest.raises(TypeError, match="max_dim"):
        called(lambda x, weight, max_dim: 0, weights=["fc.weight"])
    with pytest.raises(TypeError, match="block"):
        called(lambda x, *, block: 0)


@pytest.mark.parametrize("names, explicit, expected", [
    (["ModelNew", "triton_kernel_wrapper"], "", "ModelNew"), (["triton_kernel_wrapper", "NetNew"], "", "triton_kernel_wrapper"),
    (["NetNew", "Net"], "", "NetNew"), (["ModelNew", "mine"], "mine", "mine"), (["Net"], "", None),
    (["ModelNew"], "mine", None),
])
def test_entries(names, explicit, expected):
    found = {name: len for name in names}
    if expected:
        assert convention.find_entry(found, explicit, "Net")[0] == expected
    else:
        with pytest.raises(convention.MissingEntry):
            convention.find_entry(found, explicit, "Net")


def test_an_entry_can_be_called():
    with pytest.raises(convention.MissingEntry):
        convention.find_entry({"ModelNew": 3}, "", "")
