"""`export --format harbor`: the tasks' files, and tests/test.sh against a real service and with one of its own."""
import json
import os
import subprocess
import sys
import tomllib

import pytest

from . import killing, loop, program
from .served import KEY, Served, free_port

ROWS = [{"task_id": name, "reference_code": killing.REFERENCE.format(number=number), "kernel_code": "# HIDDEN",
         "note": "HIDDEN"} for number, name in enumerate(["plain/one", "../two", "PLAIN/ONE"], 1)]
RIGHT, WRONG = killing.KERNEL.format(added=1), killing.KERNEL.format(added=2)
# The keys of schema 1.4, as harbor 0.24.0 has them; tests/peers/harbor_tasks.sh asks harbor itself.
KEYS = {
    "": {"schema_version", "artifacts", "task", "metadata", "agent", "verifier", "environment", "solution"},
    "task": {"name", "version", "description", "authors", "keywords"},
    "agent": {"timeout_sec", "user", "network_mode", "allowed_hosts"},
    "verifier": {"timeout_sec", "user", "network_mode", "allowed_hosts", "env", "environment_mode", "environment", "collect"},
    "environment": {"build_timeout_sec", "docker_image", "os", "cpus", "memory_mb", "storage_mb", "gpus", "gpu_types", "env",
                    "workdir", "network_mode", "allowed_hosts"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("harbor")
    program.write_rows(folder / "tasks.jsonl", ROWS)
    return folder


@pytest.fixture(scope="module")
def export(run, folder):
    def call(output, *words, source=folder / "tasks.jsonl"):
        return run("export", source, "--format", "harbor", "--output", folder / output, *words, limit=60)
    return call


@pytest.fixture(scope="module")
def tasks(export, folder):
    code, stdout, stderr = export("out")
    assert code == 0 and "3 tasks" in stdout, stderr
    return folder / "out"


@pytest.fixture(scope="module")
def service(folder):
    with Served(folder, "--tasks", folder / "tasks.jsonl", "--correctness-trials", 2) as service:
        yield service.ready()


def there_is(service):
    return {"KERNELWRIGHT_EVALUATOR": service.url, "KERNELWRIGHT_EVALUATOR_KEY": KEY}


def named(folder, task_id):
    asked = {json.loads(path.read_text())["task_id"]: path.parents[1] for path in folder.glob("*/tests/task.json")}
    return asked[task_id]


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def judged(task, logs, kernel=None, **environment):
    """Run tests/test.sh as Harbor does: (exit code, reward.json or None, verdict.json or None, its output)."""
    logs.mkdir()
    candidate = logs / "kernel.py"
    if kernel is not None:
        candidate.write_text(kernel, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "KERNELWRIGHT_LOGS": str(logs / "out"), "KERNELWRIGHT_CANDIDATE": str(candidate),
                   **environment}
    done = subprocess.run([task / "tests" / "test.sh"], env=environment, capture_output=True, text=True, timeout=120,
                          check=False)
    found = [json.loads(path.read_text()) if path.exists() else None
             for path in (logs / "out" / "reward.json", logs / "out" / "verdict.json")]
    return done.returncode, *found, done.stdout + done.stderr


def test_a_task_has_the_keys_of_the_format(tasks):
    for path in tasks.glob("*/task.toml"):
        config = tomllib.loads(path.read_text(encoding="utf-8"))
        for name, keys in KEYS.items():
            assert set(config[name] if name else config) <= keys, name
        assert set(config["verifier"]["environment"]) <= KEYS["environment"]
        assert config["task"]["name"] == f"kernelwright/{path.parent.name}"
        assert (config["schema_version"], config["verifier"]["environment_mode"]) == ("1.4", "separate")
        assert (path.parent / "instruction.md").is_file() and (path.parent / "environment" / "Dockerfile").is_file()


def test_nothing_hidden_is_written_and_names_stay_in_the_folder(tasks, folder):
    assert len(list(tasks.iterdir())) == len({each.name.lower() for each in tasks.iterdir()}) == 3
    assert sorted(each.name for each in folder.iterdir() if each.is_dir() and each.name != "out") == []
    for name, data in files_of(tasks).items():
        assert b"HIDDEN" not in data, name
        if "/tests/" in name or "/environment/" in name:
            assert b"reference_impl" not in data and KEY.encode() not in data, name


def test_the_same_source_gives_the_same_bytes(export, tasks, folder):
    assert export("again").code == 0
    assert files_of(folder / "again") == files_of(tasks)
    code, _, stderr = export("out")
    assert code == 1 and "new folder" in stderr


def test_a_service_judges(tasks, folder, service):
    task, there = named(tasks, "plain/one"), there_is(service)
    code, reward, verdict, said = judged(task, folder / "right", RIGHT, **there)
    assert code == 0 and reward == {"reward": 0.3, "correct": 1, "counts": 1, "trust_level": 1}, said
    assert verdict["status"] == "correct" and verdict["task_version"] and KEY not in said
    code, reward, verdict, said = judged(task, folder / "wrong", WRONG, **there)
    assert code == 0 and reward["reward"] == reward["correct"] == 0 and verdict["error_class"] == "wrong_value", said
    code, reward, _, said = judged(task, folder / "tags", f"<triton>\n{RIGHT}\n</triton>", **there)
    assert code == 0 and reward["correct"] == 1, said
    code, reward, verdict, _ = judged(task, folder / "none", **there)
    assert (code, reward["reward"], verdict["error_class"]) == (0, 0, "missing_entry")
    code, reward, verdict, said = judged(task, folder / "key", RIGHT, **{**there, "KERNELWRIGHT_EVALUATOR_KEY": "another"})
    assert code == 1 and reward is None and verdict is None and "401" in said


def test_without_a_service_there_is_no_reward(tasks, folder):
    there = {"KERNELWRIGHT_EVALUATOR": f"http://127.0.0.1:{free_port()}", "KERNELWRIGHT_WAIT_S": "2"}
    code, reward, verdict, said = judged(named(tasks, "plain/one"), folder / "nobody", RIGHT, **there)
    assert code == 1 and reward is None and verdict is None and "the time is up" in said


def test_the_verifier_judges_by_itself(export, folder):
    code, _, stderr = export("local", "--judge", "local", "--verifier-image", "kernelwright:0.1.0")
    assert code == 0, stderr
    task = named(folder / "local", "plain/one")
    serve = f"{program.binary()} serve --device cpu --python {sys.executable} --correctness-trials 2"
    code, reward, _, said = judged(task, folder / "itself", RIGHT, KERNELWRIGHT_SERVE=serve, HOME=str(folder))
    assert code == 0 and reward["reward"] == 0.3, said
    code, reward, _, said = judged(task, folder / "no_program", RIGHT, KERNELWRIGHT_SERVE="/nowhere/kernelwright serve")
    assert code == 1 and reward is None and "cannot be started" in said


def test_a_verified_kernel_is_the_solution(export, tasks, folder, service):
    judged(named(tasks, "plain/one"), folder / "verified", RIGHT, **there_is(service))
    ended = service.asked("/v1/evaluations")["evaluations"]
    verdict, = [each for each in (service.asked(f"/v1/evaluations/{one['id']}")["verdict"] for one in ended)
                if each["correctness"]][-1:]
    traces = [loop.conversation(f"t{number}", killing.REFERENCE.format(number=number), [code])
              for number, code in enumerate([WRONG, RIGHT])]
    traces[1]["turns"][0]["result"] = verdict
    source = loop.write(folder / "traces.json", traces)
    code, stdout, stderr = export("solved", source=source)
    assert code == 0 and "2 tasks" in stdout and "1 of them with a solution" in stdout, stderr
    solved, = (folder / "solved").glob("*/solution/kernel.py")
    assert solved.read_text(encoding="utf-8") == RIGHT
    assert os.access(solved.with_name("solve.sh"), os.X_OK)


def test_the_kernel_of_a_row_with_its_verdict_is_the_solution(export, folder):
    verdicts = [{"status": "correct", "counts": True}, {"status": "incorrect", "counts": False}, None]
    source = folder / "pairs.jsonl"
    program.write_rows(source, [{"id": f"pair{number}", "reference_code": killing.REFERENCE.format(number=number),
                                 "kernel_code": RIGHT, "verdict": verdict} for number, verdict in enumerate(verdicts)])
    code, stdout, stderr = export("paired", source=source)
    assert code == 0 and "3 tasks" in stdout and "1 of them with a solution" in stdout, stderr


@pytest.mark.parametrize("words", [("--best-only",), ("--judge", "local"), ("--gpus", 1), ("--org", "a/b"),
                                   ("--image", "a\nRUN b")])
def test_options_that_exclude_each_other_are_refused(export, words, folder):
    assert export("refused", *words).code == 2 and not (folder / "refused").exists()


def test_options_of_harbor_belong_to_harbor(run, folder):
    code, _, stderr = run("export", program.ROOT / "examples" / "loop" / "conversations.json", "--format", "messages",
                          "--output", folder / "x.jsonl", "--org", "a", limit=60)
    assert code == 2 and "options of harbor" in stderr
