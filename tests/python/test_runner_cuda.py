"""The runner on a device: shared device memory, launches, their times, and recordings of calls."""
import json
import os
import time

import pytest
import torch

pytestmark = pytest.mark.gpu
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

from fork_client import Server, Task, memory_file
from oracle_world import LINEAR as LINEAR_TASK
from oracle_world import draw, judge, request
from test_arena import TENSORS
from test_runner import ADD, HEAD, LINEAR, failure, loaded

from kernelwright._engine import wire
from kernelwright._engine.cuda_arena import CudaArena
from kernelwright._engine.layout import Layout, describe
from kernelwright._engine.moved import moved_initialisers
from kernelwright._engine.oracle.session import Session
from kernelwright._engine.outputs import place_outputs
from kernelwright._engine.wire import made, text, texts

ADDRESS, HEAP = 0x500000000000, 0x300000000000
RECORDER = os.path.join(os.environ.get("KERNELWRIGHT_NATIVE", "build/native/sandbox"), "libkwrecorder.so")


@pytest.fixture(scope="module")
def server():
    made_server = Server("cuda")
    yield made_server
    assert made_server.close() == 0


@pytest.fixture
def task():
    return Task([torch.randn(1 << 20), torch.randn(1 << 20)], device=0)


def test_tensors_arrive_over_an_exported_handle():
    layout = Layout(tight=False)
    refs = {name: layout.add(tensor) for name, tensor in TENSORS.items()}
    offset = layout.reserve(1 << 16)
    ours = CudaArena.create(layout.bytes, 0)
    for name, ref in refs.items():
        ours.write(ref, TENSORS[name])
    fd = ours.export_fd()
    theirs = CudaArena.import_fd(fd, layout.bytes, 0)
    os.close(fd)
    for name, tensor in TENSORS.items():
        found = theirs.tensor(refs[name])
        assert found.is_cuda and found.stride() == tensor.stride() and found.dtype is tensor.dtype, name
        assert found.cpu().to(torch.complex64).equal(tensor.to(torch.complex64)), name
    view, before = theirs.tensor(refs["large"]), ours.tensor(refs["large"])
    assert view.data_ptr() != before.data_ptr()
    view.fill_(4)
    torch.cuda.synchronize()
    assert (before == 4).all()
    value = place_outputs((view[::2], torch.ones(3)), theirs, offset)
    torch.cuda.synchronize()
    assert ours.dense(value.items[0].tensor).cpu().equal(torch.full((1500,), 4.0))
    assert value.items[1].tensor.device == "cpu" and ours.dense(value.items[1].tensor).sum().item() == 3
    theirs.close()
    del theirs, value
    assert view.sum().item() == 12000


def test_memory_goes_with_its_last_tensor():
    torch.cuda.synchronize()
    free = torch.cuda.mem_get_info()[0]
    arena = CudaArena.create(1 << 30, 0)
    held = arena.bytes(0, 100)
    arena.close()
    del arena
    assert torch.cuda.mem_get_info()[0] <= free - (1 << 30)
    del held
    assert torch.cuda.mem_get_info()[0] >= free - (1 << 26)


def test_a_kernel_runs_and_is_timed(server, task):
    began = time.perf_counter()
    runner = server.spawn(device=0)
    spawned = time.perf_counter()
    loaded(runner, ADD, task)
    was_loaded = time.perf_counter()
    answer = runner.call(task)
    print(f"\nspawn {spawned - began:.3f} load {was_loaded - spawned:.3f} first call {time.perf_counter() - was_loaded:.3f}")
    x, y = (task.arena.tensor(each.tensor) for each in task.spec.inputs.items)
    assert isinstance(answer, wire.ReturnedT), vars(answer)
    assert torch.equal(task.result(answer), x + y)
    launch = answer.launches[0]
    assert (answer.launchCount, answer.programCount, answer.nativeCode) == (1, 1 << 14, False)
    assert text(launch.name) == "add_kernel" and launch.registers > 0 and len(text(launch.cubinSha256)) == 64
    began = time.perf_counter()
    assert torch.equal(task.result(runner.call(task)), x + y)
    print(f"second call {time.perf_counter() - began:.4f}")
    for flush in (False, True):
        began = time.perf_counter()
        timed = runner.ask(made(wire.TimeCandidateT, warmup=3, calls=100, budget_ms=2000, flush_l2=flush))
        samples = sorted(timed.samplesMs)
        print(f"flush {flush}: {samples[0]:.5f} {samples[50]:.5f} {samples[-1]:.5f} in {time.perf_counter() - began:.3f}")
        assert len(samples) == 100 and 0.001 < samples[50] < 0.2
    assert runner.exited() == 0


