"""The runner's work around the recorded call, with a fake recorder that notes its calls."""
import contextlib
import gc
import os
import sys
import types

import pytest
import torch
from fork_client import Task, memory_file

from kernelwright import _engine
from kernelwright._engine import backward, cuda_arena, cuda_driver, recording, runner, wire
from kernelwright._engine.backends import INJECTION, RECORDER, Cuda
from kernelwright._engine.cpu_arena import CpuArena
from kernelwright._engine.guard import Stop
from kernelwright._engine.launches import LaunchLog
from kernelwright._engine.wire import ValueKind, made, text

ADDRESS = 0x500000000000
SUM = "import torch\n\n\ndef triton_kernel_wrapper(x, y):\n    EVENTS.append('call')\n    return x + y, 3, x[:0]\n"


class Recorder:
    """Notes its calls; fails those that the test names."""

    def __init__(self, events, refused=None, state=True):
        self.events, self.refused, self.has_state = events, refused, state

    def _noted(self, name, *arguments):
        self.events.append(name)
        if name == self.refused:
            raise RuntimeError("no memory for the state")
        return arguments

    def begin(self, address, size, stream):
        self.given = self._noted("begin", address, size, stream)

    def mark(self):
        self._noted("mark")

    def end(self):
        self._noted("end")

    def write(self):
        self._noted("write")
        return memory_file(b"recording")

    def state(self):
        self._noted("state")
        return (memory_file(b"state"), 5) if self.has_state else (None, 0)

    def drop(self):
        self._noted("drop")

    def check(self):
        self._noted("check")


class Backend:
    """A device's backend without a device."""

    name, guarded, native_code, no_recorder = "cuda", False, False, "there is none"

    def __init__(self, recorder):
        self.recorder, self.log = recorder, LaunchLog()
        self.poison = lambda mode: None
        self.scope = contextlib.nullcontext
        self.having = lambda effect: contextlib.nullcontext()
        self.lowered = lambda: b'{"name": "k"}\n'
        self.choose_configuration, self.configurations = lambda number: None, lambda: 0

    def synchronize(self):
        """Does nothing: no work is asynchronous."""


@pytest.fixture
def world(monkeypatch):
    """record(**how) on a fresh runner; the reply, and the order of the calls."""
    events, task = [], Task([torch.randn(100), torch.randn(100)])
    monkeypatch.setattr(torch.cuda, "synchronize", lambda *_: events.append("synchronise"))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda *_: types.SimpleNamespace(cuda_stream=17))
    opened, addresses = runner.open_arena, []

    def open_arena(fd, size, device, wanted=0):
        arena = opened(fd, size, device)
        arena.address = wanted
        addresses.append(wanted)
        return arena
    monkeypatch.setattr(runner, "open_arena", open_arena)

    def start(code=SUM, recorder=None, **how):
        one = runner.Runner(Backend(recorder if recorder is not None else Recorder(events, **how)), -1)
        source = memory_file(code.replace("EVENTS", "torch.EVENTS").encode())
        fds = [memory_file(wire.to_bytes(task.spec)), os.memfd_create("page"), task.arena.export_fd()]
        os.ftruncate(fds[1], 4096)
        monkeypatch.setattr(torch, "EVENTS", events, raising=False)
        assert isinstance(one.open(made(wire.OpenT, mode=wire.Mode.cuda), fds), wire.OpenedT)
        loaded = one.load(made(wire.LoadT, file_name="kernel.py"), [source])
        assert isinstance(loaded, wire.LoadedT)
        del events[:]
        return one

    def record(one):
        fd = task.arena.export_fd()
        answer = runner._answer(one.record, made(wire.RecordT, trial=4, seed=7, input_address=ADDRESS), [fd])
        return answer if isinstance(answer, tuple) else (answer, [])
    return types.SimpleNamespace(start=start, record=record, events=events, task=task, addresses=addresses)


def contents(fds):
    found = [os.pread(fd, 100, 0) for fd in fds]
    for fd in fds:
        os.close(fd)
    return found


def test_only_the_call_lies_between_begin_and_end(world):
    one = world.start()
    answer, fds = world.record(one)
    assert isinstance(answer, wire.RecordedT), vars(answer)
    assert world.events == ["synchronise", "begin", "call", "end", "write", "state", "drop"]
    assert contents(fds) == [b"recording", b'{"name": "k"}\n', b"state"] and answer.stateBytes == 5
    assert one._backend.recorder.given == (ADDRESS, world.task.arena.size, 17) and world.addresses[-1] == ADDRESS
    x, y = (world.task.arena.tensor(each.tensor) for each in world.task.spec.inputs.items)
    assert torch.equal(world.task.arena.dense(answer.returned.outputs.items[0].tensor), x + y)
    assert answer.returned.trial == 4


def test_without_state_there_is_no_descriptor(world):
    answer, fds = world.record(world.start(state=False))
    assert len(contents(fds)) == 2 and answer.stateBytes == 0


@pytest.mark.parametrize("refused", [None, "end"])
def test_the_place_between_both_passes_is_marked_in_a_recorded_call_alone(world, refused):
    arena = types.SimpleNamespace(address=ADDRESS)
    under = recording.Recording(Recorder(world.events, refused=refused), arena, 4096)
    backward.between_passes()
    with contextlib.suppress(Stop), under:
        backward.between_passes()
    backward.between_passes()
    assert world.events[:4] == ["synchronise", "begin", "mark", "end"] and world.events.count("mark") == 1


