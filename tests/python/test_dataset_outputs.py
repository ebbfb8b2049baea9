"""The Python outputs of the dataset builder: Parquet, numbers of tokens, figures."""
import contextlib
import hashlib
import io
import json
import os
import random
import subprocess
import sys
import time

import dataset_rows
import jsonschema
import pytest
from kernelwright._dataset import figures, parquet_dataset, tokens

parquet = pytest.importorskip("pyarrow.parquet")


def call(module, *words):
    """Status, the last line of standard output as JSON, and standard error of a helper."""
    out, errors = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, [module.__file__, *map(str, words)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            status = module.main()
    finally:
        sys.argv = before
    lines = out.getvalue().splitlines()
    return status, json.loads(lines[-1]) if lines else None, errors.getvalue()


def call_alone(module, *words, **environment):
    """As call(), in a process of its own, as the builder starts it."""
    done = subprocess.run([sys.executable, "-I", module.__file__, *map(str, words)], capture_output=True, text=True,
                          timeout=120, env=os.environ | environment)
    lines = done.stdout.splitlines()
    return done.returncode, json.loads(lines[-1]) if lines else None, done.stderr


def error_of(answer):
    status, line, _ = answer
    assert status == 2
    return line["error"]


def as_parquet(tmp_path, *rows):
    source = dataset_rows.write(tmp_path / "rows.jsonl", rows)
    status, line, errors = call(parquet_dataset, source, tmp_path / "out.parquet")
    assert status == 0, (line, errors)
    return parquet.read_table(tmp_path / "out.parquet")


@pytest.mark.parametrize("row", [dataset_rows.row(), dataset_rows.full_row()], ids=["null", "full"])
def test_rows_of_these_tests_are_rows(row):
    schema = json.loads(dataset_rows.SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(row)


def test_parquet_has_the_same_types_for_nulls_and_for_values(tmp_path):
    null = as_parquet(tmp_path / "a", dataset_rows.row()).schema
    full = as_parquet(tmp_path / "b", dataset_rows.full_row()).schema
    assert null == full
    assert null.names == [name for name, _ in parquet_dataset.COLUMNS]


def test_parquet_keeps_every_value(tmp_path):
    row = dataset_rows.full_row(prompt="naïve 漢字 🚀\r\n\0\t", completion="")
    made = as_parquet(tmp_path, row).to_pylist()[0]
    assert (made["prompt"], made["completion"]) == (row["prompt"], "")
    assert (made["source_begin"], made["source_end"], made["block_language"]) == (0, 40, "python")
    assert (made["hole_middle_begin"], made["hole_middle_end"]) == (12, 30)
    assert made["leakage"][0]["spans"] == [{"begin": 0, "end": 3}, {"begin": 5, "end": 8}]
    assert made["compiled_for"] == ["sm_80", "sm_90"]
    assert (made["pair_other_path"], made["pair_other_licence"]) == ("csrc/add.cu", "Apache-2.0")
    assert json.loads(made["verdict"]) == row["verdict"]


def test_parquet_fills_every_column_from_a_full_row(tmp_path):
    made = as_parquet(tmp_path, dataset_rows.full_row(duplicate_of="f" * 40)).to_pylist()[0]
    made.pop("compile_reason"), made.pop("pair_other_version"), made.pop("pair_other_commit")
    assert [name for name, value in made.items() if value is None] == [
        "pair_other_sha256", "pair_other_url", "pair_other_stars"]


def test_parquet_of_nothing_is_no_file(tmp_path):
    source = dataset_rows.write(tmp_path / "rows.jsonl", [])
    assert call(parquet_dataset, source, tmp_path / "out.parquet")[:2] == (0, {"file": None, "rows": 0})
    assert os.listdir(tmp_path) == ["rows.jsonl"]


def test_parquet_refuses_a_field_without_a_column(tmp_path):
    source = dataset_rows.write(tmp_path / "rows.jsonl", [dataset_rows.row(), dataset_rows.row(novel=1)])
    error = error_of(call(parquet_dataset, source, tmp_path / "out.parquet"))
    assert "row 2" in error["what"] and "novel" in error["what"]
    assert os.listdir(tmp_path) == ["rows.jsonl"]


@pytest.mark.parametrize("line", ["{", "[]", "null", '{"prompt": "a"}', "[" * 100_000, '{"prompt": 1}'])
def test_parquet_names_a_line_that_is_no_row(tmp_path, line):
    source = tmp_path / "rows.jsonl"
    source.write_text(line + "\n")
    assert "row 1" in error_of(call(parquet_dataset, source, tmp_path / "out.parquet"))["what"]


def test_parquet_of_a_wrong_type_is_an_error_and_no_file(tmp_path):
    source = dataset_rows.write(tmp_path / "rows.jsonl", [dataset_rows.row(tokens="many")])
    assert error_of(call(parquet_dataset, source, tmp_path / "out.parquet"))
    assert os.listdir(tmp_path) == ["rows.jsonl"]


def test_parquet_writes_half_of_a_pair_of_surrogates_as_a_replacement(tmp_path):
    assert as_parquet(tmp_path, dataset_rows.row(prompt="a\ud800b")).to_pylist()[0]["prompt"] == "a\ufffdb"


def test_parquet_reads_rows_from_standard_input(tmp_path):
    done = subprocess.run([sys.executable, "-I", parquet_dataset.__file__, "-", tmp_path / "out.parquet"],
                          input=json.dumps(dataset_rows.row(prompt="é"), ensure_ascii=False).encode(),
                          capture_output=True, timeout=60, env=os.environ | {"LC_ALL": "C"})
    assert done.returncode == 0
    assert parquet.read_table(tmp_path / "out.parquet").to_pylist()[0]["prompt"] == "é"


def some_rows(count=60):
    return [dataset_rows.row(prompt=f"<|fim_prefix|>def kernel_{number % 7}(x, y):\n    return x + y * {number}",
                             completion=f"tl.load(x_ptr + offsets_{number}, mask=mask)") for number in range(count)]


def count(tmp_path, rows, *words):
    source = dataset_rows.write(tmp_path / "rows.jsonl", rows)
    return call(tokens, "count", source, tmp_path / "counts", *words)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    pytest.importorskip("tokenizers")
    folder = tmp_path_factory.mktemp("trained")
    status, line, errors = count(folder, some_rows(), "--train", 400, "--train-out", folder / "tokenizer.json")
    assert status == 0, (line, errors)
    return folder / "tokenizer.json", line


def test_a_tokenizer_is_trained_on_the_rows(trained):
    file, line = trained
    assert line["vocabulary"] <= 400 and line["rows"] == 60
    assert "trained on" in line["tokenizer"] and line["trained_on_bytes"] > 1000
    assert json.loads(file.read_text())["model"]["type"] == "BPE"


def test_training_gives_the_same_bytes_for_any_number_of_threads(trained, tmp_path):
    digests = {hashlib.sha256(trained[0].read_bytes()).hexdigest()}
    source = dataset_rows.write(tmp_path / "rows.jsonl", some_rows())
    for threads in ("1", "3"):
        words = "count", source, tmp_path / "counts", "--train", 400, "--train-out", tmp_path / "t.json"
        assert call_alone(tokens, *words, RAYON_NUM_THREADS=threads)[0] == 0
        digests.add(hashlib.sha256((tmp_path / "t.json").read_bytes()).hexdigest())
    assert len(digests) == 1


def test_numbers_stand_in_the_order_of_the_rows(trained, tmp_path):
    from tokenizers import Tokenizer
    rows = [*some_rows(1100), dataset_rows.row(prompt="", completion="")]
    assert count(tmp_path, rows, "--tokenizer", trained[0])[0] == 0
    numbers = [tuple(map(int, line.split())) for line in (tmp_path / "counts").read_text().splitlines()]
    tokenizer = Tokenizer.from_file(str(trained[0]))
    sizes = [[len(tokenizer.encode(row[name]).ids) for name in ("prompt", "completion")] for row in rows]
    assert numbers == [(prompt + completion, prompt) for prompt, completion in sizes]
    assert numbers[-1] == (0, 0)


def test_a_mark_of_a_hole_is_one_token(trained, tmp_path):
    count(tmp_path, [dataset_rows.row(prompt="<|fim_prefix|><|fim_suffix|><|fim_middle|>", completion="")],
          "--tokenizer", trained[0])
    assert (tmp_path / "counts").read_text() == "3 3\n"


def test_a_tokenizer_that_cuts_and_pads_counts_all_the_same(trained, tmp_path):
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(str(trained[0]))
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=64)
    tokenizer.save(str(tmp_path / "cuts.json"))
    count(tmp_path, some_rows(3), "--tokenizer", tmp_path / "cuts.json")
    cut = (tmp_path / "counts").read_text()
    count(tmp_path, some_rows(3), "--tokenizer", trained[0])
    assert cut == (tmp_path / "counts").read_text()


def test_a_large_corpus_is_trained_on_in_part_and_says_so(tmp_path):
    pytest.importorskip("tokenizers")
    _, line, _ = count(tmp_path, some_rows(500), "--train", 400, "--train-out", tmp_path / "t.json", "--sample-mb", "0.01")
    assert 4_000 < line["trained_on_bytes"] < 16_000
    assert "a sample of" in line["tokenizer"]
    assert line["rows"] == 500


def test_one_run_of_letters_does_not_hold_training_up(tmp_path):
    pytest.importorskip("tokenizers")
    letters = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=300_000))
    begin = time.process_time()
    status, line, _ = count(tmp_path, [dataset_rows.row(prompt=letters), *some_rows(5)], "--train", 151936, "--train-out",
                            tmp_path / "t.json")
    assert (status, line["rows"]) == (0, 6)
    assert line["trained_on_bytes"] < 3_000
    assert time.process_time() - begin < 10


