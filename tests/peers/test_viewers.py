"""What is exported and reported, read by the programs that it is for: inspect_ai, TensorBoard, trackio."""
import json
import os
import subprocess
import sys

import pytest
from end_to_end import program

RECORDED = program.ROOT / "examples" / "loop" / "conversations.json"
LINES = "".join(json.dumps({"step": step, "time": 1000.0 + step, "metrics": {"train/loss": 1 / step}}) + "\n"
                for step in (1, 2, 3))


@pytest.fixture(scope="module")
def log(call, tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "x.eval"
    code, _, stderr = call("export", RECORDED, "--format", "inspect", "--output", path)
    assert code == 0, stderr
    return str(path)


def test_inspect_opens_the_log(log):
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    header = read_eval_log(log, header_only=True)
    assert header.status == "success" and header.results.total_samples == len(recorded)
    assert header.eval.dataset.samples == len(recorded) and header.results.scores[0].metrics
    listed = read_eval_log_sample_summaries(log)
    assert [each.turn_count for each in listed] == [len(each["turns"]) for each in recorded]
    assert len(read_eval_log(log).samples) == len(recorded)


def test_inspect_reads_one_sample_alone(log):
    from inspect_ai.log import read_eval_log_sample, read_eval_log_sample_summaries
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))[1]
    listed = read_eval_log_sample_summaries(log)[1]
    sample = read_eval_log_sample(log, id=listed.id, epoch=listed.epoch)
    calls = [event for event in sample.events if event.event == "model"]
    assert [call.output.completion for call in calls] == [turn["full_completion"] for turn in recorded["turns"]]
    # Of each call, what the model was sent: the prompt, and each earlier answer with its feedback.
    prompt = len(calls[0].input)
    assert [len(call.input) for call in calls] == [prompt + 2 * turn for turn in range(len(calls))]
    assert calls[-1].input[-1].content == recorded["turns"][-2]["feedback_given"]
    assert sample.messages[-1].text == recorded["turns"][-1]["full_completion"]
    assert recorded["turns"][0]["reasoning"] in str(sample.messages[prompt].content)


def report(folder, *words):
    environment = {**os.environ, "PYTHONPATH": str(program.ROOT / "python"), "TRACKIO_DIR": str(folder / "trackio")}
    done = subprocess.run([sys.executable, "-P", "-m", "kernelwright._reporting", "--name", "mine", *map(str, words)],
                          input=LINES, capture_output=True, text=True, timeout=120, env=environment, check=False)
    assert (done.returncode, done.stdout) == (0, "ready\n"), done.stderr


def test_tensorboard_reads_the_events(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    report(tmp_path, "--tensorboard", tmp_path / "events")
    found = EventAccumulator(str(tmp_path / "events"))
    found.Reload()
    assert [(each.step, each.wall_time, each.value) for each in found.Scalars("train/loss")] == [
        (1, 1001.0, 1.0), (2, 1002.0, 0.5), (3, 1003.0, pytest.approx(1 / 3))]


def test_trackio_stores_the_figures(tmp_path, monkeypatch):
    monkeypatch.delenv("TRACKIO_SPACE_ID", raising=False)
    for _ in range(2):  # a resumed training goes on with its run
        report(tmp_path, "--trackio", "kernels")
    read = ("import json; from trackio.sqlite_storage import SQLiteStorage as S;"
            "print(json.dumps([S.get_runs('kernels'), S.get_logs('kernels', 'mine')]))")
    done = subprocess.run([sys.executable, "-c", read], capture_output=True, text=True, timeout=120, check=True,
                          env={**os.environ, "TRACKIO_DIR": str(tmp_path / "trackio")})
    runs, rows = json.loads(done.stdout.splitlines()[-1])
    assert runs == ["mine"] and {row["step"] for row in rows} == {1, 2, 3}
    assert rows[0]["train/loss"] == 1.0
