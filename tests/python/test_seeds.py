"""The seed of a call: reference and candidate have it in common, and nobody draws inputs from it."""
import torch
from fork_client import Server, Task
from test_runner import HEAD, loaded

from kernelwright._engine import seeds, wire

SHOWS = HEAD + """
import random
import numpy


def triton_kernel_wrapper(x, y):
    numbers = [torch.initial_seed() >> 32, torch.initial_seed() & 0xFFFFFFFF, random.getrandbits(31)]
    return torch.tensor(numbers + [numpy.random.randint(1 << 31)]), torch.rand(3)
"""


def test_it_is_the_supervisors():
    assert seeds.of_call(1) == 1932990599294486697
    assert seeds.of_call(0x7FFFFFFFFFFFFFFF) == 6904615902175672179


def test_a_call_runs_under_its_seed_and_no_other():
    import random

    import numpy
    server, task = Server("interpret"), Task([torch.randn(100), torch.randn(100)])
    runner = server.spawn()
    loaded(runner, SHOWS, task)
    for seed in (5, 1 << 40):
        answer = runner.call(task, seed=seed)
        assert isinstance(answer, wire.ReturnedT)
        numbers, drawn = (task.arena.dense(each.tensor) for each in answer.outputs.items)
        seeds.seed_everything(seed)
        assert numbers.tolist() == [seed >> 32, seed & 0xFFFFFFFF, random.getrandbits(31), numpy.random.randint(1 << 31)]
        assert torch.equal(drawn, torch.rand(3))
    assert runner.exited() == 0
    assert server.close() == 0
