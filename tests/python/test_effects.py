"""Interpreted launches that are skipped, spoilt or run in another order."""
import pytest
import torch
from fork_client import Server, Task
from test_runner import ADD, HEAD, loaded

from kernelwright._engine import wire

RUNNING = HEAD + """
@triton.jit
def running_kernel(x, sums, BLOCK: tl.constexpr):
    part = tl.program_id(0)
    total = tl.sum(tl.load(x + part * BLOCK + tl.arange(0, BLOCK)), 0)
    if part > 0:
        total += tl.load(sums + part - 1)
    tl.store(sums + part, total)


def triton_kernel_wrapper(x, y):
    sums = torch.zeros(10, device=x.device)
    running_kernel[(10,)](x, sums, BLOCK=8)
    return sums
"""
FLAG = HEAD + """
@triton.jit
def flag_kernel(x, flag, scratch):
    at = tl.arange(0, 64)
    tl.store(flag, 1)
    tl.store(scratch + at, tl.load(x + at))


def triton_kernel_wrapper(x, y):
    flag, scratch = torch.zeros(1, dtype=torch.int32, device=x.device), torch.zeros(64, device=x.device)
    flag_kernel[(1,)](x, flag, scratch)
    return flag, scratch
"""
KINDS = HEAD + """
@triton.jit
def count_kernel(out, at_first, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(out + at) + 1)


def triton_kernel_wrapper(x, y):
    found = []
    for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int64, torch.uint8):
        out = torch.zeros(8192, dtype=dtype, device=x.device)
        count_kernel[(1,)](out, 0, BLOCK=8192)
        found.append(out)
    return tuple(found)
"""
INDIRECT = HEAD + """
@triton.jit
def indirect_kernel(x, table, raw):
    at = tl.arange(0, 64)
    tl.store(tl.load(table).to(tl.pointer_type(tl.float32)) + at, tl.load(x + at))
    tl.store(tl.load(table + 1).to(tl.pointer_type(tl.int32)), 1)
    tl.store(raw.to(tl.pointer_type(tl.float16)) + at, 2.0)


def triton_kernel_wrapper(x, y):
    out, flag = torch.zeros(2048, device=x.device), torch.zeros(1, dtype=torch.int32, device=x.device)
    half = torch.zeros(4096, dtype=torch.float16, device=x.device)
    table = torch.tensor([out.data_ptr(), flag.data_ptr()], device=x.device)
    indirect_kernel[(1,)](x, table, half.data_ptr())
    return out, flag, half
"""
# Its result changes from call to call, as an argmax of four columns does between inputs.
LARGEST = HEAD + """
calls = 0


@triton.jit
def largest_kernel(out, place):
    tl.store(out, place)


def triton_kernel_wrapper(x, y):
    global calls
    calls += 1
    out = torch.empty(1, dtype=torch.int32, device=x.device)
    largest_kernel[(1,)](out, calls % 4)
    return out
"""
HANDLE = HEAD + """
@triton.jit
def scale_kernel(x, out, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * factor)


def triton_kernel_wrapper(x, y):
    out = torch.empty(96, device=x.device)
    handle = scale_kernel[(3,)](x, out, 2.0, BLOCK=32)
    handle[(3, 1, 1)](y, out, 3.0, 32)
    return out
"""


@pytest.fixture(scope="module")
def interpreter():
    server = Server("interpret")
    yield server
    assert server.close() == 0


@pytest.fixture
def task():
    return Task([torch.randn(100), torch.randn(100)])


def called(interpreter, task, code, effect, before=()):
    runner = interpreter.spawn()
    loaded(runner, code, task)
    for trial, each in enumerate(before):
        assert isinstance(runner.call(task, trial=trial, effect=each), wire.ReturnedT)
    answer = runner.call(task, trial=9, seed=5, effect=effect)
    assert isinstance(answer, wire.ReturnedT), vars(answer)
    return answer


def tensors(task, answer):
    return [task.arena.tensor(each.tensor).clone() for each in answer.outputs.items]


def test_the_usual_order_is_that_of_x(interpreter, task):
    answer = called(interpreter, task, RUNNING, wire.Effect.kept)
    x = task.arena.tensor(task.spec.inputs.items[0].tensor)
    assert torch.allclose(task.result(answer), x[:80].view(10, 8).sum(1).cumsum(0), atol=1e-5)