@pytest.mark.parametrize("refused", ["begin", "end", "write", "state"])
def test_a_recorder_that_refuses_leaves_nothing_open(world, refused):
    one, before = world.start(refused=refused), os.listdir("/proc/self/fd")
    answer, _ = world.record(one)
    assert (text(answer.stage), text(answer.errorClass)) == ("record", "unsupported_candidate")
    assert "no memory for the state" in text(answer.error)
    assert len(os.listdir("/proc/self/fd")) == len(before)
    assert world.events[-1] == ("begin" if refused == "begin" else "drop")


def test_what_the_candidate_raises_ends_the_recording(world):
    answer, _ = world.record(world.start(SUM.replace("return x + y", "return x + missing")))
    assert (text(answer.stage), text(answer.errorClass), answer.line) == ("run", "runtime_error", 6)
    assert world.events[-3:] == ["call", "end", "drop"]


def test_without_a_recorder_the_reason_is_told(world):
    one = world.start()
    one._backend.recorder = None
    answer, _ = world.record(one)
    assert (text(answer.stage), text(answer.error)) == ("record", "there is none")


def test_addresses_that_are_taken_are_a_refusal(world, monkeypatch):
    one = world.start()

    def taken(*_):
        raise cuda_driver.AddressTaken("the addresses from 0x1 on are taken")
    monkeypatch.setattr(runner, "open_arena", taken)
    answer, _ = world.record(one)
    assert (text(answer.stage), text(answer.errorClass)) == ("record", "unsupported_candidate")
    answer = runner._answer(one.call, made(wire.CallT), [])
    assert text(answer.errorClass) == "infrastructure"


def test_a_second_recording_finds_the_first_ones_addresses(world):
    """Also where the candidate keeps inputs of the first, because the slot's memory is the same."""
    one = world.start(SUM.replace("return", "torch.EVENTS.append(x)\n    return"))
    del world.addresses[:]
    for _ in range(3):
        answer, fds = world.record(one)
        x, y = (world.task.arena.tensor(each.tensor) for each in world.task.spec.inputs.items)
        assert torch.equal(world.task.arena.dense(answer.returned.outputs.items[0].tensor), x + y)
        contents(fds)
        x.add_(1)
    assert world.addresses == [ADDRESS, 0, 0] and one._arena.address == ADDRESS
    one._recorded_arena = CpuArena.create(world.task.arena.size)
    world.record(one)
    assert world.addresses[3:] == [0, ADDRESS]


def test_what_is_not_on_a_device_has_no_address():
    found = recording.outputs_in_place((torch.ones(3), {"a": torch.ones(0)}, None))
    assert [found.items[0].tensor.offset, found.items[0].tensor.bytes] == [0, 0]
    assert found.items[1].items[0].tensor.bytes == 0 and found.items[2].kind == ValueKind.none
    with pytest.raises(Stop):
        recording.outputs_in_place([[]] * 100000)


def test_nothing_is_unmapped_while_a_call_is_recorded(monkeypatch):
    unmapped = []
    monkeypatch.setattr(cuda_driver, "map_handle", lambda handle, size, device, wanted=0: wanted)
    monkeypatch.setattr(cuda_driver, "unmap", lambda *mapping: unmapped.append(mapping))
    mapping = cuda_arena._DeviceMapping(1, 4096, 0, ADDRESS)
    with cuda_arena.unmapping_later():
        del mapping
        gc.collect()
        assert not unmapped
    assert unmapped == [(ADDRESS, 4096, 1, cuda_driver.WANTED_RESERVED)]


class Driver:
    """cuMemAddressReserve may return any address."""

    def __init__(self, address):
        self.address, self.called = address, []

    def __call__(self, name, *arguments):
        self.called.append(name)
        if name == "cuMemAddressReserve":
            arguments[0]._obj.value = self.address


def test_a_hint_that_is_not_honoured_is_given_back(monkeypatch):
    monkeypatch.setattr(cuda_driver, "call", Driver(ADDRESS))
    assert cuda_driver.map_handle(1, 4096, 0, ADDRESS) == ADDRESS
    driver = Driver(ADDRESS + 4096)
    monkeypatch.setattr(cuda_driver, "call", driver)
    with pytest.raises(cuda_driver.AddressTaken):
        cuda_driver.map_handle(1, 4096, 0, ADDRESS)
    assert driver.called == ["cuMemAddressReserve", "cuMemAddressFree"]


@pytest.fixture
def cuda(monkeypatch):
    """start() of a Cuda backend without a device; `modules` may hold a recorder."""
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda *_: None)
    monkeypatch.setenv(INJECTION, "librecorder.so")

    def start(install):
        if install is not None:
            monkeypatch.setenv(RECORDER, "librecorder.so")
            module = types.ModuleType("kernelwright._engine.recorder")
            module.install = install
            monkeypatch.setitem(sys.modules, "kernelwright._engine.recorder", module)
            monkeypatch.setattr(_engine, "recorder", module, raising=False)
        backend = Cuda()
        backend.start(0)
        assert RECORDER not in os.environ and INJECTION not in os.environ
        return backend
    return start


def test_a_named_recorder_is_loaded_before_the_device_is_used(cuda):
    recorder = Recorder([])
    assert cuda(lambda path: recorder if path == "librecorder.so" else None).recorder is recorder
    assert recorder.events == ["check"]


def test_a_recorder_that_does_not_start_takes_no_candidate_with_it(cuda):
    def missing(path):
        raise OSError("no such file")
    backend = cuda(missing)
    assert backend.recorder is None and backend.no_recorder == "the recorder could not be loaded: no such file"
    backend = cuda(lambda path: Recorder([], refused="check"))
    assert backend.recorder is None and backend.no_recorder.startswith("the recorder did not start")


def test_no_recorder_where_none_is_named(cuda):
    backend = cuda(None)
    assert backend.recorder is None and "without the recorder" in backend.no_recorder
