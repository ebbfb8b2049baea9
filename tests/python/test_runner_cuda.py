"""What needs a device: shared device memory, launches on it, and their times."""
import os
import time

import pytest
import torch

pytestmark = pytest.mark.gpu
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

from fork_client import Server, Task
from test_arena import TENSORS
from test_runner import ADD, HEAD, LINEAR, failure, loaded

from kernelwright import wire
from kernelwright.arena import Layout, place_outputs
from kernelwright.cuda_arena import CudaArena
from kernelwright.moved import moved_initialisers
from kernelwright.wire import made, text


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
    answer = runner.call(task, skip_launches=True)
    assert answer.launchCount == 1 and not task.result(answer).any()
    assert task.result(runner.call(task)).any()


def test_an_illegal_access_has_its_name(server, task):
    runner = server.spawn(device=0)
    loaded(runner, ADD.replace("tl.load(x + at,", "tl.load(x + at + (1 << 40),"), task)
    assert failure(runner.call(task))[:2] == ("run", "illegal_memory_access")


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
