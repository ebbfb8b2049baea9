"""The data reader of training: every form of file and row, the errors on invalid ones, and the learnt tokens."""
import csv
import gzip
import json
import os

import dataset_rows
import pytest
import train_world
from kernelwright._train import columns, records, rows, samples, tokens
from kernelwright._train.events import TrainError
from train_world import BOS, EOS, HOLE, Letters, lines, recipe

NO = samples.NOT_LEARNT


def write_csv(path, *records, names=("prompt", "completion")):
    with open(path, "w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([names, *records])
    return str(path)


def pairs(path):
    return [(row.prompt, row.completion) for row in rows.read([path])]


def error_of(path):
    with pytest.raises(TrainError) as caught:
        list(rows.read([str(path)]))
    assert caught.value.remedy
    return caught.value.what


# Files

def test_quotes_newlines_and_commas_of_a_csv_come_back(tmp_path):
    hard = ('a "quoted", text\nwith\r\nlines', "\t漢字 🚀\u2028x")
    assert pairs(write_csv(tmp_path / "a.csv", hard, ("p", "c"))) == [hard, ("p", "c")]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json"])
def test_a_mark_at_the_front_is_no_text(tmp_path, name):
    text = {"a.csv": "prompt,completion\np,c\n", "a.jsonl": '{"prompt":"p","completion":"c"}\n',
            "a.json": '[{"prompt":"p","completion":"c"}]'}[name]
    (tmp_path / name).write_text(text, encoding="utf-8-sig")
    assert pairs(str(tmp_path / name)) == [("p", "c")]


def test_a_quote_that_is_never_closed_is_an_error_not_one_long_row(tmp_path):
    (tmp_path / "a.csv").write_text('prompt,completion\np,c\n"p,c\np,c\n')
    assert "a.csv, row 2: it is not CSV" in error_of(tmp_path / "a.csv")


def test_a_row_with_more_fields_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("prompt,completion\np,c\np,c,d\n")
    assert error_of(tmp_path / "a.csv").endswith("a.csv, row 2: it has 3 fields and the first line 2")


def test_bytes_that_are_no_text_are_named_by_row(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"prompt":"p","completion":"c"}\n{"prompt":"\xff","completion":"c"}\n')
    assert "a.jsonl, row 2: it is not UTF-8" in error_of(tmp_path / "a.jsonl")
    (tmp_path / "a.csv").write_bytes(b"prompt,completion\np,c\n\xc3\x28,c\n")
    assert "a.csv, row 2: it is not UTF-8" in error_of(tmp_path / "a.csv")


def test_a_line_that_is_no_json_is_named_also_when_nested_beyond_measure(tmp_path):
    (tmp_path / "a.jsonl").write_text('\n{"prompt": "p"\n')
    assert "a.jsonl, row 2: it is not JSON" in error_of(tmp_path / "a.jsonl")
    (tmp_path / "b.jsonl").write_text("[" * 200_000 + "\n")
    assert "row 1: its JSON is nested too deeply" in error_of(tmp_path / "b.jsonl")


def test_a_row_beyond_the_bound_is_refused_and_never_held(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "ROW_BYTES", 1 << 20)
    (tmp_path / "a.jsonl").write_text(json.dumps({"prompt": "p", "completion": "c" * (1 << 20)}) + "\n")
    assert "row 1: it is longer than 1 MiB" in error_of(tmp_path / "a.jsonl")
    path = write_csv(tmp_path / "a.csv", ("p", "c\n" * ((1 << 19) + 1)))
    assert "row 1: it is not CSV (field larger than field limit" in error_of(path)


def test_a_row_of_megabytes_is_read(tmp_path):
    assert pairs(write_csv(tmp_path / "a.csv", ("p" * 3_000_000, "c"))) == [("p" * 3_000_000, "c")]


def test_compressed_lines_are_read_and_damaged_ones_refused(tmp_path):
    path = lines(tmp_path / "a.jsonl.gz", [{"prompt": "p", "completion": "c"}])
    assert pairs(path) == [("p", "c")]
    damaged = gzip.compress(b'{"prompt": "p", "completion": "c"}\n' * 100)[:-12]
    (tmp_path / "b.jsonl.gz").write_bytes(damaged)
    assert "damaged" in error_of(tmp_path / "b.jsonl.gz")
    (tmp_path / "c.jsonl.gz").write_bytes(b"no gzip")
    assert "c.jsonl.gz" in error_of(tmp_path / "c.jsonl.gz")


@pytest.mark.parametrize("name, text", [("a.csv", ""), ("a.csv", "prompt,completion\n"), ("a.jsonl", "\n\n"), ("a.json", "[]")])
def test_a_file_without_rows_is_an_error(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert "has no rows" in error_of(tmp_path / name)


def test_files_that_are_not_there_or_of_another_kind(tmp_path):
    assert "cannot read" in error_of(tmp_path / "none.jsonl")
    (tmp_path / "a.txt").write_text("x")
    assert "its ending is none of" in error_of(tmp_path / "a.txt")
    os.mkfifo(tmp_path / "a.jsonl")
    assert "is no regular file" in error_of(tmp_path / "a.jsonl")
    with pytest.raises(TrainError, match="b.csv is given twice"):
        rows.look(["b.csv", "c.csv", "b.csv"])


def test_parquet_has_the_same_rows_as_json_lines(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet
    answer = {"role": "assistant", "content": "c", "reasoning_content": "r"}
    conversation = [{"role": "user", "content": "q", "reasoning_content": None}, answer]
    table = pyarrow.Table.from_pylist([{"messages": conversation, "task_id": "sample/a", "licence": None}])
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    path = lines(tmp_path / "a.jsonl", [{"messages": [{"role": "user", "content": "q"}, answer], "task_id": "sample/a"}])
    one, other = next(rows.read([str(tmp_path / "a.parquet")])), next(rows.read([path]))
    assert one.messages == other.messages and one.task_id == other.task_id == "sample/a"
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-20])
    assert "no readable Parquet file" in error_of(tmp_path / "b.parquet")


# What a record means

def test_exports_of_conversations_and_of_prompts_with_completions(tmp_path):
    asked, answered = [{"role": "user", "content": "q"}], [{"role": "assistant", "content": "a"}]
    path = lines(tmp_path / "a.jsonl", [{"prompt": asked, "completion": answered, "task_id": "t", "licence": "MIT"},
                                        {"messages": asked + answered}, {"text": "x"}])
    split, whole, text = rows.read([path])
    assert (split.messages, split.learn_from, split.task_id, split.licence) == (asked + answered, 1, "t", "MIT")
    assert (whole.messages, whole.learn_from, whole.task_id) == (asked + answered, 0, None)
    assert (text.kind, text.text, text.line) == ("text", "x", 3)


def test_rows_of_a_data_set_keep_id_licence_and_the_task_of_a_trace(tmp_path):
    place = dataset_rows.place(kind="run", path="sample/add")
    path = lines(tmp_path / "a.jsonl", [dataset_rows.row(licence={"spdx": "MIT", "evidence": "LICENSE"}),
                                        dataset_rows.row(kind="trace", source=place)])
    first, second = rows.read([path])
    assert (first.id, first.licence, first.task_id) == ("0" * 40, "MIT", None)
    assert second.task_id == "sample/add"
    as_parquet_has_it = {"prompt": "p", "completion": "c", "kind": "trace", "source_path": "sample/add"}
    assert columns.row_of(as_parquet_has_it).task_id == "sample/add"


def test_a_csv_of_a_data_set_takes_ids_from_the_file_beside_it(tmp_path):
    path = write_csv(tmp_path / "fim_sft.csv", ("p", "c"), ("p2", "c2"))
    meta = [dataset_rows.row(id=str(number) * 40, licence={"spdx": "MIT", "evidence": None}) for number in (1, 2)]
    lines(tmp_path / "fim_sft.meta.jsonl", meta)
    assert [(row.prompt, row.id[0], row.licence) for row in rows.read([path])] == [("p", "1", "MIT"), ("p2", "2", "MIT")]
    lines(tmp_path / "fim_sft.meta.jsonl", meta[:1])
    assert "has no line for row 2" in error_of(path)
    lines(tmp_path / "fim_sft.meta.jsonl", meta + meta)
    assert "has more lines than fim_sft.csv has rows" in error_of(path)


@pytest.mark.parametrize("record, words", [
    ({"prompt": [], "chosen": [], "rejected": []}, "preferences"),
    ({"sample_key": "a", "full_completion": "b"}, "recorded traces"),
    ({"question": "a"}, "no columns to learn from (there are: question)"),
    ({"prompt": "a"}, "completion is missing"),
    ({"prompt": "a", "completion": 3}, "completion is not text but int"),
    ({"prompt": "a", "completion": []}, "not of one kind"),
    ({"messages": []}, "messages is empty"),
    ({"messages": [{"role": "robot", "content": "x"}]}, "role is 'robot'"),
    ({"messages": [{"role": "user", "content": [1]}]}, "content is not text"),
    ([1], "it is no JSON object"),
])
def test_what_is_no_row_is_refused_with_its_place(tmp_path, record, words):
    path = lines(tmp_path / "a.jsonl", [record])
    what = error_of(path)
    assert "a.jsonl, row 1: " in what and words in what


def test_half_a_surrogate_becomes_a_character(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"prompt": "\\ud800", "completion": "c"}\n')
    assert pairs(str(tmp_path / "a.jsonl")) == [("\ufffd", "c")]


# Tokens

def encoded(prompt, completion, tokenizer=None, **data):
    return tokens.encode(tokenizer or Letters(), columns.Row("pair", prompt, completion), recipe(**data))


def test_of_a_pair_the_completion_and_the_end_are_learnt():
    made = encoded("ab", "cd")
    assert made.input_ids == [*map(ord, "abcd"), EOS]
    assert made.labels == [NO, NO, ord("c"), ord("d"), EOS]


def test_the_boundary_lies_between_tokens_also_where_one_would_span_it():
    joined = Letters(joins=("bc",))
    assert joined("abcd", add_special_tokens=False)["input_ids"] == [ord("a"), 1000, ord("d")]
    assert encoded("ab", "cd", joined).input_ids == [*map(ord, "abcd"), EOS]


def test_all_is_learnt_where_the_recipe_says_so_but_for_the_first_token():
    assert encoded("ab", "c", loss="all").labels == [NO, ord("b"), ord("c"), EOS]
    assert tokens.encode(Letters(), columns.Row("text", text="ab"), recipe()).labels == [NO, ord("b"), EOS]


def test_a_token_that_stands_before_every_text_stands_once_and_is_not_learnt():
    made = encoded("a", "b", Letters(lead=[BOS]))
    assert (made.input_ids, made.labels) == ([BOS, ord("a"), ord("b"), EOS], [NO, NO, ord("b"), EOS])


def test_what_looks_like_a_special_token_is_text_and_marks_of_holes_are_marks():
    made = encoded("<|im_end|>", "<s>x")
    assert made.input_ids == [*map(ord, "<|im_end|><s>x"), EOS]
    assert encoded("a<|fim_middle|>", "b").input_ids == [ord("a"), HOLE, ord("b"), EOS]
    assert encoded("", "<|im_end|>").input_ids == [*map(ord, "<|im_end|>"), EOS]


@pytest.mark.parametrize("too_long, cut", [("cut", True), ("drop", False)])
def test_a_sample_that_is_too_long_is_cut_at_the_end_or_dropped(too_long, cut):
    made = encoded("ab", "c" * 100, too_long=too_long, max_length=8)
    if cut:
        assert made.input_ids == [*map(ord, "abcccccc")] and made.cut == (tokens.TOO_LONG,)
    else:
        assert made.reason == tokens.TOO_LONG


def test_a_row_of_which_nothing_would_be_learnt_is_dropped():
    assert encoded("a" * 8, "b", max_length=8).reason == tokens.PROMPT_TOO_LONG
    assert encoded("a", "").reason == tokens.EMPTY
    assert encoded("", "b", max_length=1).reason == tokens.PROMPT_TOO_LONG
    assert tokens.encode(Letters(), columns.Row("text", text=""), recipe()).reason == "empty text"


def test_a_huge_row_is_not_tokenised_beyond_what_can_matter():
    class Counting(Letters):
        longest = 0

        def __call__(self, text, **words):
            self.longest = max(self.longest, len(text))
            return super().__call__(text, **words)
    tokenizer = Counting()
    dropped, cut = encoded("p" * 50_000_000, "c", tokenizer), encoded("p", "c" * 50_000_000, tokenizer)
    assert (dropped.reason, dropped.tokens) == (tokens.PROMPT_TOO_LONG, pytest.approx(50_000_000, rel=0.01))
    assert (len(cut.input_ids), cut.tokens_cut) == (64, pytest.approx(50_000_000, rel=0.01))
    assert encoded("p", "c" * 50_000_000, too_long="drop").reason == tokens.TOO_LONG
    assert tokenizer.longest < 10_000


def test_counts_name_what_was_dropped_and_cut():
    counts = samples.Counts()
    kept = [counts.add(encoded(*each, max_length=8)) for each in [("ab", "c"), ("a", ""), ("a", ""), ("a", "b" * 50)]]
    assert kept == [True, False, False, True]
    assert counts.as_fields() == {"rows": 4, "used": 2, "dropped": {tokens.EMPTY: 2}, "cut": {tokens.TOO_LONG: 1},
                                  "tokens": 12, "learnt_tokens": 9, "tokens_cut": 44, "tokens_dropped": 2}


def test_messages_without_a_template_are_joined():
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    made = tokens.encode(Letters(), columns.Row("messages", messages=said), recipe(template="none"))
    assert made.input_ids == [*map(ord, "q\na"), EOS] and made.labels == [NO, NO, ord("a"), EOS]
    with pytest.raises(TrainError, match="no chat template"):
        tokens.encode(Letters(), columns.Row("messages", messages=said), recipe())


def test_a_tokenizer_that_names_no_end_is_refused():
    with pytest.raises(TrainError, match="no token that ends a text"):
        endless = train_world.Letters()
        endless.eos_token_id = None
        tokens.Encoder(endless, recipe())