def test_skipped_launches_do_nothing(server, task):
    runner = server.spawn(device=0)
    loaded(runner, ADD.replace("torch.empty_like", "torch.zeros_like"), task)
    answer = runner.call(task, effect=wire.Effect.skipped)
    assert answer.launchCount == 1 and not task.result(answer).any()
    assert task.result(runner.call(task)).any()


def test_an_illegal_access_has_its_name(server, task):
    runner = server.spawn(device=0)
    loaded(runner, ADD.replace("tl.load(x + at,", "tl.load(x + at + (1 << 40),"), task)
    assert failure(runner.call(task))[:2] == ("run", "illegal_memory_access")


def at_edges(task):
    """The offsets of the inputs."""
    return [int(each.tensor.offset) for each in task.spec.inputs.items]


def test_inputs_at_an_unmapped_page_have_their_values(server, task):
    runner = server.spawn(device=0)
    loaded(runner, ADD, task)
    x, y = (task.arena.tensor(each.tensor) for each in task.spec.inputs.items)
    for waits in (False, True):
        assert torch.equal(task.result(runner.call(task, at_edge=at_edges(task), waits=waits)), x + y)
    assert runner.exited() == 0


def test_a_read_beyond_an_unmapped_page_is_a_fault_of_its_kernel(server, task):
    beyond = ADD.replace("tl.load(y + at, mask=inside)", "tl.load(y + at + 1)")
    runner = server.spawn(device=0)
    loaded(runner, beyond, task)
    assert isinstance(runner.call(task, at_edge=at_edges(task)[:1], waits=True), wire.ReturnedT)
    answer = runner.call(task, at_edge=at_edges(task)[1:], waits=True)
    assert failure(answer)[:2] == ("run", "illegal_memory_access") and text(answer.kernel) == "add_kernel"


def test_modules_are_constructed_as_the_reference(server):
    with moved_initialisers(3):
        reference = torch.nn.Linear(8, 8)
    weights = {"fc." + name: each.detach() for name, each in reference.state_dict().items()}
    x = torch.randn(4, 8)
    task = Task([x], weights, device=0, init_args=[8], init_seed=3, move_weights=True)
    runner = server.spawn(device=0)
    answer = loaded(runner, LINEAR, task)
    assert (text(answer.weights), answer.weightsDiffer) == ("constructed", False)
    for _ in range(2):
        assert torch.allclose(task.result(runner.call(task)).cpu(), reference(x).detach(), atol=1e-5)


def test_a_host_error(server, task):
    runner = server.spawn(device=0)
    loaded(runner, HEAD + "def triton_kernel_wrapper(x, y):\n    return x @ y[:3]\n", task)
    assert failure(runner.call(task))[:3] == ("run", "runtime_error", 3)


def test_a_timed_call_has_the_devices_time(server, task):
    runner = server.spawn(device=0)
    loaded(runner, ADD, task)
    assert runner.call(task).deviceMs == -1
    for flush in (False, True):
        found = [runner.call(task, timed=True, flush_l2=flush).deviceMs for _ in range(5)]
        assert 0.001 < sorted(found)[2] < 0.2, found


@pytest.fixture
def recorded(server):
    """A runner with a recorder, after one call."""
    if not os.path.exists(RECORDER):
        pytest.skip("the recorder was not built")

    def start(code, task, **more):
        runner = server.spawn(device=0, environment=[f"KERNELWRIGHT_RECORDER={os.path.abspath(RECORDER)}"])
        loaded(runner, code, task, **more)
        answer = runner.call(task)
        assert isinstance(answer, wire.ReturnedT), (vars(answer), runner.printed())
        return runner
    return start


def record(runner, task):
    """(RecordedT, the contents of its descriptors except the state's memory)"""
    answer, fds = runner.record(task, ADDRESS)
    assert isinstance(answer, wire.RecordedT), (vars(answer), runner.printed())
    assert len(fds) == (3 if answer.stateBytes else 2)
    found = [os.pread(fd, os.fstat(fd).st_size, 0) for fd in fds[:2]]
    for fd in fds:
        os.close(fd)
    assert found[0][4:8] == b"KWR1"
    return answer, *found


def sum_of(task):
    x, y = (task.arena.tensor(each.tensor) for each in task.spec.inputs.items)
    return x + y


