#!/usr/bin/env python3
"""Drives conversations of `kernelwright serve` with a model, by Python's standard library alone.

    kernelwright serve --port 8471 --tasks examples/pair/reference.py
    examples/conversation/drive.py http://127.0.0.1:8471

A scripted model answers first with a wrong kernel, then with that of a file. Replace `answer` by a call of your model.
"""
import argparse
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

PAIR = Path(__file__).resolve().parents[1] / "pair"
WAIT_S = 60


class Service:
    def __init__(self, url):
        self.url, self.key = url.rstrip("/"), os.environ.get("KERNELWRIGHT_EVALUATOR_KEY")

    def call(self, method, path, body=None):
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=WAIT_S + 30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            with refused:
                sys.exit(f"{method} {path}: {refused.code} {refused.read().decode(errors='replace')}")


def answer(messages, kernel):
    """The scripted model is wrong in its first turn and right afterwards; your model reads `messages`."""
    turn = sum(message["role"] == "assistant" for message in messages) + 1
    code = kernel if turn > 1 else kernel.replace("x * x + shift", "x * x - shift")
    return f"<triton>\n{code}\n</triton>"


def converse(service, task_id, kernel, turns):
    state = service.call("POST", "/v1/conversations", {"task_id": task_id, "turns": turns})
    print(f"{state['id']} about {state['task_id']} ({state['task_version']})")
    path, messages = f"/v1/conversations/{state['id']}/turns", list(state["observation"])
    while not state["done"]:
        completion = answer(messages, kernel)
        turn = {"turn": state["turn"], "completion": completion, "wait_s": WAIT_S}
        state = service.call("POST", path, turn)
        while state["state"] == "judging":  # the same turn attaches
            state = service.call("POST", path, turn)
        result = state["result"]
        if not result["judged"]:
            print(f"turn {result['turn']} was not judged: {state['not_judged'] or state['why']}")
            continue  # no fault of the completion: the same turn again
        print(f"turn {result['turn']}: {result['verdict']['status']}, reward {result['reward']}")
        messages += [{"role": "assistant", "content": completion}, *state["observation"]]
    print(f"ended: {state['stop_reason']}, best turn {state['best_turn']}")
    return state


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--task", help="id of the task [the first of the service]")
    parser.add_argument("--kernel", type=Path, default=PAIR / "kernel.py", help="the right answer of the scripted model")
    parser.add_argument("--turns", type=int, default=4)
    flags = parser.parse_args()
    service = Service(flags.url)
    tasks = service.call("GET", "/v1/tasks?limit=1")["tasks"]
    if not tasks and not flags.task:
        sys.exit("the service has no tasks: start it with --tasks")
    ended = converse(service, flags.task or tasks[0]["id"], flags.kernel.read_text(encoding="utf-8"), flags.turns)
    return 0 if ended["stop_reason"].startswith("success") else 1


if __name__ == "__main__":
    sys.exit(main())