def test_nothing_to_train_on_is_no_error(tmp_path):
    pytest.importorskip("tokenizers")
    status, line, _ = count(tmp_path, [], "--train", 400, "--train-out", tmp_path / "t.json")
    assert (status, line["rows"], line["tokens"], line["trained_on_bytes"]) == (0, 0, 0, 0)
    assert (tmp_path / "counts").read_text() == ""


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"model": {"type": "BPE", "vocab": {"a": 7}, "merges": []}}', "\0" * 99])
def test_what_is_no_tokenizer_is_told(tmp_path, text):
    pytest.importorskip("tokenizers")
    (tmp_path / "t.json").write_text(text)
    status, line, _ = count(tmp_path, some_rows(2), "--tokenizer", tmp_path / "t.json")
    assert status == 0 or (status == 2 and line["error"]["remedy"])


def test_a_line_that_is_no_row_is_named(trained, tmp_path):
    (tmp_path / "rows.jsonl").write_text(json.dumps(dataset_rows.row()) + "\nnot json\n")
    error = error_of(call(tokens, "count", tmp_path / "rows.jsonl", tmp_path / "counts", "--tokenizer", trained[0]))
    assert "line 2" in error["what"]
    assert not (tmp_path / "counts").exists()


def empty_histogram():
    return {"count": 0, "buckets": []} | dict.fromkeys(("mean", "least", "most", "p10", "median", "p90", "p99"))


