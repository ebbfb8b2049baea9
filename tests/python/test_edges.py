"""Inputs that end at an unmapped page: where they lie, what a kernel sees of them, and whose fault is named."""
import contextlib
import types

import pytest
import torch
from fork_client import Task
from test_recording import Backend, memory_file

from kernelwright._engine import cuda_driver, cuda_launches, runner, wire
from kernelwright._engine.cuda_launches import Launches
from kernelwright._engine.edges import Edges
from kernelwright._engine.layout import LEAST_ALIGNMENT, offset_at_end
from kernelwright._engine.wire import made, text

UNIT = 2 << 20


@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 4000, UNIT - 1, UNIT])
@pytest.mark.parametrize("remainder", [0, 4, 15])
def test_a_tensor_ends_within_its_alignment_of_the_end(size, remainder):
    mapped = 2 * UNIT
    offset = offset_at_end(mapped, size, remainder)
    assert offset % LEAST_ALIGNMENT == remainder
    assert 0 <= mapped - offset - size < LEAST_ALIGNMENT


def test_whole_vectors_end_at_the_very_end():
    assert offset_at_end(UNIT, 4000, 0) == UNIT - 4000


class Driver:
    """Gives out addresses; reserved ranges and mapped ones."""

    def __init__(self):
        self.reserved, self.mapped = [], []

    def __call__(self, name, *arguments):
        if name == "cuMemAddressReserve":
            arguments[0]._obj.value = 7 * UNIT
            self.reserved.append((7 * UNIT, arguments[1]))
        if name == "cuMemMap":
            self.mapped.append((arguments[0], arguments[1]))


def test_addresses_behind_the_memory_are_reserved_and_stay_unmapped(monkeypatch):
    driver = Driver()
    monkeypatch.setattr(cuda_driver, "call", driver)
    assert cuda_driver.map_handle(1, 3 * UNIT, 0, behind=UNIT) == 7 * UNIT
    assert driver.mapped == [(7 * UNIT, 3 * UNIT)] and driver.reserved == [(7 * UNIT, 4 * UNIT)]
    assert cuda_driver.reserved_bytes(3 * UNIT, 0, UNIT) == 4 * UNIT


SUM = "def triton_kernel_wrapper(x, y):\n    return x + y\n"


@pytest.fixture
def world(monkeypatch):
    """call(code, **fields) on a fresh runner, and the task."""
    task = Task([torch.randn(100), torch.randn(100)])
    opened = runner.open_arena
    placed = []

    def open_arena(fd, size, device, wanted=0):
        arena = opened(fd, size, device)

        def at_edge(offset, size):
            placed.append((offset, size))
            return arena.bytes(offset, size).clone()
        arena.at_edge = at_edge
        return arena
    monkeypatch.setattr(runner, "open_arena", open_arena)

    def call(code=SUM, backend=None, **fields):
        one = runner.Runner(backend or Backend(None), -1)
        with open("/dev/zero", "rb") as zeros:
            page = memory_file(zeros.read(4096))
        fds = [memory_file(wire.to_bytes(task.spec)), page, task.arena.export_fd()]
        assert isinstance(one.open(made(wire.OpenT, mode=wire.Mode.cuda), fds), wire.OpenedT)
        assert isinstance(one.load(made(wire.LoadT, file_name="kernel.py"), [memory_file(code.encode())]), wire.LoadedT)
        return runner._answer(one.call, made(wire.CallT, trial=4, seed=7, **fields), [task.arena.export_fd()])
    refs = [each.tensor for each in task.spec.inputs.items]
    return types.SimpleNamespace(call=call, task=task, placed=placed, refs=refs)


def test_inputs_at_an_edge_have_their_values(world):
    answer = world.call(at_edge=[int(world.refs[1].offset)])
    x, y = (world.task.arena.tensor(each) for each in world.refs)
    assert torch.equal(world.task.result(answer), x + y)
    assert world.placed == [(int(world.refs[1].offset), int(world.refs[1].bytes))]


def test_without_offsets_nothing_is_copied(world):
    assert isinstance(world.call(), wire.ReturnedT) and world.placed == []


def test_what_a_call_changes_in_a_copy_is_seen_in_the_arena(world):
    before = world.task.arena.tensor(world.refs[0]).clone()
    world.call("def triton_kernel_wrapper(x, y):\n    return x.add_(1)\n", at_edge=[int(world.refs[0].offset)])
    assert torch.equal(world.task.arena.tensor(world.refs[0]), before + 1)


def test_strides_are_kept():
    task = Task([torch.randn(6, 4).t()])
    ref = task.spec.inputs.items[0].tensor
    task.arena.at_edge = lambda offset, size: task.arena.bytes(offset, size).clone()
    found = Edges(task.arena, [int(ref.offset)]).tensor(ref)
    own = task.arena.tensor(ref)
    assert found.stride() == own.stride() and torch.equal(found, own) and found.data_ptr() != own.data_ptr()


class Faulty(Backend):
    """A device on which every launch of `culprit` faults when it is waited for."""

    def __init__(self):
        super().__init__(None)
        self.waited = False

    @contextlib.contextmanager
    def waiting(self):
        self.waited = True
        yield

    def faulty_kernel(self):
        return "culprit"


BROKEN = "def triton_kernel_wrapper(x, y):\n    raise RuntimeError('CUDA error: an illegal memory access was encountered')\n"


def test_a_fault_in_a_call_that_waits_names_its_kernel(world):
    backend = Faulty()
    answer = world.call(BROKEN, backend, waits=True)
    assert (text(answer.errorClass), text(answer.kernel)) == ("illegal_memory_access", "culprit") and backend.waited


def test_a_fault_in_another_call_names_none(world):
    backend = Faulty()
    answer = world.call(BROKEN, backend)
    assert isinstance(answer, wire.FailedT) and text(answer.kernel) == "" and not backend.waited


@pytest.fixture
def device(monkeypatch):
    """Launches on a device whose waits raise where `faults` is set."""
    state = types.SimpleNamespace(waits=0, faults=False, capturing=False, launches=Launches(None))

    def wait():
        state.waits += 1
        if state.faults:
            raise RuntimeError("an illegal memory access")
    monkeypatch.setattr(cuda_launches, "_wait", wait)
    monkeypatch.setattr(cuda_launches, "_capturing", lambda: state.capturing)
    state.launches.waits = True
    return state


def test_the_launch_whose_wait_fails_is_the_faulty_one(device):
    device.launches.make("first", lambda: None, ())

    def broken():
        device.faults = True
    with pytest.raises(RuntimeError):
        device.launches.make("second", broken, ())
    assert device.launches.faulty == "second"


def test_a_fault_before_a_launch_is_not_the_launchs(device):
    device.faults = True
    with pytest.raises(RuntimeError):
        device.launches.make("innocent", lambda: None, ())
    assert device.launches.faulty == ""


def test_only_the_first_faulty_launch_is_named(device):
    def broken():
        device.faults = True
    for name in ("first", "second"):
        device.faults = False
        with pytest.raises(RuntimeError):
            device.launches.make(name, broken, ())
    assert device.launches.faulty == "first"


def test_a_capture_is_not_waited_for(device):
    device.capturing = True
    device.launches.make("captured", lambda: None, ())
    assert device.waits == 0


def test_other_calls_do_not_wait(device):
    device.launches.waits = False
    assert device.launches.make("kernel", lambda x: x + 1, (2,)) == 3 and device.waits == 0
