"""A reference is recognised in all its forms, and its errors are reported with a remedy."""
import sys

import pytest
import torch
from oracle_world import LINEAR, module

from kernelwright._engine.oracle.faults import TaskFault
from kernelwright._engine.oracle.inputs import draw
from kernelwright._engine.oracle.load import load, split_arguments
from kernelwright._engine.oracle.reference import Reference

PAIR = "import torch\ndef reference_impl(a, b, c=1):\n    return a + b\n"
CPU = torch.device("cpu")


def fault_of(source, entry="", shapes=""):
    with pytest.raises(TaskFault) as caught:
        task = load(source, entry, shapes)
        Reference(task, CPU).call(draw(task, 1, CPU, "fp32"), 1)
    assert caught.value.error_class == "task_invalid" and caught.value.stage == "prepare"
    return caught.value


@pytest.mark.parametrize("found, args, kwargs", [
    (None, [], {}), ([], [], {}), ([3, 4], [3, 4], {}), ([[3], {"eps": 1}], [3], {"eps": 1}), ([[], {}], [], {}),
    (((3,), {"eps": 1}), [3], {"eps": 1}), ({"eps": 1}, [], {"eps": 1}), (7, [7], {}), ((3, 4), [3, 4], {}),
    ([[3, 4]], [[3, 4]], {}), ([[3], [4]], [[3], [4]], {}),
])
def test_init_inputs(found, args, kwargs):
    assert split_arguments(found) == (args, kwargs)


def test_entry():
    two = module("return x") .replace("Model", "First") + module("return x + 1").replace("Model", "Second")
    for entry, wanted in (("", "Second"), ("First", "First")):
        task = load(two, entry)
        assert task.entry_point == wanted and task.input_names == ["x"]
        task.close()
    task = load(LINEAR + "class Other(nn.Module):\n    pass\n")
    assert task.entry_point == "Model" and task.init_arguments() == ([128, 32], {})
    name = task.code.name
    assert name in sys.modules
    task.close()
    assert name not in sys.modules


def test_pair_draws_every_dtype():
    names = ["float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]
    shapes = ", ".join(f'"{each}_": {{"shape": [200], "dtype": "{each}"}}' for each in names)
    arguments = ", ".join(each + "_" for each in names)
    task = load(f"def reference_impl({arguments}):\n    return float32_\n", "", "{" + shapes + "}")
    values = draw(task, 2**64 - 3, CPU, "fp32")
    assert [str(each.dtype).removeprefix("torch.") for each in values] == names
    assert values[-2].max() <= 100 and values[4].min() < -50
    assert all(torch.equal(one, other) for one, other in zip(values, draw(task, 2**64 - 3, CPU, "fp32")))
    assert not torch.equal(values[0], draw(task, 2**64 - 4, CPU, "fp32")[0])
    assert draw(task, 1, CPU, "bf16")[0].dtype is torch.bfloat16
    task.close()


def test_pair_takes_the_functions_order():
    task = load(PAIR, "", '{"b": {"shape": [3]}, "a": {"shape": [2, 3]}}')
    assert [tuple(each.shape) for each in draw(task, 1, CPU, "fp32")] == [(2, 3), (3,)]
    task.close()


def test_a_module_with_shapes():
    source = LINEAR.split("def get_inputs")[0] + "def get_init_inputs():\n    return [16, 8]\n"
    task = load(source, "Model", '{"x": {"shape": [4, 16]}}')
    (x,) = draw(task, 1, CPU, "fp32")
    assert task.construct()(x).shape == (4, 8) and task.input_names == ["x"]
    task.close()


def test_a_named_function_with_its_own_inputs():
    task = load("import torch\ndef relu(x):\n    return x.relu()\ndef get_inputs():\n    return [torch.ones(3)]\n", "relu")
    assert [tuple(each.shape) for each in draw(task, 1, CPU, "fp32")] == [(3,)] and task.input_names == ["x"]
    task.close()


def test_shapes_without_any_of_the_functions_names_are_in_order():
    task = load(PAIR, "", '{"second": {"shape": [3]}, "first": {"shape": [2, 3]}}')
    assert [tuple(each.shape) for each in draw(task, 1, CPU, "fp32")] == [(3,), (2, 3)]
    task.close()


@pytest.mark.parametrize("source, entry, shapes, words, line", [
    ("import nothing_there", "", "", ["does not import", "line 1", "nothing_there"], 1),
    ("x = 1\ndef f(:\n", "", "", ["does not import", "line 2", "SyntaxError"], 2),
    ("x = 1", "", "", ["no nn.Module", "Model"], None),
    ("import sys\nsys.exit(0)", "", "", ["SystemExit"], 2),
    (LINEAR.split("def get_inputs")[0], "", "", ["has no get_inputs()", "Model.forward"], None),
    (LINEAR, "Nope", "", ["no 'Nope'", "Model"], None),
    (LINEAR, "batch", "", ["no nn.Module", "no function"], None),
    ("def softmax(x): return x\ndef _helper(x): return x\n", "", "", ["defines `softmax`"], None),
    ("def softmax(x): return x\nclass A: pass\n", "", '{"x": {"shape": [1]}}', ["'reference_impl'", "defines `softmax`"], None),
    ("def f(x): return x\n", "f", "", ["no input shapes", "f,"], None),
    (PAIR, "", '{"a": {"shape": [1]}, "bb": {"shape": [1]}}', ["bb is not a parameter of reference_impl(a, b"], None),
    (PAIR, "", "", ["no input shapes", "dtype"], None),
    (LINEAR, "", '{"x": {"shape": [1]}}', ["no 'reference_impl'"], None),
    (PAIR, "", "{", ["not JSON"], None), (PAIR, "", "[]", ["one field an argument"], None),
    (PAIR, "", '{"a": 3}', ["a must be an object"], None),
    (PAIR, "", '{"a": {"shape": [-1]}}', ["a.shape"], None),
    (PAIR, "", '{"a": {"shape": [1], "dtype": "float31"}}', ["a.dtype", "bfloat16"], None),
    (PAIR, "", '{"a": {"shape": [1], "size": 3}}', ["a.size"], None),
    (PAIR, "", '{"a": {"shape": [1]}}', ["do not fit", "'b'"], None),
    (PAIR, "", '{"a": {"shape": [1]}, "c": {"shape": [1]}}', ["none for parameter b"], None),
    (module("raise ValueError('no such luck')"), "", "", ["the reference raised", "no such luck", "line 7"], 7),
    (module("return x", "1 / 0"), "", "", ["get_inputs() raised", "ZeroDivisionError"], 9),
    (module("return x", "3"), "", "", ["returned a int"], None),
    (module("return x", init="raise OSError('gone')"), "", "", ["constructor of Model raised", "gone"], 5),
    (module("return 3"), "", "", ["returns no tensor"], None),
    (module("return self.l(x)", init="self.l = torch.nn.LazyLinear(8)"), "", "", ["lazy parameters"], None),
    (module("return {x.sum(), 2}"), "", "", ["holds a set"], None),
])
def test_faults(source, entry, shapes, words, line):
    fault = fault_of(source, entry, shapes)
    assert all(word in fault.error for word in words), fault.error
    assert fault.line == line and "/tmp" not in fault.error + fault.traceback
