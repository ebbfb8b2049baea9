"""Other sizes of a task: the inputs change, the weights do not."""
import json

import pytest
from oracle_world import LINEAR, module

from kernelwright._engine.oracle.faults import TaskFault
from kernelwright._engine.oracle.load import load
from kernelwright._engine.oracle.reshape import reshaped

PAIR = "def reference_impl(a, b):\n    return a @ b\n"
SHAPES = '{"a": {"shape": [48, 512]}, "b": {"shape": [512, 64]}}'
ROWS = module("return torch.softmax(x, -1)", "[torch.randn(rows, columns)]") + "rows, columns = 64, 128\n"


def sizes_of(source, kind, shapes="", max_bytes=0):
    return reshaped(source, "", shapes, kind, max_bytes)[2]


def why_not(source, kind):
    with pytest.raises(TaskFault) as caught:
        reshaped(source, "", "", kind, 0)
    return caught.value.error


@pytest.mark.parametrize("kind, sizes", [
    ("prime", {"rows": 61, "columns": 127}),
    ("larger", {"rows": 3, "columns": 4099}),
    ("more_rows", {"rows": 129}),
    ("one", {"rows": 1, "columns": 1}),
    ("empty", {"rows": 0}),
])
def test_kinds(kind, sizes):
    assert sizes_of(ROWS, kind) == sizes


@pytest.mark.parametrize("kind, sizes", [
    ("prime", {"a": [47, 509], "b": [509, 61]}),
    ("larger", {"a": [3, 4099], "b": [4099, 3]}),
    ("more_rows", {"a": [97, 512]}),
    ("one", {"a": [1, 1], "b": [1, 1]}),
    ("empty", {"a": [0, 512]}),
])
def test_equal_dimensions_of_pairs_stay_equal(kind, sizes):
    assert sizes_of(PAIR, kind, SHAPES, 16 << 20) == sizes


def test_the_source_has_the_new_sizes():
    task = load(reshaped(ROWS, "", "", "prime", 0)[0])
    assert task.inputs()[0].shape == (61, 127)
    task.close()


def test_shapes_have_the_new_sizes():
    assert json.loads(reshaped(PAIR, "", SHAPES, "prime", 0)[1])["a"]["shape"] == [47, 509]


def test_sizes_of_weights_stay():
    # `rows` and `columns` of LINEAR are the dimensions of its weight.
    assert sizes_of(LINEAR, "prime") == {"batch": 61}


def test_arguments_of_the_constructor_stay():
    source = LINEAR.replace("self.fc = nn.Linear(rows, columns)", "pass").replace("self.fc(x)", "x")
    assert sizes_of(source, "one") == {"batch": 1}


def test_numbers_that_are_no_size_stay():
    source = module("return x.sum(dim)", "[torch.randn((batch, 3, 8)[:])]") + "batch, dim = 16, 2\n"
    assert sizes_of(source, "prime") == {"batch": 13}


def test_a_larger_version_is_limited():
    assert sizes_of(ROWS, "larger", max_bytes=1 << 18) == {"rows": 3, "columns": 257}


def test_more_rows_are_as_many_as_the_bytes_allow():
    source = module("return torch.softmax(x, -1)", "[torch.randn(batch, heads, length, width)]") \
        + "batch, heads, length, width = 2, 4, 64, 32\n"
    assert sizes_of(source, "more_rows") == {"batch": 5, "heads": 5, "length": 65}


def test_a_vector_has_no_more_rows():
    assert "no size of the inputs can change" in why_not(module("return x", "[torch.randn(n)]") + "n = 64\n", "more_rows")


def test_the_innermost_of_equal_sizes_is_enlarged():
    assert sizes_of(ROWS.replace("64, 128", "128, 128"), "larger") == {"rows": 3, "columns": 4099}


@pytest.mark.parametrize("inputs, sizes", [
    ("[torch.rand([4, 4, 8])]", {"dimension 0 of 4": 3, "dimension 1 of 4": 3, "dimension 2 of 8": 7}),
    ("[torch.randn(16, 4), torch.randn(16, 4)]", {"dimension 0 of 16": 13, "dimension 1 of 4": 3}),
    ("[torch.randint(0, 9, (16,)), torch.randint(9, size=(16,))]", {"dimension 0 of 16": 13}),
])
def test_literals_are_changed_by_dimension(inputs, sizes):
    assert sizes_of(module("return x", inputs).replace("forward(self, x)", "forward(self, x, *others)"), "prime") == sizes


def test_no_size_can_change():
    assert "no size of the inputs can change" in why_not(module("return x", "[torch.arange(8.0)]"), "prime")


def test_a_reference_that_needs_its_size():
    assert "no size" in why_not(module("return x.view(64)", "[torch.randn(n)]") + "n = 64\n", "prime")
