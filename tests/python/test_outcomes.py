"""What adapters make of verdicts, and how long they wait for one; verl's and slime's functions and TRL's environment upon it.
tests/peers has them in the real trainers."""
import asyncio
import inspect
import json
import math
import subprocess
import sys
import time
import types

import pytest
from conversing_service import CORRECT, FAULT, ConversingService

from kernelwright import outcomes, slime, verl
from kernelwright.client import Client
from kernelwright.outcomes import NotJudged, judge_within, metrics_of, outcome_of, turn_within
from kernelwright.trl import KernelEnvironment


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(outcomes, "FIRST_PAUSE_S", 0.01)
    outcomes.shared_client.cache_clear()


@pytest.fixture
def service():
    running = ConversingService()
    yield running
    running.close()


@pytest.fixture
def client(service):
    return Client(service.url)


def request(completion, **more):
    return {"task_id": "one", "completion": completion, "reward": {}, **more}


def test_metrics_always_have_the_same_names_and_are_numbers():
    found = [metrics_of(each) for each in (CORRECT, FAULT, {}, {"status": "correct", "counts": False, "trust": "interpreter"})]
    assert len({tuple(each) for each in found}) == 1
    assert all(isinstance(value, float) and math.isfinite(value) for each in found for value in each.values())
    assert found[0] == {"correct": 1, "right": 1, "speedup": 2, "speedup_known": 1, "trust_level": 3}
    assert (found[3]["correct"], found[3]["right"]) == (0, 1)


def test_the_same_content_is_the_same_evaluation_also_of_another_process(service):
    for _ in range(2):
        assert outcome_of(judge_within(Client(service.url), request("fast"))).reward == 2.3
    judge_within(Client(service.url), request("fast", options={"tf32": True}))
    service.protocol = "p2"  # the service has other options
    judge_within(Client(service.url), request("fast"))
    ids = service.ids()
    assert ids[0] == ids[1] and len(set(ids)) == 3


def test_a_fault_of_the_infrastructure_is_waited_out(service, client):
    service.verdicts = {"answer": [FAULT, FAULT, CORRECT]}
    service.troubles = [("/v1/evaluations", "cut"), ("/v1/evaluations", 503)]
    assert judge_within(client, request("answer")).correct
    assert len(set(service.ids())) == 3, "each try is an evaluation of its own"
    submitted = len(service.ids())
    assert judge_within(client, request("answer")).correct and len(service.ids()) == submitted + 3, "which a retry finds"


def test_until_the_limit(service, client):
    began = time.monotonic()
    with pytest.raises(NotJudged, match="not judged within 0.3 s: the GPU fell off"):
        judge_within(client, request("fault"), 0.3)
    service._record = lambda evaluation_id: {"id": evaluation_id, "state": "running", "verdict": None}
    with pytest.raises(NotJudged, match="not judged within 0.3 s"):
        judge_within(client, request("held"), 0.3)
    assert ("DELETE", f"/v1/evaluations/{service.ids()[-1]}") not in service.calls, "a later call finds its verdict"
    with pytest.raises(NotJudged, match="not judged within 0.3 s: .*refused"):
        judge_within(Client("http://127.0.0.1:9"), request("nobody"), 0.3)
    assert time.monotonic() - began < 5


def test_a_fault_of_the_task_is_not_waited_for(client):
    with pytest.raises(NotJudged, match="fault of the task: the reference fails"):
        outcome_of(judge_within(client, request("broken")))


@pytest.mark.parametrize("wait_s", [0, -1, math.inf, math.nan])
def test_a_limit_is_a_number_of_seconds(client, wait_s):
    with pytest.raises(ValueError, match="wait_s"):
        judge_within(client, request("fast"), wait_s)


