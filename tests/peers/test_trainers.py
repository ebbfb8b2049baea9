"""The examples of each trainer, in the trainer's own code: TRL's environments, verl's reward manager, Tinker's rollouts and
verifiers' scoring, with scripted answers and a real service that has one task."""
import asyncio
import math
import sys

import pytest
from end_to_end import program
from end_to_end.served import KEY, Served

sys.path.append(str(program.ROOT / "examples" / "trainers"))

TASK = program.ROOT / "examples" / "four_turns" / "reference.py"


@pytest.fixture(scope="module")
def service(tmp_path_factory, python):
    with Served(tmp_path_factory.mktemp("service"), "--tasks", TASK, "--correctness-trials", 2, python=python) as running:
        yield running.ready()


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("KERNELWRIGHT_EVALUATOR_KEY", KEY)


@pytest.fixture(scope="module")
def task_id(service):
    return service.asked("/v1/tasks")["tasks"][0]["id"]


def test_a_step_of_grpo_with_trls_environments(service, task_id, tmp_path):
    import grpo_environment

    trainer = grpo_environment.step(service.url, task_id, folder=tmp_path)
    assert [each.get_reward() for each in trainer.environments] == [0.3, 0, 0.3, 0]
    assert [len(each.results) for each in trainer.environments] == [2, 1, 1, 0]
    logged = trainer.state.log_history[0]
    assert logged["rewards/KernelEnvironment/mean"] == pytest.approx(0.15) and math.isfinite(logged["loss"])
