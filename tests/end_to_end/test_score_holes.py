"""`kernelwright score` on fill-in rows: the hole is filled before it is checked, and asked for as it was trained."""
import json

import pytest

from . import program
from .fake_model import FakeModel

ROWS = [json.loads(line) for line in (program.ROOT / "examples/dataset/fim.jsonl").read_text(encoding="utf-8").splitlines()]
PLAIN = next(row for row in ROWS if row["hole"]["rendering"] == "plain")
HOLE = next(row for row in ROWS if row["hole"]["rendering"] == "psm" and row["hole"]["node"] == "block"
            and "tl.load" in row["completion"] and "tl.load" not in row["prompt"])


@pytest.fixture
def score(run, tmp_path):
    """Score rows: the result, with the program's output."""
    def call(rows, *words):
        path = program.write_rows(tmp_path / "rows.jsonl", rows)
        output = tmp_path / "score.json"
        code, stdout, stderr = run("score", path, "--output", output, "--fresh", *words)
        assert code == 0, stderr
        return {**json.loads(output.read_text(encoding="utf-8")), "stdout": stdout, "stderr": stderr}
    return call


def good(result):
    """The share of answers that pass the static checks, and the number of answers."""
    share = next(each for each in result["static"]["properties"] if each["name"] == "good")
    return share["value"], result["static"]["outputs"]


def answers(rows, middles):
    return [{**row, "output": middle} for row, middle in zip(rows, middles, strict=True)]


def test_perfect_holes_are_perfect(score):
    result = score(answers(ROWS, [row["completion"] for row in ROWS]))
    assert good(result) == (1.0, len(ROWS))
    assert "static checks: pass      1.000" in result["stdout"]
    assert result["overlap"]["exact"]["value"] == 1.0


def test_the_rows_themselves_are_perfect(score):
    assert good(score(ROWS)) == (1.0, len(ROWS))


def test_holes_of_other_rows_are_not(score):
    shuffled = [row["completion"] for row in ROWS[7:] + ROWS[:7]]
    share, outputs = good(score(answers(ROWS, shuffled)))
    assert outputs == len(ROWS) and share < 0.3, share


@pytest.mark.parametrize("middle, why", [("    pass\n", "loads"), ("    )(\n", "parses"),
                                         (HOLE["completion"].replace("tl.load", "tl.load(nowhere) + tl.load"),
                                          "undefined_names")])
def test_a_wrong_hole_is_not_good(score, middle, why):
    facts = score(answers([HOLE], [middle]))["outputs"][0]["static"]
    assert facts["state"] == "fail" and facts["reasons"], facts
    assert not facts["is_good"] and facts[why] == (1 if why == "undefined_names" else False), facts


def test_filled_holes_are_compiled(score):
    rows = [row for row in ROWS if row["hole"]["rendering"] != "plain"][:3]
    middles = [row["completion"] for row in rows[:2]] + ["    ("]
    result = score(answers(rows, middles), "--compile", "3")
    labels = [each["compile"] for each in result["outputs"]]
    assert labels == ["compilable", "compilable", "fails"], result["outputs"]


def test_a_model_is_asked_as_it_was_trained(score):
    middles = {row["prompt"]: row["completion"] + "<|fim_pad|>and more" for row in (HOLE, PLAIN)}
    with FakeModel(lambda path, body: middles[body["prompt"]]) as model:
        result = score([HOLE, PLAIN], "--vllm-url", model.url)
    assert good(result) == (1.0, 2) and result["overlap"]["exact"]["value"] == 1.0
    assert {path for path, _ in model.requests} == {"/completions"}
    bodies = {body["prompt"]: body for _, body in model.requests}
    assert set(bodies) == {HOLE["prompt"], PLAIN["prompt"]}
    assert "<|fim_prefix|>" in bodies[HOLE["prompt"]]["stop"] and "\ndef " in bodies[PLAIN["prompt"]]["stop"]
    for body in bodies.values():
        assert body["max_tokens"] == 2048 and len(body["stop"]) <= 4 and "messages" not in body
        assert body["skip_special_tokens"] is False


def test_the_length_of_a_hole_can_be_given(score):
    with FakeModel(lambda path, body: "x") as model:
        score([HOLE], "--vllm-url", model.url, "--max-tokens", "77")
    assert model.requests[0][1]["max_tokens"] == 77


def test_a_server_without_completions_is_asked_by_chat(score):
    def answer(path, body):
        return 404 if path == "/completions" else f"Here it is:\n```python\n{HOLE['completion']}\n```\n"
    with FakeModel(answer) as model:
        result = score([HOLE], "--vllm-url", model.url)
    assert [path for path, _ in model.requests] == ["/completions", "/chat/completions"]
    asked = model.requests[1][1]["messages"][-1]["content"]
    assert "<HOLE>" in asked and "<|fim_" not in asked
    assert "fill-in rows are asked by chat completions" in result["stderr"]
    assert good(result) == (1.0, 1) and result["outputs"][0]["overlap"]["exact"]