def histogram(*buckets):
    return {"count": sum(buckets), "buckets": list(buckets), "mean": 1.0, "least": 0, "most": 9, "p10": 0, "median": 1,
            "p90": 2, "p99": 2}


def analysis(**rows):
    lengths = {name: histogram(1, 2, 3) for name in ("prompt_characters", "completion_characters", "tokens")}
    return {"rows": {"count": 6, "kinds": {"fim": 6}, "licences": {"MIT": 6}, "sources": {"one": 6}, "labels": {},
                     "compile": {"compilable": 1}, "lengths": lengths, "holes": {"body": 6},
                     "over_limit": {"1024": {"longer": 2, "dropped": 1}, "4096": {"longer": 0, "dropped": 0}}} | rows,
            "targets": {"neutral": 3, "ascend": 1}, "parameters": {"hardware": "neutral nvidia"},
            "units": {"triton": 4}, "units_compile": {}, "tokenizer": {"name": "a BPE", "why_null": None},
            "duplicates": {"exact_units": 1, "renamed_units": 0, "near_units": 1}}


def draw(folder, facts, how=call):
    folder.mkdir(exist_ok=True)
    (folder / "ANALYSIS.json").write_text(json.dumps(facts), encoding="utf-8")
    return how(figures, folder / "ANALYSIS.json", folder / "figs")


