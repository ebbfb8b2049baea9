"""Sizes halve while the reference stays valid."""
import json

import pytest
from oracle_world import LINEAR, module

from kernelwright._engine.oracle.faults import TaskFault
from kernelwright._engine.oracle.load import load
from kernelwright._engine.oracle.shrink import shrink

PAIR = "def reference_impl(a, b):\n    return a @ b\n"
SHAPES = '{"a": {"shape": [48, 512]}, "b": {"shape": [512, 64]}}'


def test_fits():
    found = shrink(LINEAR, "", "", 1 << 20, 0)
    assert found.source == LINEAR and not found.reduced


def test_halves_until_it_fits():
    found = shrink(LINEAR.replace("128", "1 << 13").replace("= 32", "= 2 ** 13"), "", "", 8 << 20, 0)
    assert found.sizes == {"rows": 1024, "columns": 1024}
    load(found.source).close()


def test_further_halvings():
    assert shrink(LINEAR, "", "", 0, 2).sizes == {"rows": 64, "batch": 32}
    with pytest.raises(TaskFault) as caught:
        shrink(LINEAR, "", "", 0, 99)
    assert caught.value.error_class == "too_large" and "of 99 further halvings" in caught.value.error


def test_keeps_what_must_divide():
    # 96 channels in 32 groups: 48 would not be valid, and halving the groups alone saves nothing.
    source = module("return self.norm(x)", "[torch.randn(batch, channels, 64)]",
                    "self.norm = torch.nn.GroupNorm(groups, channels)") + "channels, groups = 96, 32\nbatch = 16\n"
    assert shrink(source, "", "", 0, 1).sizes == {"batch": 8}


def test_equal_sizes_that_belong_together_halve_together():
    # The columns of x and the elements of y are one dimension, under two names.
    source = module("return (1 - x * y).mean()", "[torch.rand(batch, *shape), torch.rand(batch)]",
                    parameters="self, x, y") + "batch = 32768\nshape = (32768,)\n"
    found = shrink(source, "", "", 24 << 20, 0)
    assert found.sizes == {"batch": 2048, "shape[0]": 2048}
    load(found.source).close()


def test_items_of_tuples():
    source = module("return x", "[torch.randn(*shape)]") + "shape = (4096, 256)\n"
    assert shrink(source, "", "", 1 << 20, 0).sizes == {"shape[0]": 1024}


def test_falls_back_to_real_memory():
    source = module("return x[: int((x > 0).sum().item())]", "[torch.randn(size)]") + "size = 100000\n"
    assert shrink(source, "", "", 1 << 18, 0).sizes == {"size": 50000}


def test_pairs_halve_equal_dimensions_together():
    found = shrink(PAIR, "", SHAPES, 0, 2)
    assert found.sizes == {"a": [48, 128], "b": [128, 64]} and json.loads(found.input_shapes)["b"]["shape"] == [128, 64]


def test_nothing_to_halve():
    with pytest.raises(TaskFault) as caught:
        shrink(module("return x", "[torch.randn(1024, 1024)]"), "", "", 1 << 20, 0)
    assert caught.value.error_class == "too_large" and "4.0 MiB" in caught.value.error


def test_invalid_is_left_to_loading():
    assert not shrink("import nothing_there", "", "", 1, 0).reduced
