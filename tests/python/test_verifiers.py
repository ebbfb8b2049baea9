"""The taskset for verifiers, upon the few names of verifiers 0.4.0 that it uses: its pins exclude those of the other peers."""
import asyncio
import sys
import types

import pytest
from conversing_service import ConversingService

from kernelwright import outcomes


class Generic:
    def __class_getitem__(cls, _):
        return cls


class Config:
    """As pydantic has it: a value by name, else the class's own."""

    def __init__(self, **values):
        self.__dict__.update(values)


class Task(Generic):
    def __init__(self, data, config):
        self.data, self.config = data, config


class Taskset(Generic):
    def __init__(self, config):
        self.config = config


class Trace:
    def __init__(self, reply):
        self.last_reply, self.metrics = reply, {}

    def record_metrics(self, values):
        self.metrics.update(values)


@pytest.fixture
def adapter(monkeypatch):
    names = types.ModuleType("verifiers.v1")
    names.__dict__.update(TaskConfig=Config, TasksetConfig=Config, TaskData=Config, Task=Task, Taskset=Taskset, Trace=Trace,
                          State=object, reward=lambda function: function)
    package = types.ModuleType("verifiers")
    package.v1 = names
    monkeypatch.setitem(sys.modules, "verifiers", package)
    monkeypatch.setitem(sys.modules, "verifiers.v1", names)
    monkeypatch.delitem(sys.modules, "kernelwright.verifiers", raising=False)
    monkeypatch.setattr(outcomes, "FIRST_PAUSE_S", 0.01)
    import kernelwright.verifiers
    yield kernelwright.verifiers
    del sys.modules["kernelwright.verifiers"]


@pytest.fixture
def service():
    running = ConversingService()
    yield running
    running.close()


def tasks_of(adapter, service, **settings):
    task = adapter.KernelTaskConfig(evaluator=service.url, wait_s=0.3)
    return list(adapter.KernelTaskset(adapter.KernelTasksetConfig(task=task, **settings)).load())


def test_tasks_are_the_services(adapter, service):
    first, second = tasks_of(adapter, service)
    assert (first.key, second.key) == ("one@v1", "two@v1")
    assert (first.data.system_prompt, first.data.prompt) == ("You write kernels.", "Write one for this reference.")
    assert [each.data.id for each in tasks_of(adapter, service, levels=["two"])] == ["two"]


def test_the_last_reply_earns_the_services_reward(adapter, service):
    task, trace = tasks_of(adapter, service)[0], Trace("fast")
    assert asyncio.run(task.kernel(trace)) == 2.3 and trace.metrics["speedup"] == 2
    assert asyncio.run(task.kernel(Trace("wrong"))) == 0


@pytest.mark.parametrize("reply", ["fault", "broken"])
def test_what_is_not_judged_raises(adapter, service, reply):
    with pytest.raises(outcomes.NotJudged):
        asyncio.run(tasks_of(adapter, service)[0].kernel(Trace(reply)))
