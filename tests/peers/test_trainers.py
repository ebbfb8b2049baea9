"""The examples of each trainer, in the trainer's own code, with scripted answers and a real service that has one task."""
import asyncio
import importlib.util
import json
import math
import subprocess
import sys
from types import SimpleNamespace

import pytest
from end_to_end import program
from end_to_end.served import KEY, Served

from kernelwright.outcomes import NotJudged

sys.path.append(str(program.ROOT / "examples" / "trainers"))

TASK = program.ROOT / "examples" / "four_turns" / "reference.py"
needs_openrlhf = pytest.mark.skipif(importlib.util.find_spec("openrlhf") is None,
                                    reason="the only wheel of openrlhf is for Python 3.11 on x86-64")


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


@pytest.mark.parametrize("name", ["verl_reward", "tinker_rollouts", pytest.param("openrlhf_rollouts", marks=needs_openrlhf)])
def test_a_script_runs_by_itself(service, task_id, name):
    """Its folder is then the first of the path, before the packages."""
    url = service.url.replace("://", f"://any:{KEY}@") + "/openrlhf" if name == "openrlhf_rollouts" else service.url
    script = program.ROOT / "examples" / "trainers" / f"{name}.py"
    done = subprocess.run([sys.executable, script, url, task_id], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "0.3" in done.stdout, done.stderr[-2000:]


def test_a_step_of_grpo_with_trls_environments(service, task_id, tmp_path):
    import grpo_environment

    trainer = grpo_environment.step(service.url, task_id, folder=tmp_path)
    assert [each.get_reward() for each in trainer.environments] == [0.3, 0]
    assert [len(each.results) for each in trainer.environments] == [2, 0]
    logged = trainer.state.log_history[0]
    assert logged["rewards/KernelEnvironment/mean"] == pytest.approx(0.15) and math.isfinite(logged["loss"])


def test_verls_reward_manager(service, task_id):
    import verl_reward

    found = verl_reward.scores(service.url, task_id)
    assert [each["reward_score"] for each in found] == [0, 0.3, 0]
    assert len({tuple(each["reward_extra_info"]) for each in found}) == 1, "verl stacks them"
    assert [each["reward_extra_info"]["acc"] for each in found] == [0, 1, 0]
    with pytest.raises(NotJudged, match="not judged within 0.001 s"):
        verl_reward.scores(service.url, task_id, [verl_reward.ANSWERS[1] + "\n"], wait_s=0.001)


def test_tinkers_rollouts(service, task_id):
    import tinker_rollouts

    found = tinker_rollouts.rollouts(service.url, task_id)
    assert found.get_total_rewards() == [0.3, 0.3]
    assert [[step.reward for step in each.transitions] for each in found.trajectories_G] == [[0, 0.3]] * 2
    assert {each.stop_reason for each in found.trajectories_G} == {"completed"}
    with pytest.raises(NotJudged):
        tinker_rollouts.rollouts(service.url, task_id, group_size=1, wait_s=0.001)


@pytest.fixture
def openrlhf_url(service):
    return f"http://any:{KEY}@127.0.0.1:{service.port}/openrlhf"


@needs_openrlhf
def test_openrlhfs_rollouts(openrlhf_url, task_id):
    import openrlhf_rollouts

    found = openrlhf_rollouts.rollouts(openrlhf_url, task_id)
    assert [each["reward"] for each in found] == [each["scores"] for each in found] == [0.3, 0, 0]
    assert [each["extra_logs"] for each in found] == [{"correct": 1}, {"correct": 0}, {"correct": 0}]


@needs_openrlhf
def test_openrlhf_asks_five_times_and_then_has_no_reward(openrlhf_url, monkeypatch):
    import openrlhf_rollouts
    slept = []

    async def sleep(seconds):
        slept.append(seconds)
    monkeypatch.setattr(openrlhf_rollouts.agent_module(), "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": sleep}))
    label = json.dumps({"reference_code": f"import time\n\ntime.sleep(3)\n{TASK.read_text(encoding='utf-8')}"})
    answer = openrlhf_rollouts.ANSWERS[0]
    unjudged, = openrlhf_rollouts.rollouts(f"{openrlhf_url}?patience_s=0.001", label, [answer])
    assert (unjudged["reward"], unjudged["scores"], unjudged["extra_logs"]) == (None, None, {}) and slept == [1] * 5
    judged, = openrlhf_rollouts.rollouts(openrlhf_url, label, [answer])
    assert judged["reward"] == 0.3 and len(slept) == 5
