"""`kernelwright run` on the command line: arguments, exit codes, interruption, resuming, refusals."""
import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from . import killing, loop, program

EXPECTED = json.loads((program.ROOT / "examples/sample/expected.json").read_text(encoding="utf-8"))
SAMPLE = program.ROOT / "examples/sample/single_turn.json"
TASKS = 5
TURNS = 2 * 4 * TASKS  # no answer is right, so each conversation is held twice


class Quick(NamedTuple):
    """A few tasks whose answers all end at the static stage, and a Python that starts at once."""

    traces: Path
    words: tuple


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quick")
    return Quick(killing.quick_traces(folder, TASKS), ("--device", "cpu", "--python", killing.stand_in_python(folder)))


@pytest.fixture
def start(quick, scratch):
    """Start the loop on the quick tasks."""
    def call(output, *words, delay=0.0, traces=None):
        command = loop.command(traces or quick.traces, output, *quick.words, "--replay-delay", delay, *words)
        return program.start(command, scratch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return call


@pytest.fixture
def play(start):
    """Run the loop on the quick tasks to its end."""
    return lambda output, *words, **options: program.finish(start(output, *words, **options), 120)


def answered(output):
    """The time of each turn's answer: a turn that is asked again has another time."""
    return {key: row.answer for key, row in loop.Store(output).turns().items()}


# ---- arguments -----------------------------------------------------------------------------------------


def test_help_names_the_options(run):
    code, stdout, _ = run("run", "--help", limit=10)
    assert code == 0
    for option in ("--vllm-url", "--model", "--model-replay", "--output", "--kernelbook-samples", "--kernelbench-samples",
                   "--levels", "--traces", "--shuffle", "--seed", "--batch-size", "--save-interval", "--multi-turn",
                   "--max-turns", "--target-speedup", "--require-speed", "--samples-per-task", "--prompt-style",
                   "--system-prompt", "--temperature", "--top-p", "--chat-template-kwargs", "--reasoning-effort",
                   "--dry-run", "--limit", "--sample-id", "--json", "--fresh", "--config"):
        assert option in stdout, option


@pytest.mark.parametrize("words", [("--no-such-option",), ("--max-turns", "0"), ("--max-turns", "four"),
                                   ("--require-speed", "sometimes"), ("--prompt-style", "poem"), ("--batch-size", "0"),
                                   ("--chat-template-kwargs", "[1]"), ("--save-interval", "0")])
def test_wrong_words_are_exit_code_2(run, quick, tmp_path, words):
    code, _, stderr = run("run", "--traces", quick.traces, "--output", tmp_path / "x.json", *words, limit=20)
    assert code == 2 and words[0].lstrip("-") in stderr
    assert list(tmp_path.iterdir()) == []


def test_traces_that_are_not_there_are_named(play, tmp_path):
    code, _, stderr = play(tmp_path / "x.json", traces=tmp_path / "absent.json")
    assert code == 1 and "absent.json" in stderr
    assert not loop.folder_of(tmp_path / "x.json").exists()


@pytest.mark.parametrize("text, words", [("", "no rows"), ('{"a": ', "row 1"), ('[{"foo": 1}]', "pytorch_code")])
def test_a_file_without_a_task_leaves_no_run(play, tmp_path, text, words):
    (tmp_path / "bad.json").write_text(text)
    code, _, stderr = play(tmp_path / "x.json", traces=tmp_path / "bad.json")
    assert code == 1 and words in stderr
    assert [each.name for each in tmp_path.iterdir()] == ["bad.json"]


def test_dry_run_lists_the_tasks_and_touches_nothing(play, tmp_path):
    code, stdout, stderr = play(tmp_path / "x.json", "--dry-run")
    assert code == 0, stderr
    assert [f"sample/quick_{number}" in line for number, line in enumerate(stdout.splitlines())] == [True] * TASKS
    assert list(tmp_path.iterdir()) == []


def test_limit(play, tmp_path):
    output = tmp_path / "x.json"
    assert play(output, "--limit", 2).code == 0
    assert [trace["task_id"] for trace in loop.read(output)] == ["sample/quick_0", "sample/quick_1"]
    assert play(output).code == 0, "without the limit, the rest is done"
    assert len(loop.read(output)) == TASKS


@pytest.mark.parametrize("words", [(), ("--backward", "on")])
def test_the_prompt_asks_for_gradients_where_they_are_judged(play, tmp_path, words):
    output = tmp_path / "x.json"
    code, _, stderr = play(output, "--limit", 1, *words)
    assert code == 0, stderr
    system, user = (each["content"] for each in loop.read(output)[0]["prompt"])
    for text, part in ((system, "def triton_kernel_backward("), (system, "(torch.autograd.Function):"),
                       (user, "`triton_kernel_backward` returns them")):
        assert (part in text) == bool(words), text


def test_sample_id_chooses_one_task(play, tmp_path):
    output = tmp_path / "x.json"
    code, _, stderr = play(output, "--sample-id", "sample_quick_3")
    assert code == 0, stderr
    assert [trace["task_id"] for trace in loop.read(output)] == ["sample/quick_3"]


def test_a_sample_id_that_is_not_there_is_named(play, tmp_path):
    code, _, stderr = play(tmp_path / "x.json", "--sample-id", "no_such_task")
    assert code in (1, 2) and "no_such_task" in stderr


# ---- outputs -------------------------------------------------------------------------------------------


def test_summary_as_json(play, tmp_path):
    output = tmp_path / "x.json"
    code, stdout, stderr = play(output, "--json", "--multi-turn")
    summary = json.loads(stdout)
    assert code == 0, stderr
    assert (summary["total"], summary["ended"], summary["correct"], summary["turns"]) == (TASKS, TASKS, 0, TURNS)
    assert {"fast_1", "fast_2", "prompt_tokens", "completion_tokens", "generation_s", "elapsed_s"} <= set(summary)


def test_summary_in_words_says_where_the_files_are(play, tmp_path):
    output = tmp_path / "x.json"
    code, stdout, _ = play(output)
    assert code == 0 and str(TASKS) in stdout and "x.json" in stdout and "x.run" in stdout


def test_failed_traces_stand_beside_the_output(play, tmp_path):
    output = tmp_path / "x.json"
    assert play(output).code == 0
    failed = loop.read(tmp_path / "x_failed.json")
    assert sorted(trace["task_id"] for trace in failed) == [f"sample/quick_{number}" for number in range(TASKS)]
    assert {trace["result"]["error_class"] for trace in failed} == {"missing_entry"}


def test_the_configuration_lies_with_the_run(play, tmp_path):
    output = tmp_path / "x.json"
    assert play(output, "--max-turns", 3).code == 0
    assert "max-turns = 3" in (loop.folder_of(output) / "config.toml").read_text(encoding="utf-8")


# ---- going on ------------------------------------------------------------------------------------------


def test_no_server_is_exit_code_1_with_a_remedy(run, quick, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, and no process listens
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        code, _, stderr = run(*loop.command(quick.traces, tmp_path / "x.json", *quick.words, "--vllm-url", url)[1:],
                              limit=60)
    assert code == 1 and url.removesuffix("/v1") in stderr and "->" in stderr
    assert not loop.folder_of(tmp_path / "x.json").exists()


@pytest.mark.parametrize("tasks", [2, TASKS])
def test_a_wrong_key_is_no_interruption(run, quick, tmp_path, tasks):
    output = tmp_path / "x.json"
    with loop.refusing_server(401, "Incorrect API key provided") as url:
        code, _, stderr = run(*loop.command(quick.traces, output, *quick.words, "--vllm-url", url, "--limit", tasks)[1:],
                              limit=60)
    assert code == 1, stderr
    assert "401: Incorrect API key provided" in stderr and "-> set OPENAI_API_KEY" in stderr
    assert "interrupted" not in stderr


def test_a_server_that_limits_requests_is_busy(run):
    with loop.refusing_server(429, "slow down") as url:
        code, stdout, stderr = run("doctor", "--vllm-url", url, limit=60)
    last = stdout.strip().splitlines()[-2:]
    assert code == 0 and last[0].startswith("busy") and "slow down" in last[0], stdout + stderr
    assert "->" in last[1]


def test_a_run_that_is_done_asks_nothing_again(play, tmp_path):
    output = tmp_path / "x.json"
    assert play(output, "--multi-turn").code == 0
    before, text = answered(output), output.read_bytes()
    assert len(before) == TURNS
    assert play(output, "--multi-turn").code == 0
    assert answered(output) == before and output.read_bytes() == text


def test_ctrl_c_says_how_to_go_on_and_the_same_command_does(start, tmp_path):
    output = tmp_path / "x.json"
    process = start(output, "--multi-turn", delay=0.1)
    assert loop.wait_for(lambda: loop.Store(output).judged() >= 3, process, 30)
    os.kill(process.pid, signal.SIGINT)
    code, _, stderr = program.finish(process, 30)
    assert code == 130
    kept = rf"{loop.folder_of(output)}/run\.db keeps all answers so far \(complete traces: \d+ of {TASKS}\)"
    assert re.search(f"interrupted; {kept}; the same command goes on", stderr), stderr
    before = {key: row for key, row in loop.Store(output).turns().items() if row.judged}
    assert 3 <= len(before) < TURNS

    code, _, stderr = program.finish(start(output, "--multi-turn"), 60)
    assert code == 0, stderr
    after = loop.Store(output).turns()
    assert len(after) == TURNS
    assert {key: (after[key].answer, after[key].verdict) for key in before} == {
        key: (row.answer, row.verdict) for key, row in before.items()}


def test_ctrl_c_does_not_wait_for_an_answer(start, tmp_path):
    process = start(tmp_path / "x.json", "--multi-turn", delay=60)
    assert loop.wait_for(lambda: loop.folder_of(tmp_path / "x.json").exists(), process, 30)
    os.kill(process.pid, signal.SIGINT)
    assert program.finish(process, 10).code == 130


def test_two_programs_on_one_run_are_refused(start, tmp_path):
    output = tmp_path / "x.json"
    first = start(output, "--multi-turn", delay=0.1)
    assert loop.wait_for(lambda: loop.Store(output).judged() >= 1, first, 30)
    code, _, stderr = program.finish(start(output, "--multi-turn"), 30)
    assert code == 1 and "x.run" in stderr and f"process {first.pid}" in stderr and "->" in stderr
    code, _, stderr = program.finish(first, 60)
    assert code == 0, stderr
    assert len(answered(output)) == TURNS


def test_other_settings_are_refused_with_the_difference(play, tmp_path):
    output = tmp_path / "x.json"
    assert play(output, "--multi-turn", "--max-turns", 2).code == 0
    before = answered(output)
    code, _, stderr = play(output, "--multi-turn", "--max-turns", 3)
    assert code == 1 and "max-turns" in stderr and "2" in stderr and "3" in stderr and "--fresh" in stderr
    assert answered(output) == before


def test_fresh_starts_anew_and_keeps_the_old_run_aside(play, tmp_path):
    output = tmp_path / "x.json"
    assert play(output, "--max-turns", 2).code == 0
    before = answered(output)
    code, _, stderr = play(output, "--max-turns", 3, "--fresh")
    assert code == 0, stderr
    after = answered(output)
    assert set(after) == set(before) and all(after[key] != before[key] for key in after)
    aside = loop.folder_of(output) / "run.db.1"
    assert {key: row.answer for key, row in loop.Store(output).turns(aside).items()} == before


def test_a_file_that_is_no_run_is_left_as_it_is(play, tmp_path):
    folder = loop.folder_of(tmp_path / "x.json")
    folder.mkdir()
    (folder / "run.db").write_bytes(b"this is a letter, not a database\n" * 200)
    before = (folder / "run.db").read_bytes()
    code, _, stderr = play(tmp_path / "x.json")
    assert code == 1 and "run.db" in stderr
    assert (folder / "run.db").read_bytes() == before


# ---- the sample, in single turns -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample(tmp_path_factory, scratch):
    """The sample's tasks, answered with its own completions."""
    output = tmp_path_factory.mktemp("sample") / "traces.json"
    process = program.start(loop.command(SAMPLE, output), scratch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    done = program.finish(process)
    assert done.code == 0, done.stderr
    return output


def expected_of(trace):
    """The entry of expected.json for the completion in a trace."""
    return [row for row in EXPECTED.values() if completion_of(row["completion"]) == trace["full_completion"]]


def completion_of(name):
    return Path(program.ROOT / "examples/sample/completions" / name).read_text(encoding="utf-8")


def test_the_samples_verdicts_are_those_expected(sample):
    recorded = json.loads(SAMPLE.read_text(encoding="utf-8"))
    traces = loop.read(sample)
    completions = [sorted(trace["full_completion"] for trace in each) for each in (traces, recorded)]
    assert completions[0] == completions[1], "every recorded answer was asked for once"
    for trace in traces:
        result = trace["result"]
        wanted = {(row["status"], row["error_class"]) for row in expected_of(trace)}
        assert (result["status"], result["error_class"]) in wanted, (trace["sample_key"], result["error"])


def test_the_sample_failed_where_nothing_counts(sample):
    failed = loop.read(sample.with_name("traces_failed.json"))
    wrong = [trace for trace in loop.read(sample)
             if not (trace["result"]["correctness"] and trace["result"]["counts"])]
    assert [trace["full_completion"] for trace in failed] == [trace["full_completion"] for trace in wrong]
