"""`kernelwright serve --tasks`: tasks by id, what is hidden of them, and conversations, with verdicts of the engine."""
import asyncio
import json
import subprocess
import sys
import threading

import pytest

from . import killing, program
from .served import KEY, Served
from .test_serve import ask

sys.path.insert(0, str(program.ROOT / "python"))

from kernelwright import Client, Refused

MARKER = "MARKER-37f1"
ROW_MARKER = "MARKER-of-the-row"
# The marker is in what the reference's process says; the source, which the prompt shows, does not contain it.
LOUD = '''import torch

print("-".join(("MARKER", "37f1")))


def reference_impl(x):
    raise ValueError("-".join(("MARKER", "37f1")))


def get_inputs():
    return [torch.ones(4)]
'''
WRITTEN = "<triton>\n{}\n</triton>"


def reference(number):
    return killing.REFERENCE.format(number=number)


def kernel(added):
    return killing.KERNEL.format(added=added)


def row(name, code, **more):
    return {"id": name, "task_id": name, "reference_code": code, "kernel_code": f"# {ROW_MARKER}", "note": ROW_MARKER, **more}


ROWS = [row("plain/one", reference(1)), row("loud", LOUD), row("plain/two", reference(2))]


def write_rows(path, rows):
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    write_rows(folder / "tasks.jsonl", ROWS)
    return folder


@pytest.fixture(scope="module")
def served(folder):
    with Served(folder, "--tasks", folder / "tasks.jsonl", "--correctness-trials", 2, "--jobs", 2, "--log-bodies") as service:
        yield service.ready()


@pytest.fixture
def client(served):
    return Client(served.url, KEY)


def test_an_id_and_a_completion_are_enough(served, client):
    assert [each.id for each in client.tasks()] == ["plain/one", "loud", "plain/two"]
    task = client.task("plain/one")
    assert reference(1) in task.messages[-1]["content"] and task.prompt_style == "wrapper"
    found = client.evaluate(task_id="plain/one", task_version=task.version, completion=WRITTEN.format(kernel(1)))
    assert found.correct and found.verdict["task_id"] == "plain/one" and found.verdict["task_version"] == task.version
    with pytest.raises(Refused, match="the nearest is \"plain/one\"") as refused:
        client.evaluate(task_id="plain/onee", kernel_code=kernel(1))
    assert (refused.value.status, refused.value.error_class) == (404, "unknown_task")
    with pytest.raises(Refused) as refused:
        client.evaluate(task_id="plain/one", task_version="another", kernel_code=kernel(1))
    assert (refused.value.status, refused.value.field) == (409, "task_version")


def test_no_answer_says_what_the_references_process_said(served, client):
    verdict = client.evaluate(id="hidden", task_id="loud", kernel_code=kernel(1)).verdict
    assert (verdict["status"], verdict["fault"]) == ("error", "task")
    talk = client.conversation("loud")
    result = talk.turn(WRITTEN.format(kernel(1)))
    assert result.reward is None and talk.stop_reason == "task_invalid"
    paths = ["/v1/evaluations", "/v1/evaluations/hidden", "/results/hidden", "/status/hidden", "/v1/tasks", "/v1/tasks/loud",
             f"/v1/conversations/{talk.id}", "/metrics", "/health", "/v1/service"]
    said = "".join(served.text(path) for path in paths) + json.dumps(verdict) + repr(result)
    said += (served.folder / "service.log").read_text(encoding="utf-8")
    assert MARKER not in said and ROW_MARKER not in said
    # The control: where the client sends the reference itself, its verdict quotes it.
    shown = client.evaluate(id="shown", reference_code=LOUD, kernel_code=kernel(1)).verdict
    assert MARKER in shown["error"]