def test_a_turn_is_sent_again_until_it_is_judged(service, client):
    service.verdicts = {"answer": [FAULT, CORRECT]}
    result = turn_within(client.conversation("one"), "answer", 5)
    assert (result.turn, result.reward) == (1, 2.3)
    began = time.monotonic()
    for completion, why in (("fault", "the GPU fell off"), ("stuck", "no verdict")):
        service.verdicts = {"fault": [FAULT]}
        with pytest.raises(NotJudged, match=f"not judged within 0.2 s: {why}"):
            turn_within(client.conversation("one"), completion, 0.2)
    assert time.monotonic() - began < 5


def score(service, solution, **more):
    fields = {"data_source": "kernels", "ground_truth": "one", "extra_info": {"index": 3}, "evaluator": service.url, **more}
    return asyncio.run(verl.compute_score(solution_str=solution, **fields))


def test_verl_gets_a_score_with_the_same_keys(service):
    assert inspect.iscoroutinefunction(verl.compute_score)
    fast, wrong = score(service, "fast"), score(service, "wrong")
    assert (fast["score"], fast["acc"], wrong["score"], wrong["acc"]) == (2.3, 1, 0, 0) and fast.keys() == wrong.keys()
    for completion in ("broken", "fault"):
        with pytest.raises(NotJudged):
            score(service, completion, wait_s=0.2, reward_router_address="ignored")


@pytest.mark.parametrize("truth, extra, task", [
    ("a/1", None, {"task_id": "a/1"}),
    ("a kernel", {"task_id": "a/2", "index": 1}, {"task_id": "a/2"}),
    ({"pytorch_code": "r", "entry_point": "Net"}, {}, {"reference_code": "r", "entry_point": "Net"}),
    (json.dumps({"reference_code": "r"}), {"input_shapes": '{"x": {"shape": [2]}}'},
     {"reference_code": "r", "input_shapes": {"x": {"shape": [2]}}}),
])
def test_verl_names_the_task_in_extra_info_or_ground_truth(service, truth, extra, task):
    score(service, "fast", ground_truth=truth, extra_info=extra)
    sent = service.bodies[service.calls.index(("POST", "/v1/evaluations"))]
    assert {name: value for name, value in sent.items() if name not in ("id", "completion", "reward")} == task


@pytest.mark.parametrize("truth", ["", None, 42, "import torch\n", {"other": 1}, ["a/1"]])
def test_verl_refuses_a_sample_without_a_task(service, truth):
    with pytest.raises(ValueError, match="has no task"):
        score(service, "fast", ground_truth=truth)


def sample(response, label="one", **more):
    """A sample of slime, with the fields that a reward function reads and sets."""
    return types.SimpleNamespace(response=response, label=label, metadata={}, remove_sample=False, **more)


def slime_reward(service, samples, reward_key=None, **settings):
    args = types.SimpleNamespace(reward_key=reward_key, kernelwright={"evaluator": service.url, "wait_s": 0.2, **settings})
    return asyncio.run(slime.reward(args, samples))


def test_slime_gets_a_number_for_a_sample_and_a_list_for_a_group(service):
    assert slime_reward(service, sample("fast")) == 2.3
    assert slime_reward(service, [sample("fast"), sample("wrong")]) == [2.3, 0]
    with_metrics = slime_reward(service, sample("slow"), reward_key="score")
    assert with_metrics["score"] == 0.8 and with_metrics["judged"] == 1 and with_metrics["speedup"] == 0.5


def test_a_sample_of_slime_that_is_not_judged_is_removed_and_does_not_move_its_group(service):
    group = [sample("fast"), sample("fault"), sample("slow"), sample("broken")]
    rewards = slime_reward(service, group)
    assert [each.remove_sample for each in group] == [False, True, False, True]
    assert rewards == pytest.approx([2.3, 1.55, 0.8, 1.55])
    alone = sample("fault")
    assert slime_reward(service, alone) == 0 and alone.remove_sample
    assert slime_reward(service, [sample("fault")], reward_key="reward") == [{"judged": 0, "reward": 0}]


