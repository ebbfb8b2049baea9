"""Trainers' own protocols on a real service: the requests that each trainer's client sends, as its source has them."""
import concurrent.futures
import json
import sqlite3
import urllib.error
import urllib.request

import pytest

from . import killing
from .served import KEY, Served
from .web_socket import WebSocket

PROMPT = "<|im_start|>user\nWrite a kernel.<|im_end|>\n<|im_start|>assistant\n"
RIGHT = f"<triton>\n{killing.KERNEL.format(added=1)}\n</triton>"
WRONG = f"<triton>\n{killing.KERNEL.format(added=2)}\n</triton>"
BROKEN_TASK = ("def reference_impl(x):\n    raise ValueError('no')\n\n\n"
               "def get_inputs():\n    import torch\n    return [torch.ones(4)]\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dialects")
    rows = [{"task_id": "add/one", "reference_code": killing.REFERENCE.format(number=1)},
            {"task_id": "broken", "reference_code": BROKEN_TASK}]
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def service(folder):
    with Served(folder, "--tasks", folder / "tasks.jsonl", "--correctness-trials", 2, "--jobs", 2) as running:
        yield running.ready()


def ask(service, path, body=None, key=KEY):
    """A request as aiohttp and requests make it; the status and the JSON of the answer."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **({"X-API-Key": key} if key else {})}
    request = urllib.request.Request(service.url + path, data, headers)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def slime(response, label="add/one"):
    return {"prompt": [{"role": "user", "content": "Write a kernel."}], "response": response, "label": label}


def openrlhf(response, label="add/one"):
    """One sample, decoded with special tokens, as SingleTurnAgentExecutor sends it."""
    return {"query": [f"{PROMPT}{response}<|im_end|>"], "prompts": [PROMPT], "labels": [label]}


def nemo_gym(response, task="add/one"):
    message = {"id": "m", "type": "message", "role": "assistant", "status": "completed",
               "content": [{"type": "output_text", "text": response, "annotations": []}]}
    return {"responses_create_params": {"input": [{"role": "user", "content": "Write a kernel."}]},
            "verifier_metadata": {"task_id": task}, "_ng_task_index": 0, "_ng_rollout_index": 0,
            "response": {"id": "r", "object": "response", "created_at": 0, "model": "m", "output": [message]}}


def test_slime_and_miles(service):
    status, reward = ask(service, "/slime/number", slime(RIGHT))
    assert (status, reward) == (200, 0.3), "correct, and without a GPU no speed is known"
    assert ask(service, "/miles/number", slime(WRONG)) == (200, 0)
    status, found = ask(service, "/slime", slime(RIGHT, json.dumps({"task_id": "add/one"})))
    assert (found["reward"], found["correct"], found["status"]) == (0.3, 1, "correct")
    status, found = ask(service, "/miles", slime(RIGHT, {"reference_code": killing.REFERENCE.format(number=1)}))
    assert found["reward"] == 0.3


def test_openrlhf(service):
    assert ask(service, "/openrlhf", openrlhf(RIGHT)) == (
        200, {"rewards": 0.3, "scores": 0.3, "extra_logs": {"correct": 1}})
    assert ask(service, "/openrlhf", openrlhf(WRONG))[1]["rewards"] == 0
    status, found = ask(service, "/openrlhf", {**openrlhf(RIGHT), "prompts": ["another prompt"]})
    assert status == 422 and "ambiguous" in found["error"]["message"]


def test_nemo_gym(service):
    assert ask(service, "/nemo_gym/seed_session", {}) == (200, {})
    rows = [ask(service, "/nemo_gym/verify", nemo_gym(text))[1] for text in (RIGHT, WRONG)]
    assert [row["reward"] for row in rows] == [0.3, 0] and rows[0]["response"]["id"] == "r"
    status, unjudged = ask(service, "/nemo_gym/verify", nemo_gym(RIGHT, "broken"))
    assert status == 200 and unjudged["_ng_failure_class"] == "judge_failed"
    status, metrics = ask(service, "/nemo_gym/aggregate_metrics", {"verify_responses": [*rows, unjudged]})
    assert metrics["key_metrics"] == {"mean/reward": 0.15, "mean/correct": 0.5}
    assert ask(service, "/nemo_gym/reverify_mode") == (200, "stateless")


def test_openenv(service):
    assert ask(service, "/openenv/health", key=None) == (200, {"status": "healthy"})
    first = ask(service, "/openenv/reset", {"task_id": "add/one"})[1]["observation"]
    assert "reference_impl" in first["messages"][-1]["content"]
    action = {"task_id": first["task_id"], "completion": RIGHT}
    step = ask(service, "/openenv/step", {"action": action, "timeout_s": 60, "request_id": "a"})[1]
    assert (step["reward"], step["done"], step["observation"]["verdict"]["status"]) == (0.3, True, "correct")
    step = ask(service, "/openenv/step", {"action": {**action, "task_id": "broken"}})[1]
    assert (step["reward"], step["done"]) == (None, True) and step["observation"]["not_judged"]


def test_openenv_over_a_websocket(service):
    with WebSocket(service.port, "/openenv/ws") as stranger:
        assert stranger.status == 401
    with WebSocket(service.port, "/openenv/ws", KEY) as lost:
        first = lost.ask("reset", task_id="add/one")["data"]
        episode = first["observation"]["episode_id"]
        assert "reference_impl" in first["observation"]["messages"][-1]["content"] and first["reward"] is None
        wrong = lost.ask("step", completion=WRONG)["data"]
        assert (wrong["reward"], wrong["done"]) == (0, False) and wrong["observation"]["messages"]
        lost.say({"type": "step", "data": {"completion": RIGHT}})
    with WebSocket(service.port, "/ws", KEY) as client:
        assert client.ask("reset", episode_id=episode)["data"]["observation"]["episode_id"] == episode
        right = client.ask("step", completion=RIGHT)["data"]
        assert (right["reward"], right["done"], right["observation"]["turn"]) == (0.3, True, 2)
        assert client.ask("state")["data"]["step_count"] == 2
        client.ask("reset", task_id="broken")
        broken = client.ask("step", completion=RIGHT)["data"]
        assert (broken["reward"], broken["done"]) == (None, True) and broken["observation"]["not_judged"]
        assert client.ask("reset", task_id="none")["data"]["code"] == "VALIDATION_ERROR"
        assert client.ask("close") == 1000


def test_a_fault_of_the_task_is_no_reward(service):
    for path, body in (("/slime", slime(RIGHT, "broken")), ("/openrlhf", openrlhf(RIGHT, "broken"))):
        status, found = ask(service, path, body)
        assert (status, found["error"]["class"]) == (422, "not_judged")


def test_every_endpoint_needs_the_key(service):
    for path in ("/slime", "/miles", "/openrlhf", "/nemo_gym/verify", "/nemo_gym/aggregate_metrics", "/openenv/step",
                 "/openenv/reset", "/evaluate/batch"):
        assert ask(service, path, {}, key=None)[0] == 401, path


def test_a_group_of_samples_and_its_retries_are_judged_once(service, folder):
    completions = [f"<triton>\n# {number % 4}\n{killing.KERNEL.format(added=1)}\n</triton>" for number in range(24)]
    with concurrent.futures.ThreadPoolExecutor(24) as clients:
        rewards = list(clients.map(lambda text: ask(service, "/slime/number", slime(text)), completions))
    assert rewards == [(200, 0.3)] * 24
    with sqlite3.connect(f"file:{folder / 'service.db'}?mode=ro", uri=True) as store:
        ids = [row[0] for row in store.execute("SELECT id FROM evaluations WHERE id LIKE 'slime-%'")]
    assert len(ids) == len(set(ids)) <= 4 + 3, "four contents here, and those of the tests above"


def test_the_log_has_no_password_of_a_target(service, folder):
    import socket
    with socket.create_connection(("127.0.0.1", service.port), 20) as client:
        client.sendall(f"GET http://any:{KEY}@127.0.0.1/health HTTP/1.1\r\nHost: x\r\nX-API-Key: {KEY}\r\n"
                       "Connection: close\r\n\r\n".encode())
        client.recv(10_000)
    log = (folder / "service.log").read_text(encoding="utf-8")
    assert KEY not in log and "***@127.0.0.1" in log