def test_a_conversation_goes_from_wrong_to_right(client):
    talk = client.conversation("plain/two", turns=3)
    assert [each["role"] for each in talk.observation] == ["system", "user"]
    wrong = talk.turn(WRITTEN.format(kernel(7)))
    assert (wrong.verdict["status"], wrong.reward, wrong.done) == ("incorrect", 0, False)
    assert talk.observation == [{"role": "user", "content": wrong.feedback}] and "first at [" in wrong.feedback
    right = talk.turn(WRITTEN.format(kernel(2)))
    assert right.correct and right.done and right.reward == 0.3 and right.best_turn == 2
    assert client.resume(talk.id).stop_reason == "success_correct"
    with pytest.raises(ValueError, match="has ended: success_correct"):
        talk.turn("more")
    whole = client.get(right.evaluation).verdict
    assert whole["status"] == "correct" and whole["conversation"] == talk.id


def test_a_conversation_in_async_form(client):
    async def talked():
        talk = await client.conversation_async("plain/two", turns=1, prompt_style="modelnew")
        assert "ModelNew" in talk.observation[-1]["content"]
        return await talk.turn_async("no code", finish_reason="length")

    result = asyncio.run(talked())
    assert (result.stop_reason, result.evaluation) == ("max_turns_reached", None)
    assert result.verdict["error_class"] == "missing_entry"


def test_two_clients_of_one_conversation_get_one_verdict(served, client):
    talk = client.conversation("plain/one")
    others = [client.resume(talk.id) for _ in range(2)]
    results = [None] * 2
    threads = [threading.Thread(target=lambda at=at: results.__setitem__(at, others[at].turn(WRITTEN.format(kernel(9)))))
               for at in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[0] == results[1] and results[0].verdict["status"] == "incorrect"
    late = ask(served, "POST", f"/v1/conversations/{talk.id}/turns", {"turn": 1, "completion": "other"})
    assert (late.status, late.body["error"]["class"]) == (409, "conflict")


def test_a_conversation_survives_a_kill_and_other_tasks(tmp_path):
    tasks = write_rows(tmp_path / "tasks.jsonl", ROWS[:1])
    with Served(tmp_path, "--tasks", tasks, "--correctness-trials", 2) as service:
        client = Client(service.ready().url, KEY)
        talk = client.conversation("plain/one")
        talk.turn(WRITTEN.format(kernel(7)))
        path = f"/v1/conversations/{talk.id}"
        sent = ask(service, "POST", f"{path}/turns", {"turn": 2, "completion": WRITTEN.format(kernel(1))})
        assert sent.status in (200, 202)
        service.kill()
        write_rows(tasks, [row("plain/one", reference(5))])
        service.start()
        service.ready()
        again = client.resume(talk.id)
        assert (again.stop_reason, again.best_turn) == ("success_correct", 2), again
        assert again.task_version == talk.task_version != client.task("plain/one").version


@pytest.mark.parametrize(("rows", "told"), [
    ([row("one", reference(1)), row("one", reference(2))], "two different tasks have the id"),
    ([{"id": "a", "reference_code": ""}], "--tasks has no task (bad rows: 1)"),
])
def test_bad_sources_are_told_at_the_start(tmp_path, rows, told):
    tasks = write_rows(tmp_path / "tasks.jsonl", rows)
    done = subprocess.run([program.binary(), "serve", "--port", "0", "--store", tmp_path / "s.db", "--tasks", tasks],
                          capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1 and told in done.stderr, done.stderr


def test_the_example_drives_a_conversation(tmp_path):
    pair = program.ROOT / "examples/pair/reference.py"
    with Served(tmp_path, "--tasks", pair, "--correctness-trials", 2) as service:
        service.ready()
        done = subprocess.run([sys.executable, program.ROOT / "examples/conversation/drive.py", service.url],
                              capture_output=True, text=True, check=False, timeout=300,
                              env={"PATH": "", "KERNELWRIGHT_EVALUATOR_KEY": KEY})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "turn 1: incorrect, reward 0.0\nturn 2: correct, reward 0.3\n" in done.stdout
