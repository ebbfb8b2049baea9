"""Rollouts of the package verifiers: its own harness asks a scripted model, a real service judges the last reply.

    verifiers_rollout.py ENVIRONMENT   a Python environment with verifiers, made by verifiers_rollout.sh
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from four_turns import RIGHT, ROOT, TURNS, WRONG

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "python")]

from end_to_end import program
from end_to_end.fake_model import FakeModel
from end_to_end.served import KEY, Served

ANSWERS = [RIGHT, WRONG, "I cannot do that."]


def rollouts(environment, folder, service, answers, *words):
    """The traces of one rollout for each answer, as verifiers stores them."""
    waiting = list(answers)
    with FakeModel(lambda path, body: waiting.pop(0)) as model:
        command = [environment / "bin" / "vf-eval", "kernel_tasks", "--model", "scripted", "--client.base-url", model.url,
                   "--client.api-key-var", "NO_KEY", "--num-rollouts", str(len(waiting)), "--max-concurrent", "1",
                   "--env.agent.harness.id", "null", "--env.agent.runtime.type", "subprocess",
                   "--env.taskset.task.evaluator", service.url, "--no-rich", "--no-push", "--output-dir", folder, *words]
        done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, env={
            **os.environ, "NO_KEY": "none", "KERNELWRIGHT_EVALUATOR_KEY": KEY,
            "PATH": f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([str(ROOT / "examples" / "trainers"), str(ROOT / "python")])})
    found = [json.loads(line) for file in folder.rglob("traces.jsonl") for line in file.read_text("utf-8").splitlines()]
    assert done.returncode == 0 and len(found) == len(answers) and not waiting, f"{done.stdout[-2000:]}{done.stderr[-4000:]}"
    return [trace for episode in found for trace in episode.get("traces", [episode])]


def main():
    environment = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("service", "judged", "late"):
            (folder / part).mkdir()
        with Served(folder / "service", "--tasks", TURNS / "reference.py", "--correctness-trials", 2) as service:
            service.ready()
            judged = rollouts(environment, folder / "judged", service, ANSWERS)
            late = rollouts(environment, folder / "late", service, [ANSWERS[0] + "\n"], "--env.taskset.task.wait-s", "0.001")
    for trace in [*judged, *late]:
        print({name: trace.get(name) for name in ("rewards", "metrics", "stop_condition")},
              [each["message"] for each in trace["errors"]])
    assert [each["rewards"]["kernel"]["score"] for each in judged] == [0.3, 0, 0], "without a GPU no speed is known"
    assert [each["metrics"]["correct"] for each in judged] == [1, 0, 0]
    assert not any(each["errors"] for each in judged)
    assert late[0]["rewards"] == {"kernel": None} and late[0]["errors"][0]["type"] == "TaskError"
    assert "not judged within 0.001 s" in late[0]["errors"][0]["message"]


if __name__ == "__main__":
    assert program.DEVICE == "cpu", "the rewards are those without a GPU"
    main()
    print("verifiers gets the service's rewards, and an error where there is none")