def test_a_call_is_recorded(recorded, task):
    runner = recorded(ADD, task)
    answer, recording, kernels = record(runner, task)
    assert torch.equal(task.result(answer.returned), sum_of(task)) and answer.returned.launchCount == 1
    output = answer.outputs.tensor
    assert HEAP <= output.offset < HEAP + (1 << 38) and output.bytes == 4 << 20 and text(output.device) == "cuda"
    assert b"add_kernel" in recording
    line, = map(json.loads, kernels.splitlines())
    assert line["name"] == "add_kernel" and line["sha256"] == text(answer.returned.launches[0].cubinSha256)
    assert line["sha256"].encode() in recording
    assert torch.equal(task.result(runner.call(task)), sum_of(task))


def test_the_broker_comes_to_the_recorded_cubin(recorded, task):
    answer, _, kernels = record(recorded(ADD, task), task)
    server, (major, minor) = Server("broker"), torch.cuda.get_device_capability()
    found = server.spawn().ask(made(wire.AttestT, capability=10 * major + minor), [memory_file(kernels)])
    assert texts(found.sha256) == [text(answer.returned.launches[0].cubinSha256)]
    assert server.close() == 0


def test_a_candidate_may_hold_on_to_recorded_inputs(recorded, task):
    code = ADD.replace("    out = torch.empty_like(x)", "    KEPT.append(x)\n    out = torch.empty_like(x)") + "\nKEPT = []\n"
    runner = recorded(code, task)
    for _ in range(3):
        answer, _, _ = record(runner, task)
        assert torch.equal(task.result(answer.returned), sum_of(task))
        assert torch.equal(task.result(runner.call(task)), sum_of(task))


def test_outputs_are_told_where_and_how_they_lie(recorded, task):
    code = HEAD + "def triton_kernel_wrapper(x, y):\n    z = (x + y).view(1024, 1024).t()\n    return z[::2], x, 3, z.cpu()\n"
    answer, _, _ = record(recorded(code, task), task)
    view, same, number, host = answer.outputs.items
    assert list(view.tensor.stride) == [2, 1024] and view.tensor.bytes == 4 * (511 * 2 + 1023 * 1024 + 1)
    assert same.tensor.offset == ADDRESS + task.spec.inputs.items[0].tensor.offset and number.integer == 3
    assert (host.tensor.offset, host.tensor.bytes, text(host.tensor.device)) == (0, 0, "cpu")


@pytest.mark.parametrize("compiled", [False, True])
def test_a_reference_is_recorded(recorded, compiled):
    weight, x = torch.randn(64, 64), torch.randn(32, 64)
    task = Task([x], {"fc.weight": weight, "fc.bias": torch.zeros(64)}, device=0, entry_point="Model", init_args=[64])
    code = ("import torch\nclass Model(torch.nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
            "        self.fc = torch.nn.Linear(n, n)\n    def forward(self, x):\n        return torch.relu(self.fc(x)) * 2\n")
    runner = recorded(code, task, reference=True, compiled=compiled, file_name="reference.py")
    answer, _, _ = record(runner, task)
    assert answer.stateBytes >= weight.numel() * 4
    expected = torch.relu(torch.nn.functional.linear(x, weight)) * 2
    assert torch.allclose(task.result(answer.returned).cpu(), expected, atol=1e-4)


def test_without_the_recorder_nothing_is_recorded(server, task):
    runner = server.spawn(device=0, environment=["KERNELWRIGHT_RECORDER=/nowhere/librecorder.so"])
    loaded(runner, ADD, task)
    assert torch.equal(task.result(runner.call(task)), sum_of(task))
    answer, fds = runner.record(task, ADDRESS)
    assert failure(answer)[:2] == ("record", "unsupported_candidate") and not fds


def test_slots_keep_their_memory_and_outputs_are_judged_as_they_lie():
    session = Session(0)
    session.prepare(request(), LINEAR_TASK)
    arenas = {slot: draw(session, 1, 77 + slot, slot) for slot in (0, 1)}
    session.prepare(request(), LINEAR_TASK)
    for slot, arena in arenas.items():
        assert draw(session, 2, 78 + slot, slot) is arena
        expected = session._task.reference.call(session._task.draw(78 + slot), 78 + slot)
        lying = expected.t().contiguous().t()
        ref = describe(lying, session._task.plan.outputs_offset + 512, lying.numel() * 4)
        arena.write(ref, lying)
        outputs = made(wire.ValueT, kind=wire.ValueKind.tensor, tensor=ref)
        for asked in (0, 1):
            found = judge(session, outputs, 2, 78 + slot, slot=asked, strided=True)
            assert found.right is (asked == slot), vars(found)
    session.forget()