def test_slime_refuses_unknown_settings_and_a_sample_without_a_task(service):
    with pytest.raises(ValueError, match="other fields"):
        slime_reward(service, sample("fast"), evaluater="x")
    with pytest.raises(ValueError, match="has no task"):
        slime_reward(service, sample("fast", label=None))


@pytest.fixture
def environment(service):
    return KernelEnvironment(service.url, wait_s=0.3)


def submit(environment, *codes):
    async def submitted():
        return await asyncio.gather(*(environment.submit_kernel(code) for code in codes))
    return asyncio.run(submitted())


def test_the_models_tool_is_submit_kernel_alone(environment):
    public = [name for name, _ in inspect.getmembers(KernelEnvironment, inspect.isfunction) if not name.startswith("_")]
    assert sorted(public) == ["get_reward", "reset", "submit_kernel"]
    text = environment.reset(prompt=[], task_id="one", index=3)
    assert "Write one for this reference." in text and "submit_kernel" in text and "4 submissions" in text


def test_the_best_submission_is_the_reward(environment):
    environment.reset(task_id="one")
    assert environment.get_reward() == 0
    assert submit(environment, "slow", "wrong") == ["feedback 1", "feedback 2"], "calls at a time are turns one after another"
    assert environment.get_reward() == 0.8
    assert "success_fast" in submit(environment, "fast")[0] and environment.get_reward() == 2.3
    assert "has ended" in submit(environment, "wrong")[0] and environment.get_reward() == 2.3


def test_a_reset_clears_all(service, environment):
    environment.reset(task_id="one")
    submit(environment, "slow", "fault")
    assert environment.get_reward() is None and environment.not_judged
    first = environment._conversation.id
    environment.reset(task_id="two")
    assert service.ended == [first], "it would take a place of the service's"
    assert environment.get_reward() == 0 and environment.results == [] and environment.not_judged is None
    assert service.talks[environment._conversation.id]["task_id"] == "two"


@pytest.mark.parametrize("completion", ["fault", "stuck", "broken"])
def test_what_is_not_judged_is_no_reward(environment, completion):
    environment.reset(task_id="one")
    submit(environment, "slow", completion)
    assert environment.get_reward() is None


def test_a_service_that_is_gone_is_no_reward_of_0(service, environment):
    environment.reset(task_id="one")
    service.talks.clear()
    assert "no fault of your code" in submit(environment, "fast")[0]
    assert environment.get_reward() is None


@pytest.mark.parametrize("code", [None, 3, ["x"], {"code": "x"}])
def test_arguments_of_a_wrong_type_are_told_to_the_model(environment, code):
    environment.reset(task_id="one")
    assert submit(environment, code) == ["Not judged: `code` is no text."] and environment.get_reward() == 0


def test_code_is_sent_as_an_answer(service, environment):
    environment.reset(task_id="one")
    submit(environment, "import wrong", "```python\nwrong\n```")
    sent = [body["completion"] for (_, path), body in zip(service.calls, service.bodies) if path.endswith("/turns")]
    assert sent == ["<triton>\nimport wrong\n</triton>", "```python\nwrong\n```"]


def test_half_a_surrogate_pair_is_judged_as_well(service, environment):
    environment.reset(task_id="one")
    submit(environment, "wrong \ud800")
    assert environment.get_reward() == 0 and service.bodies[-1]["completion"] == "<triton>\nwrong ?\n</triton>"
    assert score(service, "wrong \udfff")["score"] == 0


def test_a_row_without_a_task_is_an_error(environment):
    with pytest.raises(ValueError, match="task_id"):
        environment.reset(prompt="p")


def test_adapters_load_no_trainer():
    code = ("import sys, kernelwright, kernelwright.verl, kernelwright.trl, kernelwright.slime\n"
            "print([each for each in ('verl', 'trl', 'slime', 'torch', 'verifiers', 'tinker') if each in sys.modules])")
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
