"""Shared tensors: equal to the originals, at the right places, and between guard pages."""
import gc
import os
import subprocess
import sys

import pytest
import torch

from kernelwright._engine import wire
from kernelwright._engine.cpu_arena import CpuArena
from kernelwright._engine.layout import PAGE, Layout
from kernelwright._engine.outputs import place_outputs
from kernelwright._engine.wire import ValueKind

X = torch.randn(5, 7)
TENSORS = {
    "plain": X, "transposed": torch.randn(6, 4).t(), "expanded": torch.randn(3).expand(4, 3),
    "offset": torch.randn(10)[1:8], "strided": torch.randn(8, 8)[::2, ::3], "scalar": torch.tensor(3.0),
    "empty": torch.empty(0, 3), "bf16": torch.randn(9).bfloat16(), "bool": torch.tensor([True, False]),
    "int64": torch.arange(700), "complex": torch.randn(3, dtype=torch.complex64),
    "fp8": torch.randn(5).to(torch.float8_e4m3fn), "page": torch.zeros(PAGE // 4), "large": torch.randn(3000),
}


@pytest.fixture(params=[True, False], ids=["tight", "loose"])
def shared(request):
    """(references by name, arena as another process would map it)"""
    layout = Layout(request.param)
    refs = {name: layout.add(tensor) for name, tensor in TENSORS.items()}
    made = CpuArena.create(layout.bytes)
    for name, ref in refs.items():
        made.write(ref, TENSORS[name])
    fd = made.export_fd()
    mapped = CpuArena.map(fd, layout.bytes)
    os.close(fd)
    made.close()
    return refs, mapped


@pytest.mark.parametrize("guarded", [True, False])
def test_tensors_arrive(shared, guarded):
    refs, arena = shared
    for name, tensor in TENSORS.items():
        found = arena.tensor(refs[name], guarded)
        assert found.dtype is tensor.dtype and found.shape == tensor.shape and found.stride() == tensor.stride(), name
        assert found.to(torch.complex64).equal(tensor.to(torch.complex64)), name
        assert tensor.numel() == 0 or found.data_ptr() % 16 == tensor.data_ptr() % 16, name


def test_ends_lie_at_page_ends_and_slots_apart():
    layout, end = Layout(tight=True), 0
    for tensor in TENSORS.values():
        ref = layout.add(tensor)
        if tensor.numel():
            assert ref.offset >= end and 0 <= -(ref.offset + ref.bytes) % PAGE < 16
            end = ref.offset + ref.bytes + PAGE
    assert layout.bytes >= end


def test_views_of_one_storage_share_bytes(shared):
    layout = Layout(tight=True)
    whole, same, part, other = (layout.add(each) for each in (X, X, X[1:3], X.clone()))
    assert same.offset == whole.offset and part.offset == whole.offset + 7 * 4 and other.offset > whole.offset + PAGE
    arena = CpuArena.create(layout.bytes)
    arena.write(whole, X)
    arena.tensor(part, guarded=True).fill_(3)
    assert (arena.tensor(whole)[1:3] == 3).all() and torch.equal(arena.tensor(same)[0], X[0])


def test_guarded_tensors_have_fresh_addresses(shared):
    refs, arena = shared
    held = [arena.tensor(refs["plain"], guarded=True) for _ in range(5)]
    assert len({each.data_ptr() for each in held}) == 5
    held[0].fill_(9)
    assert (held[4] == 9).all()


def test_mappings_go_with_their_tensors(shared):
    def mappings():
        with open("/proc/self/maps") as file:
            return sum("arena" in line for line in file)
    refs, arena = shared
    before = mappings()
    view = arena.tensor(refs["large"], guarded=True)[2:]
    assert mappings() == before + 1
    arena.close()
    del arena, shared
    assert view.sum() == TENSORS["large"][2:].sum()
    del view
    gc.collect()
    assert mappings() < before + 1


REACH = """
import sys
import torch, ctypes
from kernelwright._engine.cpu_arena import CpuArena
from kernelwright._engine.layout import Layout
layout = Layout(tight=True)
ref = layout.add(torch.ones(100))
tensor = CpuArena.create(layout.bytes).tensor(ref, guarded=True)
print("before", flush=True)
ctypes.string_at(tensor.data_ptr() + int(sys.argv[1]), 1)
print("after", flush=True)
"""


@pytest.mark.parametrize("reach, dies", [(399, False), (400, True), (-PAGE, True)])
def test_the_page_behind_faults(reach, dies):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", REACH, str(reach)], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["before"] + ["after"] * (not dies)
    assert done.returncode == (-11 if dies else 0)


@pytest.mark.parametrize("change", [
    {"offset": 1 << 40}, {"offset": -1}, {"bytes": 4}, {"shape": [100, 100]}, {"stride": [1 << 50, 1]},
    {"shape": [-1, 7]}, {"stride": [-7, 1]}, {"stride": [1]}, {"dtype": "float128"}, {"bytes": 1 << 62},
])
def test_a_reference_out_of_bounds_is_refused(change):
    layout = Layout(tight=True)
    ref = layout.add(X)
    arena = CpuArena.create(layout.bytes)
    for name, value in change.items():
        setattr(ref, name, value)
    with pytest.raises(ValueError):
        arena.tensor(ref)


def test_nobody_can_shrink_an_arena():
    arena = CpuArena.create(PAGE)
    fd = arena.export_fd()
    with pytest.raises(PermissionError):
        os.ftruncate(fd, 0)
    with pytest.raises(ValueError):
        CpuArena.map(fd, 2 * PAGE)
    os.close(fd)


def test_outputs_are_placed_dense():
    arena = CpuArena.create(1 << 16)
    value = place_outputs({name: each for name, each in TENSORS.items()}, arena, 1000)
    value = wire.from_bytes("Value", wire.to_bytes(value))
    end = 1000
    for item, tensor in zip(value.items, TENSORS.values()):
        found = arena.dense(item.tensor)
        assert found.is_contiguous() and found.to(torch.complex64).equal(tensor.to(torch.complex64))
        assert wire.numbers(item.tensor.stride) == list(tensor.stride())
        assert found.numel() == 0 or item.tensor.offset >= end
        end = max(end, item.tensor.offset + item.tensor.bytes)


def test_outputs_that_do_not_fit_say_so():
    arena = CpuArena.create(1 << 16)
    huge, after = torch.ones(1).expand(1 << 40), torch.ones(3)
    value = place_outputs((huge, after, torch.ones(1 << 14)), arena, PAGE)
    assert [each.tensor.bytes for each in value.items] == [0, 12, 0]
    assert value.items[0].tensor.shape == [1 << 40]
    assert value.items[0].kind == ValueKind.tensor and arena.dense(value.items[1].tensor).equal(after)