def pictures(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "figs").glob("*.png"))}


def test_the_same_facts_give_the_same_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    for name, how in (("a", call), ("b", call_alone)):
        status, line, errors = draw(tmp_path / name, analysis(), how)
        assert (status, len(line["figures"])) == (0, 11), errors
    first = pictures(tmp_path / "a")
    assert first == pictures(tmp_path / "b")
    assert all(picture.startswith(b"\x89PNG") and b"matplotlib" not in picture for picture in first.values())


def test_a_build_without_rows_and_odd_names_has_pictures_too(tmp_path):
    pytest.importorskip("matplotlib")
    nothing = {"count": 0, "kinds": {}, "licences": {}, "sources": {}, "compile": {},
               "lengths": {name: empty_histogram() for name in ("prompt_characters", "completion_characters", "tokens")}}
    odd = {f"$\\frac{{{number}$ 漢 \n\x1b" * 9: number for number in range(60)}
    status, line, errors = draw(tmp_path, analysis(**nothing) | {"units": {}, "targets": {}})
    assert (status, len(line["figures"])) == (0, 10), errors
    status, line, errors = draw(tmp_path, analysis(licences=odd))
    assert (status, len(line["figures"])) == (0, 11), errors


def test_there_is_no_chart_of_what_was_not_done(tmp_path):
    pytest.importorskip("matplotlib")
    status, line, errors = draw(tmp_path, analysis(compile={"not_tried": 1}) | {"tokenizer": {"name": None, "why_null": "no"}})
    assert status == 0, errors
    assert not {"lengths_tokens.png", "over_limit.png", "labels_compile.png"} & set(line["figures"])


def test_over_twenty_names_become_one_bar():
    counts = {f"licence {number}": 100 - number for number in range(60)}
    entries = figures.ranked(counts)
    assert len(entries) == 21 and entries[0] == ("licence 0", 100)
    assert entries[-1] == ("40 others", sum(100 - number for number in range(20, 60)))
    assert figures.ranked({"b": 1, "a": 1, "none": 0}) == [("a", 1), ("b", 1)]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rows": 1}'])
def test_what_is_no_analysis_is_told(tmp_path, text):
    (tmp_path / "ANALYSIS.json").write_text(text)
    assert error_of(call(figures, tmp_path / "ANALYSIS.json", tmp_path / "figs"))["remedy"]


@pytest.mark.parametrize("module, words, library", [
    (figures, ("{}", "figs"), "matplotlib"), (tokens, ("count", "{}", "counts", "--tokenizer", "{}"), "tokenizers"),
    (parquet_dataset, ("{}", "out"), "pyarrow")])
def test_a_library_that_is_missing_is_told(tmp_path, monkeypatch, module, words, library):
    (tmp_path / "file").write_text(json.dumps(analysis()))
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.chdir(tmp_path)
    assert library in error_of(call(module, *(word.format(tmp_path / "file") for word in words)))["what"]
