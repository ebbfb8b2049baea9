"""`dataset dedup`, `audit` and `export` on files of rows, from the command line."""
import csv
import json
import shutil

import pyarrow
import pyarrow.parquet
import pytest

from . import dataset


@pytest.fixture(scope="module")
def world(scratch):
    root = scratch / "dataset-files"
    root.mkdir()
    yield root
    shutil.rmtree(root, ignore_errors=True)


def code(seed, changed=0):
    return "".join(f"value_{seed}_{i} = load({seed * 7 + i}) + {'other' if i < changed else 'same'}\n" for i in range(50))


def table(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["prompt", "completion"])
        writer.writerows(rows)
    return path


def test_duplicates_go_from_one_form_to_another(world, run):
    source = table(world / "rows.csv", [("p", code(1)), ("p", code(2)), ("p", code(1)), ("p", code(1, 2))])
    code_, stdout, stderr = run("dataset", "dedup", source, "--out", world / "kept.parquet")
    assert code_ == 0, stderr
    assert pyarrow.parquet.read_table(world / "kept.parquet").column("completion").to_pylist() == [code(1), code(2)]
    dropped = dataset.lines(world / "kept.parquet.duplicates.jsonl")
    assert [(row["row"].split(", ")[1], row["how"]) for row in dropped] == [("row 3", "exact"), ("row 4", "near")]
    assert "2 of 4 rows kept" in stdout


@pytest.mark.parametrize("flag", ["--output", "--out"])
def test_the_output_has_the_name_of_other_verbs_and_its_old_one(world, run, flag):
    source = table(world / "named.csv", [("p", code(1)), ("q", code(2))])
    for verb in ("dedup", "export"):
        target = world / f"{verb}{flag}.jsonl"
        code_, _, stderr = run("dataset", verb, source, flag, target)
        assert code_ == 0 and len(dataset.lines(target)) == 2, stderr
    code_, _, stderr = run("dataset", "audit", source, flag, world / f"audit{flag}")
    assert code_ == 0 and (world / f"audit{flag}" / "review.csv").exists(), stderr


def test_parquet_is_read_and_compared_with_another_file(world, run):
    rows = pyarrow.table({"prompt": ["a", "b"], "completion": [code(5), code(6)], "more": [1, 2]})
    pyarrow.parquet.write_table(rows, world / "own.parquet")
    other = table(world / "other.csv", [("b", code(6, 1))])
    code_, _, stderr = run("dataset", "dedup", world / "own.parquet", "--against", other, "--out", world / "left.jsonl")
    assert code_ == 0, stderr
    assert [row["prompt"] for row in dataset.lines(world / "left.jsonl")] == ["a"]


def test_an_index_knows_what_was_sketched(world, run):
    first = table(world / "first.csv", [("p", code(i)) for i in range(10, 16)])
    second = table(world / "second.csv", [("p", code(12, 1)), ("p", code(30))])
    for files in ((first,), (first, second)):
        code_, stdout, stderr = run("dataset", "dedup", *files, "--index", world / "index", "--out", world / "all.csv")
        assert code_ == 0, stderr
    assert "had been sketched before" in stdout
    assert len(dataset.rows(world / "all.csv")) == 7


def test_an_audit_flags_copies_and_its_exit_code_says_so_if_asked(world, run):
    dataset.write(world / "KernelBench", {"KernelBench/level1/7_Gate.py": dataset.BENCHMARK})
    stolen = dataset.BENCHMARK.replace("gate", "door").replace("depth", "reach")
    source = table(world / "audited.csv", [("Write a kernel.", code(1)), ("Optimise:\n" + stolen, "ok = 1")])
    words = ("dataset", "audit", source, "--against", world / "KernelBench", "--out", world / "audit")
    code_, stdout, stderr = run(*words)
    assert code_ == 0, stderr
    flags = dataset.lines(world / "audit/flags.jsonl")
    assert [row["row"].split(", ")[1] for row in flags] == ["row 2"] and "1 of 2 rows flagged" in stdout
    assert run(*words, "--fail-on-leak")[0] == 1


def test_conversations_come_out_of_rows(world, run):
    source = table(world / "talk.csv", [("say a", "a"), ("say b", "b")])
    code_, _, stderr = run("dataset", "export", source, "--out", world / "talk.jsonl", "--messages")
    assert code_ == 0, stderr
    assert json.loads((world / "talk.jsonl").read_text().splitlines()[1])["messages"][1] == {
        "role": "assistant", "content": "b"}


@pytest.mark.parametrize("words, said", [
    (("dedup", "nowhere.csv", "--out", "x.csv"), "nowhere.csv"),
    (("dedup", "{rows}", "--out", "x.txt"), ".txt"),
    (("audit", "{rows}", "--prompt-column", "question"), "question"),
    (("export", "{rows}", "--out", "x.csv", "--messages"), "CSV"),
])
def test_errors_name_what_is_wrong(words, said, world, run):
    source = table(world / "some.csv", [("a", "b")])
    code_, _, stderr = run("dataset", *[str(source) if word == "{rows}" else word for word in words])
    assert code_ == 1 and said in stderr and "error:" in stderr


def test_a_wrong_flag_is_a_usage_error(run):
    assert run("dataset", "dedup")[0] == 2
    assert run("dataset", "build", "--fim", "sideways", "--out", "x")[0] == 2
