"""TRL trains on the output of `kernelwright export` without changes."""
import json
import math
import random

import pytest
from datasets import load_dataset
from end_to_end import program

from . import training

RECORDED = program.ROOT / "examples" / "sample" / "multi_turn.json"
KINDS = ["jsonl", "parquet"]


@pytest.fixture(scope="session")
def kept(run, tmp_path_factory):
    """A run of the sample's conversations, in which one of several answers has no reasoning."""
    folder = tmp_path_factory.mktemp("run")
    traces = json.loads(RECORDED.read_text(encoding="utf-8"))
    traces[0]["turns"][-1]["reasoning"] = None
    (folder / "recorded.json").write_text(json.dumps(traces), encoding="utf-8")
    ended = run("--traces", folder / "recorded.json", "--model-replay", folder / "recorded.json", "--multi-turn",
                "--output", folder / "traces.json")
    assert ended.code == 0, ended.stderr
    return folder / "traces.run"


@pytest.fixture
def export(call, python, kept, tmp_path):
    """Export the run: the path of the file."""
    def exported(kind, *words, source=kept, name="rows"):
        output = tmp_path / f"{name}.{kind}"
        ended = call("export", source, "--output", output, "--python", python, *words)
        assert ended.code == 0, ended.stderr
        return output
    return exported


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def assert_trained(trained):
    assert len(trained.losses) == training.STEPS
    assert all(math.isfinite(loss) and loss > 0 for loss in trained.losses)


def as_learnt(message, key="reasoning_content"):
    """An answer as the tiny model's chat template renders it."""
    reasoning = message.get(key)
    return (f"<think>\n{reasoning}\n</think>\n\n" if reasoning else "") + message["content"] + "<|im_end|>\n"


@pytest.mark.parametrize("rows", ["turn", "conversation"])
@pytest.mark.parametrize("kind", KINDS)
def test_messages_train(export, tiny, tmp_path, kind, rows):
    words = "--format", "messages", "--rows", rows, "--filter", "none"
    trained = training.fine_tune(tiny, export(kind, *words), tmp_path / "out")
    assert_trained(trained)
    expected = rows_of(export("jsonl", *words, name="expected"))
    assert [row["input_ids"].endswith(as_learnt(wanted["messages"][-1]))
            for row, wanted in zip(trained.texts, expected, strict=True)] == [True] * len(expected)
    assert len({bool(wanted["messages"][-1].get("reasoning_content")) for wanted in expected}) == 2, "both kinds of answers"


@pytest.mark.parametrize("kind", KINDS)
def test_of_prompts_and_completions_the_completion_is_learnt(export, tiny, tmp_path, kind):
    words = "--format", "prompt-completion", "--filter", "none"
    trained = training.fine_tune(tiny, export(kind, *words), tmp_path / "out")
    assert_trained(trained)
    assert trained.learnt == [as_learnt(*row["completion"]) for row in rows_of(export("jsonl", *words, name="expected"))]


@pytest.mark.parametrize("kind", KINDS)
def test_preferences_train(export, tiny, tmp_path, kind):
    trained = training.prefer(tiny, export(kind, "--format", "preference"), tmp_path / "out")
    assert_trained(trained)
    for row in trained.texts:
        assert "<triton>" in row["chosen_ids"] and "<triton>" in row["rejected_ids"]
        assert row["chosen_ids"] != row["rejected_ids"]


@pytest.mark.parametrize("reasoning", ["thinking", "inline", "none"])
def test_reasoning_goes_where_it_is_wanted(export, tiny, tmp_path, reasoning):
    trained = training.fine_tune(tiny, export("jsonl", "--format", "prompt-completion", "--filter", "none",
                                              "--reasoning", reasoning), tmp_path / "out")
    assert_trained(trained)
    assert any("<think>" in text for text in trained.learnt) == (reasoning != "none")


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_says_where_it_is_from(export, kind):
    for row in training.load(export(kind, "--format", "messages")):
        assert row["task_id"].startswith("sample/") and row["source"] == "sample"
        assert "licence" in row


@pytest.mark.parametrize("kind", KINDS)
def test_two_exports_load_together(export, kind):
    files = [export(kind, "--filter", word, name=word) for word in ("none", "correct")]
    together = load_dataset({"jsonl": "json"}.get(kind, kind), data_files=[str(each) for each in files], split="train")
    assert len(together) == sum(len(training.load(each)) for each in files)


@pytest.mark.parametrize("form", ["messages", "prompt-completion"])
def test_types_hold_where_values_come_late(export, tmp_path, form):
    """Readers of JSON lines infer types from the first 10 MB. These have no reasoning and no times."""
    noise = random.Random(0)
    trace = json.loads(RECORDED.read_text(encoding="utf-8"))[0]
    last = trace["turns"][-1]
    trace["turns"] = [last]
    traces = []
    for number in range(600):
        late = number > 590
        result = {**last["result"], "speedup": 2 if number == 599 else 1.5 if late else None}
        turn = {**last, "turn": 1, "reasoning": "Hm." if late else None, "result": result,
                "full_completion": last["full_completion"] + noise.randbytes(10_000).hex()}
        traces.append({**trace, "sample_key": f"sample_{number}", "name": str(number), "num_turns": 1, "turns": [turn],
                       "final_result": result})
    (tmp_path / "late.json").write_text(json.dumps(traces), encoding="utf-8")
    path = export("jsonl", "--format", form, "--filter", "none", source=tmp_path / "late.json")
    assert path.stat().st_size > 12_000_000
    loaded = training.load(path)
    assert len(loaded) == len(traces)
    assert set(loaded["speedup"]) == {None, 1.5, 2.0}


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_with_the_card_in_it_is_a_data_set(export, tmp_path, kind):
    path = export(kind, name="train")
    folder = tmp_path / "data set"
    folder.mkdir()
    path.rename(folder / path.name)
    path.with_name(f"{path.name}.card.md").rename(folder / "README.md")
    loaded = load_dataset(str(folder), split="train")
    assert loaded.features["speedup"].dtype == "float64" and loaded.features["licence"].dtype == "string"
    assert len(loaded) > 0
