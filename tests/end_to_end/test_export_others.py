"""Files for other programs: logs of inspect_ai, trajectories in ATIF, run folders of KernelBench, and their figures."""
import json
import os
import stat
import sys
import zipfile

import jsonschema
import pytest

from . import killing, loop, program

RECORDED = program.ROOT / "examples" / "loop" / "conversations.json"
SCHEMA = json.loads((program.ROOT / "tests" / "end_to_end" / "atif.schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def export(run, tmp_path):
    return lambda output, form, *words, source=RECORDED: run("export", source, "--format", form, "--output",
                                                            tmp_path / output, *words, limit=60)


def test_a_log_has_every_trace(export, tmp_path):
    code, stdout, stderr = export("x.eval", "inspect")
    assert code == 0 and "22 traces" in stdout, stderr
    with zipfile.ZipFile(tmp_path / "x.eval") as log:
        assert log.testzip() is None
        names = log.namelist()
        samples = [name for name in names if name.startswith("samples/")]
        summaries = json.loads(log.read("summaries.json"))
        header = json.loads(log.read("header.json"))
    assert len(samples) == len(summaries) == header["results"]["total_samples"] == len(loop.read(RECORDED))
    assert len(set(names)) == len(names) and header["status"] == "success"


def test_trajectories_have_the_form_of_atif(export, tmp_path):
    assert export("x.jsonl", "atif").code == 0
    lines = (tmp_path / "x.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(loop.read(RECORDED))
    for line in lines:
        made = json.loads(line)
        jsonschema.validate(made, SCHEMA)
        assert [step["step_id"] for step in made["steps"]] == list(range(1, len(made["steps"]) + 1))
        for step in made["steps"]:
            only_of_agents = {"model_name", "reasoning_content", "metrics", "tool_calls", "reasoning_effort"}
            assert step["source"] == "agent" or not only_of_agents & set(step)


@pytest.mark.parametrize("name, form", [("x.eval", "inspect"), ("x.jsonl", "atif")])
def test_only_an_own_file_is_replaced(export, tmp_path, name, form):
    assert export(name, form).code == export(name, form).code == 0
    for text in ("notes", "PK\x03\x04 notes of somebody else about a file", '{"schema_version":"ATIF-v1.8"}'):
        (tmp_path / name).write_text(text, encoding="utf-8")
        code, _, stderr = export(name, form)
        assert code == 1 and "it looks like" in stderr
        assert (tmp_path / name).read_text(encoding="utf-8") == text


@pytest.mark.parametrize("words", [("--best-only",), ("--filter", "none"), ("--reasoning", "none"), ("--rows", "turn"),
                                   ("--max-bytes", "1K"), ("--include-benchmarks",)])
def test_options_of_rows_are_refused(export, words):
    code, _, stderr = export("x.eval", "inspect", *words)
    assert code == 2 and "options of rows" in stderr


@pytest.mark.parametrize("name, form", [("x.zip", "inspect"), ("x.parquet", "atif")])
def test_other_endings_are_refused(export, name, form):
    assert export(name, form).code == 2


def test_a_run_becomes_a_run_folder_of_kernelbench(export, run, tmp_path):
    traces = loop.read(RECORDED)[:2]
    for number, trace in enumerate(traces, 1):
        trace.update(source="kernelbench", level="1", problem_id=str(number), sample_key=f"kernelbench_{number}",
                     task_id=f"kernelbench/1/{number}")
    source = loop.write(tmp_path / "kb.json", traces)
    assert export("kb", "kernelbench", source=source).code == 0
    assert (tmp_path / "kb" / "level_1_problem_1_sample_0_kernel.py").read_text(encoding="utf-8")
    results = json.loads((tmp_path / "kb" / "eval_results.json").read_text(encoding="utf-8"))
    assert sorted(results) == ["1", "2"] and results["1"][0]["sample_id"] == 0
    code, stdout, stderr = run("explain", tmp_path / "kb" / "eval_results.json", limit=60)
    assert code == 0 and "level_1_problem_2_sample_0" in stdout and "KernelBench" in stderr
    code, _, stderr = export("kb", "kernelbench", source=source)
    assert code == 1 and "new folder" in stderr
    code, _, stderr = export("none", "kernelbench")
    assert code == 1 and not (tmp_path / "none").exists()


def test_results_of_kernelbench_are_scored_as_recorded(run, tmp_path):
    results = {str(number): [{"sample_id": 0, "compiled": True, "correctness": number % 2 == 0, "metadata": {},
                              "runtime": 1.0, "runtime_stats": {}, "ref_runtime": 2.0}] for number in range(8)}
    path = tmp_path / "eval_results.json"
    path.write_text(json.dumps(results, indent=4), encoding="utf-8")
    output = tmp_path / "score.json"
    code, _, stderr = run("score", path, "--output", output, limit=60)
    assert code == 1 and "--recorded" in stderr
    code, _, stderr = run("score", path, "--recorded", "--output", output, limit=60)
    assert code == 0, stderr
    text = output.with_suffix(".md").read_text(encoding="utf-8")
    assert "recorded" in text and json.loads(output.read_text(encoding="utf-8"))


STAND_IN = f"""#!{sys.executable} -I
import json, os, sys
if "kernelwright._reporting" in sys.argv:
    os.execv({sys.executable!r}, [{sys.executable!r}, *sys.argv[1:]])
def tell(event, **fields):
    os.write(3, (json.dumps({{"event": event, **fields}}) + "\\n").encode())
job = json.load(open(sys.argv[4]))
for number in range(1, 4):
    tell("step", step=number, of=3, loss=2.5, learning_rate=1e-4, gradient_norm=1.0, tokens_per_s=1.0, memory_bytes=None,
         remaining_s=9.0, epoch=0.5)
open(os.path.join(job["output"], "adapter_model.safetensors"), "w").close()
tell("done", steps=3, loss=0.25, seconds=1.5, path=job["output"])
"""


@pytest.fixture
def train(run, tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"prompt": "a", "completion": "b"}\n', encoding="utf-8")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}", encoding="utf-8")
    python = tmp_path / "python"
    python.write_text(STAND_IN, encoding="utf-8")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    return lambda *words: run("train", "--model", tmp_path / "model", "--data", tmp_path / "rows.jsonl", "--output",
                              tmp_path / "out", "--python", python, *words, limit=60)


def test_train_reports_each_step(train, tmp_path):
    code, _, stderr = train("--report-to", f"tensorboard={tmp_path / 'events'}")
    assert code == 0, stderr
    path, = (tmp_path / "events").iterdir()
    data = path.read_bytes()
    assert data.count(b"train/loss") == 3 and b"train/memory_bytes" not in data


def test_run_reports_each_trace(run, tmp_path):
    stand_in = killing.stand_in_python(tmp_path)
    python = tmp_path / "either"  # the judge's stand-in starts at once, and cannot report
    python.write_text(f'#!/bin/sh\ncase "$*" in *_reporting*) exec "{sys.executable}" "$@";; esac\n'
                      f'exec "{stand_in}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    traces, events = killing.quick_traces(tmp_path, 3), tmp_path / "events"

    def play(count):
        return run(*loop.command(traces, tmp_path / "x.json", "--device", "cpu", "--python", python, "--multi-turn", "--limit",
                                 count, "--report-to", f"tensorboard={events}")[1:], limit=60)
    for count in (1, 3):
        code, _, stderr = play(count)
        assert code == 0, stderr
    assert [path.read_bytes().count(b"run/correct_share") for path in sorted(events.iterdir())] == [1, 2]


def test_a_target_that_cannot_be_opened_ends_the_training_before_it_begins(train, tmp_path):
    code, _, stderr = train("--report-to", "tensorboard=/dev/null/x")
    assert code == 1 and "--report-to" in stderr and "/dev/null/x" in stderr
    assert not (tmp_path / "out").exists() or not os.listdir(tmp_path / "out")


@pytest.mark.parametrize("target", ["wandb", "tensorboard", "tensorboard=", "trackio="])
def test_wrong_targets_are_usage_errors(train, target):
    code, _, stderr = train("--report-to", target)
    assert code == 2 and "--report-to" in stderr


def test_a_dry_run_reports_nothing(train, tmp_path):
    assert train("--report-to", f"tensorboard={tmp_path / 'events'}", "--dry-run").code == 2
    assert not (tmp_path / "events").exists()
