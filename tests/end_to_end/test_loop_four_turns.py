"""The loop from end to end: four answers of a scripted model to one task, wrong in three ways and then right."""
import json
import os
import signal
import subprocess
import sys
import tomllib

import pytest

from . import loop, program

CPU, GPU = loop.FOUR_TURNS / "cpu.json", loop.FOUR_TURNS / "gpu.json"
ROWS = tomllib.loads((loop.FOUR_TURNS / "turns.toml").read_text(encoding="utf-8"))["turn"]
ALWAYS = ("--multi-turn", "--max-turns", "4", "--require-speed", "always")
RECORDED = ["sample_key", "source", "level", "name", "problem_id", "pytorch_code", "num_turns", "stop_reason",
            "final_triton_code", "final_result", "turns", "full_messages", "timestamp"]
RECORDED_TURN = ["turn", "reasoning", "triton_code", "full_completion", "result", "feedback_given"]
RECORDED_RESULT = {"kernel_name", "timestamp", "correctness", "speedup", "reference_time_ms", "kernel_time_ms", "fast_0",
                   "fast_1", "fast_2", "error"}
FEEDBACK_LIMIT = 8192


class Played:
    """One run of the conversation."""

    def __init__(self, folder, scratch, traces, *words):
        self.output = folder / "traces.json"
        process = program.start(loop.command(traces, self.output, *words), scratch, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.code, self.stdout, self.stderr = program.finish(process)
        assert self.code == 0, self.stderr
        [self.trace] = loop.read(self.output)
        self.turns = self.trace["turns"]


def told(turn):
    """Status and error class of a turn, in the terms of turns.toml."""
    result = turn["result"]
    return result["status"] if result["status"] == "correct" else f"{result['status']}/{result['error_class']}"


@pytest.fixture(scope="module")
def played(tmp_path_factory, scratch):
    """The whole conversation without a GPU, where correct is not enough."""
    return Played(tmp_path_factory.mktemp("four_turns"), scratch, CPU, *ALWAYS, "--device", "cpu")


def test_the_recorded_conversation_is_fresh():
    done = subprocess.run([sys.executable, loop.FOUR_TURNS / "build.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---- the trace -----------------------------------------------------------------------------------------


def test_every_turn_gets_the_verdict_that_is_right(played):
    assert len(played.turns) == len(ROWS)
    for turn, row in zip(played.turns, ROWS):
        assert told(turn) in row["cpu"], turn["result"]
        assert turn["result"]["shapes"] == "given"
        assert turn["result"]["speedup"] is None and turn["result"]["timing"]["why_null"]


def test_the_conversation_ends_at_the_cap(played):
    assert played.trace["stop_reason"] == "max_turns_reached"
    assert played.trace["num_turns"] == 4


def test_answers_and_reasoning_are_kept_as_they_came(played):
    [recorded] = loop.read(CPU)
    for turn, original in zip(played.turns, recorded["turns"]):
        assert turn["full_completion"] == original["full_completion"]
        assert turn["reasoning"] == original["reasoning"]
        assert turn["triton_code"].strip() == original["triton_code"].strip()


def test_feedback_says_where_the_output_differs(played):
    feedback, seen = played.turns[0]["feedback_given"], played.turns[0]["result"]["comparison"]
    assert seen["mismatched_share"] > 0.5
    assert "differ" in feedback
    index = ", ".join(str(each) for each in seen["first_mismatch"]["index"])
    assert f"[{index}]" in feedback and "expected" in feedback


def test_feedback_names_the_fault_and_its_line(played):
    feedback = played.turns[1]["feedback_given"]
    assert "out-of-bounds" in feedback and "relu_sum_kernel" in feedback and "line 10" in feedback


def test_feedback_says_that_speed_is_unknown(played):
    assert "not measured" in played.turns[2]["feedback_given"]


def test_the_last_turn_has_no_feedback(played):
    assert played.turns[3]["feedback_given"] is None


def test_feedback_is_bounded_and_was_really_sent(played):
    messages = played.trace["full_messages"]  # as recorded: the messages before the last answer
    assert [each["role"] for each in messages] == ["system", "user"] + ["assistant", "user"] * 3
    sent = [each["content"] for each in messages if each["role"] == "user"][1:]
    assert sent == [turn["feedback_given"] for turn in played.turns[:3]]
    assert all(0 < len(each) <= FEEDBACK_LIMIT for each in sent)
    answers = [each["content"] for each in messages if each["role"] == "assistant"]
    assert answers == [turn["full_completion"] for turn in played.turns[:3]]
    assert played.trace["pytorch_code"].strip() in messages[1]["content"]


def test_the_exported_fields_are_the_recorded_ones_and_ours(played):
    trace = played.trace
    assert [key for key in trace if key in RECORDED] == RECORDED
    assert {"task_id", "model", "sampling", "licence", "repo"} <= set(trace)
    assert trace["task_id"] == "sample/relu_sum" and trace["source"] == "sample" and trace["name"] == "relu_sum"
    for number, turn in enumerate(trace["turns"], start=1):
        assert [key for key in turn if key in RECORDED_TURN] == RECORDED_TURN
        assert turn["turn"] == number and "usage" in turn
        assert set(list(turn["result"])[:len(RECORDED_RESULT)]) == RECORDED_RESULT
        assert turn["result"]["schema"] == "kernelwright.verdict/1"


def test_the_final_result_is_the_best_turns(played):
    assert played.trace["final_result"]["correctness"] is True
    assert played.trace["final_triton_code"] == played.turns[3]["triton_code"]


def test_the_run_can_be_judged_again(played, verify):
    code, verdicts, stderr = verify("--traces", played.output, "--device", "cpu")
    assert code == 0, stderr
    assert [verdict["status"] for verdict in sorted(verdicts, key=lambda each: each["id"])] == [
        "incorrect", "failed", "correct", "correct"]


# ---- exports -------------------------------------------------------------------------------------------


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def export(run, played, tmp_path):
    """Rows of `kernelwright export`, which are equal for every form of RUN."""
    def call(*words):
        made = []
        for number, source in enumerate((loop.folder_of(played.output), loop.Store(played.output).path, played.output)):
            path = tmp_path / f"rows_{number}.jsonl"
            code, _, stderr = run("export", source, "--output", path, *words, limit=60)
            assert code == 0, stderr
            made.append(rows_of(path))
        assert made[0] == made[1] == made[2]
        return made[0]
    return call


def test_export_messages_has_a_row_for_each_right_turn(export, played):
    third, fourth = export()
    assert [each["role"] for each in third["messages"]] == ["system", "user", *["assistant", "user"] * 2, "assistant"]
    assert third["messages"][-1]["content"] == played.turns[2]["full_completion"]
    assert third["messages"][-1]["reasoning_content"] == played.turns[2]["reasoning"]
    assert fourth["messages"][-1]["content"] == played.turns[3]["full_completion"]
    assert fourth["messages"][-1]["reasoning_content"] is None
    assert {"task_id", "source", "licence"} <= set(third)


def test_export_prompt_and_completion(export, played):
    [row] = export("--format", "prompt-completion", "--best-only")
    assert [each["content"] for each in row["completion"]] == [played.turns[3]["full_completion"]]
    assert row["prompt"] == played.trace["full_messages"]


def test_export_preference_pairs_a_right_turn_with_wrong_ones(export, played):
    pairs = export("--format", "preference")
    assert {row["chosen"][0]["content"] for row in pairs} == {played.turns[3]["full_completion"]}
    rejected = {row["rejected"][0]["content"] for row in pairs}
    assert {turn["full_completion"] for turn in played.turns[:2]} <= rejected


def test_export_a_conversation_a_row(export, played):
    [row] = export("--rows", "conversation", "--reasoning", "inline")
    assert sum(each["role"] == "assistant" for each in row["messages"]) == 4
    assert played.turns[1]["reasoning"] in row["messages"][4]["content"]


def test_export_traces_as_the_run_wrote_them(export, played):
    assert export("--format", "traces") == [played.trace]


def test_export_fast_1_has_nothing_where_nothing_was_timed(run, played, tmp_path):
    code, _, stderr = run("export", played.output, "--output", tmp_path / "rows.jsonl", "--filter", "fast_1", limit=60)
    assert code == 1 and "->" in stderr and not (tmp_path / "rows.jsonl").exists()


# ---- when it stops -------------------------------------------------------------------------------------


def test_correct_is_enough_where_speed_cannot_be_measured(tmp_path, scratch):
    played = Played(tmp_path, scratch, CPU, "--multi-turn", "--max-turns", "3", "--device", "cpu")
    assert played.trace["stop_reason"] == "success_correct", "success is tested before the cap"
    assert played.trace["num_turns"] == 3
    assert played.turns[2]["feedback_given"] is None


@pytest.mark.gpu
def test_on_a_gpu_it_ends_when_a_kernel_is_fast(tmp_path, scratch):
    played = Played(tmp_path, scratch, GPU, "--multi-turn", "--max-turns", "4", "--device", "cuda", "--audit", "1")
    for turn, row in zip(played.turns, ROWS):
        assert told(turn) in row["gpu"], turn["result"]
    slow, fast = played.turns[2]["result"], played.turns[3]["result"]
    assert slow["speedup"] < 1 / 1.5 and slow["fast_1"] is False
    assert fast["speedup"] > 1 and fast["fast_1"] is True
    assert fast["timing"]["call_speedup"] > 1
    assert f"{slow['speedup']:.3g}" in played.turns[2]["feedback_given"]
    assert "memory" in played.turns[1]["feedback_given"]
    assert played.trace["stop_reason"] == "success_fast" and played.trace["num_turns"] == 4


# ---- a kill between turns 2 and 3 ----------------------------------------------------------------------


def test_a_kill_between_turns_2_and_3_loses_nothing(tmp_path, scratch, played):
    output = tmp_path / "traces.json"
    words = loop.command(CPU, output, *ALWAYS, "--device", "cpu", "--replay-delay", "1")
    process = program.start(words, scratch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    store = loop.Store(output)
    reached = loop.wait_for(lambda: store.judged() >= 2, process)
    os.kill(process.pid, signal.SIGKILL)
    _, stderr = process.communicate()
    assert reached and process.returncode == -signal.SIGKILL, stderr
    copy = store.copied(tmp_path / "copy")
    before = store.turns(copy)
    assert loop.check(copy) == []
    assert sorted(key[-1] for key in before) == [1, 2] and all(row.judged for row in before.values())

    again = program.finish(program.start(words, scratch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE))
    assert again.code == 0, again.stderr
    after = store.turns()
    assert sorted(key[-1] for key in after) == [1, 2, 3, 4]
    for key, row in before.items():  # neither asked nor judged again
        assert (after[key].answer, after[key].verdict) == (row.answer, row.verdict)
    [trace] = loop.read(output)
    changing = loop.TIMES | loop.DRAWN
    assert loop.without(trace, changing) == loop.without(played.trace, changing)
    assert trace["full_messages"][3]["content"] == trace["turns"][0]["feedback_given"]