def test_another_order_shows_that_programs_read_what_others_write(interpreter, task):
    answer = called(interpreter, task, RUNNING, wire.Effect.reordered)
    x = task.arena.tensor(task.spec.inputs.items[0].tensor)
    assert not torch.allclose(task.result(answer), x[:80].view(10, 8).sum(1).cumsum(0), atol=1e-5)


def test_another_order_leaves_independent_programs_right(interpreter, task):
    answer = called(interpreter, task, ADD, wire.Effect.reordered)
    x, y = (task.arena.tensor(each.tensor) for each in task.spec.inputs.items)
    assert torch.equal(task.result(answer), x + y)


def test_spoilt_launches_write_random_numbers(interpreter, task):
    answer = called(interpreter, task, ADD, wire.Effect.spoilt)
    x, y = (task.arena.tensor(each.tensor) for each in task.spec.inputs.items)
    result = task.result(answer)
    assert torch.isfinite(result).all() and (result != x + y).float().mean() > 0.9


def test_a_flag_that_earlier_calls_wrote_stays(interpreter, task):
    flag, _ = tensors(task, called(interpreter, task, FLAG, wire.Effect.spoilt, [wire.Effect.kept]))
    assert flag.item() == 1


def test_a_large_result_is_spoilt_although_earlier_calls_wrote_the_same(interpreter, task):
    results = tensors(task, called(interpreter, task, KINDS, wire.Effect.spoilt, [wire.Effect.kept]))
    assert all((each != 1).float().mean() > 0.5 for each in results)


def test_a_small_result_that_differed_between_calls_is_spoilt(interpreter, task):
    answer = called(interpreter, task, LARGEST, wire.Effect.spoilt, [wire.Effect.kept] * 4)
    assert task.result(answer).item() != 1  # the fifth call's number modulo 4


def test_a_flag_that_was_never_seen_is_spoilt(interpreter, task):
    flag, _ = tensors(task, called(interpreter, task, FLAG, wire.Effect.spoilt))
    assert flag.item() != 1


def test_every_element_of_every_type_is_spoilt(interpreter, task):
    for result in tensors(task, called(interpreter, task, KINDS, wire.Effect.spoilt)):
        assert (result != 1).all(), result.dtype


def test_launches_write_where_addresses_lead(interpreter, task):
    out, flag, half = tensors(task, called(interpreter, task, INDIRECT, wire.Effect.kept))
    assert torch.equal(out[:64], task.arena.tensor(task.spec.inputs.items[0].tensor)[:64])
    assert flag.item() == 1 and (half[:64] == 2).all()


def test_where_addresses_lead_effects_are_spoilt_too(interpreter, task):
    out, flag, half = tensors(task, called(interpreter, task, INDIRECT, wire.Effect.spoilt))
    assert (out[:64] != task.arena.tensor(task.spec.inputs.items[0].tensor)[:64]).all()
    assert flag.item() != 1 and (half[:64] != 2).all()
    assert not out[64:].any() and not half[64:].any()


def test_a_flag_to_which_an_address_leads_stays(interpreter, task):
    out, flag, _ = tensors(task, called(interpreter, task, INDIRECT, wire.Effect.spoilt, [wire.Effect.kept]))
    assert flag.item() == 1
    assert (out[:64] != task.arena.tensor(task.spec.inputs.items[0].tensor)[:64]).all()


def test_the_result_of_a_launch_is_launched_again(interpreter, task):
    answer = called(interpreter, task, HANDLE, wire.Effect.kept)
    y = task.arena.tensor(task.spec.inputs.items[1].tensor)
    assert torch.equal(task.result(answer), y[:96] * 3) and answer.launchCount == 2


def test_poison_changes_from_call_to_call(interpreter, task):
    runner = interpreter.spawn()
    loaded(runner, HEAD + "def triton_kernel_wrapper(x, y):\n    return torch.empty(100, device=x.device)\n", task)
    kinds = [runner.call(task, trial=trial, poison=each) for trial, each in enumerate(("nan", "zeros", "data"))]
    assert all(isinstance(each, wire.ReturnedT) for each in kinds)
    seen = []
    for trial, each in enumerate(("nan", "zeros", "data")):
        seen.append(task.result(runner.call(task, trial=trial, poison=each)).clone())
    assert seen[0].isnan().all() and not seen[1].any() and seen[2].std() > 0.5
