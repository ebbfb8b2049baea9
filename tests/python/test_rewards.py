"""A reward function's requests to the service, and its use of the answers. tests/peers tests it in a training."""
import asyncio
import inspect

import pytest
from fake_service import FakeService

from kernelwright import rewards
from kernelwright.rewards import KernelReward, text_of


@pytest.fixture
def service():
    running = FakeService()
    yield running
    running.close()


@pytest.fixture
def judged(service):
    """Verdicts by completion."""
    of = {"fast": {"status": "correct", "counts": True, "speedup": 2.0, "reward": 2.3},
          "wrong": {"status": "incorrect", "error_class": "wrong_value", "reward": 0},
          "ours": {"status": "error", "error_class": "infrastructure", "reward": None}}
    service._record = lambda evaluation_id: {"id": evaluation_id, "state": "done",
                                             "verdict": of[service.known[evaluation_id]["completion"]]}
    service._take = lambda evaluations: (service.known.update({each["id"]: each for each in evaluations}), (202, {}))[1]
    return service


def reward(service, **settings):
    return KernelReward(service.url, **settings)


COLUMNS = {"reference_code": ["r1", "r2", "r3"]}


def test_rewards_are_the_services(judged):
    assert asyncio.run(reward(judged)(["p"] * 3, ["fast", "wrong", "ours"], **COLUMNS)) == [2.3, 0, None]
    assert reward(judged).kernel_reward(["p"] * 3, ["ours", "fast", "fast"], **COLUMNS) == [None, 2.3, 2.3]


def test_trainers_see_which_kind_it_is(service):
    assert inspect.iscoroutinefunction(KernelReward.__call__) and inspect.iscoroutinefunction(rewards.reward_func)
    assert not inspect.iscoroutinefunction(rewards.reward_func_sync)
    assert reward(service).__name__ == reward(service).kernel_reward.__name__ == "kernel_reward"


def test_the_evaluator_may_be_the_environments(judged, monkeypatch):
    monkeypatch.setenv("KERNELWRIGHT_EVALUATOR", judged.url)
    assert rewards.reward_func_sync(["p"], ["fast"], reference_code=["r"]) == [2.3]


def test_a_trainer_is_told_more(judged):
    told = {}
    reward(judged).kernel_reward(["p"] * 3, ["fast", "wrong", "ours"], **COLUMNS,
                                 log_extra=told.__setitem__, log_metric=told.__setitem__)
    assert told == {"verdict": ["correct", "wrong_value", "infrastructure"], "speedup": [2.0, None, None],
                    "kernels/correct": 1 / 3, "kernels/unjudged": 1 / 3}


def test_terms_are_only_what_was_said(service):
    assert reward(service).requests(["c"], {"reference_code": ["r"]}) == [
        {"reward": {}, "reference_code": "r", "completion": "c"}]
    asked = reward(service, cap=3.0, min_trust="in-process", options={"tf32": True}, priority=5, deadline_s=60)
    assert asked.requests(["c"], {"reference_code": ["r"]})[0] == {
        "reward": {"cap": 3.0, "min_trust": "in-process"}, "options": {"tf32": True}, "priority": 5, "deadline_s": 60,
        "reference_code": "r", "completion": "c"}


def test_tasks_come_from_the_columns(service):
    columns = {"pytorch_code": ["r1", "r2"], "entry_point": ["Net", None], "task_id": ["a/1", ""], "trainer_state": object(),
               "input_shapes": [{"x": {"shape": [2], "dtype": "float32"}, "y": None}, '{"z": {"shape": [3]}}']}
    first, second = reward(service).requests(["c1", "c2"], columns)
    assert first == {"reward": {}, "reference_code": "r1", "entry_point": "Net", "task_id": "a/1", "completion": "c1",
                     "input_shapes": {"x": {"shape": [2], "dtype": "float32"}}}
    assert second["input_shapes"] == {"z": {"shape": [3]}}
    assert not {"entry_point", "task_id"} & second.keys()


def test_or_from_a_table_by_their_id(service):
    tasks = {"a/1": {"pytorch_code": "r", "entry_point": "Net"}}
    asked = reward(service, tasks=tasks).requests(["c"], {"task_id": ["a/1"]})[0]
    assert (asked["reference_code"], asked["entry_point"], asked["task_id"]) == ("r", "Net", "a/1")


def test_a_completion_without_a_task_is_an_error(service):
    with pytest.raises(ValueError, match="completion 1 has no task"):
        reward(service).requests(["c", "c"], {"reference_code": ["r", None]})
    with pytest.raises(ValueError, match="reference_code"):
        reward(service).requests(["c"], {"task_id": ["unknown"]})


@pytest.mark.parametrize("completion, text", [
    ("plain", "plain"),
    ([{"role": "assistant", "content": "answer"}], "answer"),
    ([{"role": "assistant", "content": "a"}, {"role": "tool", "content": "t"}, {"role": "assistant", "content": "b"}], "b"),
    ([{"role": "assistant", "content": [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]}], "in parts"),
    ([{"role": "assistant", "content": None}], ""),
    ([], ""),
])
def test_completions_are_texts_or_messages(completion, text):
    assert text_of(completion) == text


def test_nothing_is_asked_for_nothing(service):
    assert reward(service).kernel_reward([], []) == []
    assert service.calls == []
