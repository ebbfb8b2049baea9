"""`dataset dedup`, `audit` and `export` on files of rows, from the command line."""
import csv
import json
import shutil
import subprocess

import pyarrow
import pyarrow.parquet
import pytest

from . import dataset, program


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
    assert "2 of 4 rows kept" in stdout and "dropped as duplicates of 1 kept row: 1 exact, 0 renamed, 1 near" in stdout


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


def test_an_audit_shows_the_gravest_flags_first(world, run):
    train = table(world / "graver.csv", [*[("p", code(1, i)) for i in range(12)], ("p", code(2))])
    validation = table(world / "graver_validation.csv", [("p", code(2, 1))])
    code_, stdout, stderr = run("dataset", "audit", train, "--validation", validation)
    assert code_ == 0, stderr
    assert "12 similar to other rows of this set, 1 similar to the train split, 1 similar to the validation split" in stdout
    listed = [line.split(": ")[1] for line in stdout.splitlines() if line.startswith("  ") and ", row " in line]
    assert listed[:3] == ["similar to the validation split", "similar to the train split", "similar to other rows of this set"]


def test_conversations_come_out_of_rows(world, run):
    source = table(world / "talk.csv", [("say a", "a"), ("say b", "b")])
    code_, _, stderr = run("dataset", "export", source, "--out", world / "talk.jsonl", "--messages")
    assert code_ == 0, stderr
    code_, _, stderr = run("dataset", "dedup", world / "talk.jsonl", "--out", world / "again.jsonl")
    assert code_ == 1 and "without --messages" in stderr
    assert json.loads((world / "talk.jsonl").read_text().splitlines()[1])["messages"][1] == {
        "role": "assistant", "content": "b"}


@pytest.mark.parametrize("words, said", [
    (("dedup", "nowhere.csv", "--out", "x.csv"), "nowhere.csv"),
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


@pytest.mark.parametrize("verb", ["dedup", "export"])
def test_a_wrong_extension_is_a_usage_error_before_the_work(world, run, verb):
    code_, _, stderr = run("dataset", verb, "nowhere.csv", "--out", "x.py")
    assert code_ == 2 and "the extension is not .csv, .jsonl or .parquet" in stderr and "nowhere" not in stderr


@pytest.mark.parametrize("verb", ["dedup", "export"])
def test_a_foreign_file_is_left_alone(tmp_path, run, verb):
    source = table(tmp_path / "rows.csv", [("p", code(1))])
    own = tmp_path / "own.csv"
    own.write_text("year,price\n2024,3\n", encoding="utf-8")
    code_, _, stderr = run("dataset", verb, source, "--out", own)
    assert code_ == 1 and "own.csv exists and is not a file of rows" in stderr and "-> " in stderr
    assert own.read_text(encoding="utf-8") == "year,price\n2024,3\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.csv", "rows.csv"]


@pytest.mark.parametrize("verb", ["dedup", "export"])
def test_an_input_is_not_the_output(tmp_path, run, verb):
    source = table(tmp_path / "rows.csv", [("p", code(1)), ("p", code(1))])
    code_, _, stderr = run("dataset", verb, source, "--out", source)
    assert code_ == 1 and "the output would overwrite the input" in stderr
    assert len(dataset.rows(source)) == 2


@pytest.mark.parametrize("name", ["kept.csv", "kept.jsonl", "kept.parquet"])
def test_earlier_rows_are_renamed(tmp_path, run, name):
    source = table(tmp_path / "rows.csv", [("p", code(1)), ("q", code(2))])
    out = tmp_path / name
    assert run("dataset", "export", source, "--out", out).code == 0
    before = out.read_bytes()
    code_, _, stderr = run("dataset", "export", source, "--out", out)
    assert code_ == 0 and f"{out} was renamed to {out}.1" in stderr
    assert (tmp_path / f"{name}.1").read_bytes() == before == out.read_bytes()


def test_dedup_replaces_its_own_rows_and_no_other_list(tmp_path, run):
    source = table(tmp_path / "rows.csv", [("p", code(1)), ("p", code(1))])
    out, listed = tmp_path / "kept.csv", tmp_path / "kept.csv.duplicates.jsonl"
    for _ in range(2):
        assert run("dataset", "dedup", source, "--out", out).code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.csv", "kept.csv.duplicates.jsonl", "rows.csv"]
    listed.write_text("mine\n", encoding="utf-8")
    code_, _, stderr = run("dataset", "dedup", source, "--out", out)
    assert code_ == 1 and "is not a list of duplicates" in stderr and listed.read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize("name", ["flags.jsonl", "review.csv"])
def test_an_audit_leaves_foreign_files_alone(tmp_path, run, name):
    source = table(tmp_path / "rows.csv", [("p", code(1))])
    dataset.write(tmp_path / "out", {name: "my own notes\n"})
    code_, _, stderr = run("dataset", "audit", source, "--out", tmp_path / "out")
    assert code_ == 1 and f"{name} exists and is not" in stderr
    assert (tmp_path / "out" / name).read_text(encoding="utf-8") == "my own notes\n"


def test_an_audit_of_a_folder_names_its_rows(tmp_path, run):
    code_, _, stderr = run("dataset", "audit", tmp_path)
    assert code_ == 1 and "is a folder" in stderr and f"{tmp_path}/fim.jsonl" in stderr


@pytest.mark.parametrize("verb", ["dedup", "audit", "export"])
def test_bad_rows_are_named_even_if_quiet(tmp_path, run, verb):
    source = tmp_path / "rows.jsonl"
    good = json.dumps({"prompt": "p", "completion": code(1)})
    source.write_text("\n".join([good, "{broken"] + ['{"prompt": "p"}'] * 11) + "\n", encoding="utf-8")
    code_, stdout, stderr = run("dataset", verb, source, "--out", tmp_path / "out.jsonl", "-q")
    assert code_ == 0 and not stdout
    assert "warning: 12 rows could not be read" in stderr and "rows.jsonl, row 2: " in stderr
    assert stderr.count("rows.jsonl, row ") == 10 and "and 2 more" in stderr


def in_small_disk(scratch, folder, *words):
    """The outcome of `dataset` with a disk of 64 KiB at the folder; skips where nobody may mount one."""
    folder.mkdir()
    mount = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
             'mount -t tmpfs -o size=64k none "$0" && exec "$@"', folder)
    if shutil.which("unshare") is None or subprocess.run([*mount, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespace may mount a file system")
    command = [*map(str, mount), program.binary(), "dataset", *map(str, words)]
    return program.finish(program.start(command, scratch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, environment={"TMPDIR": str(folder)}))


@pytest.mark.parametrize(("beside", "remedy"), [
    (False, "set TMPDIR to another folder"),
    (True, "name a place on another disk with --output"),
])
def test_a_full_disk_of_temporary_files_names_what_decides_on_it(tmp_path, scratch, beside, remedy):
    source = table(tmp_path / "rows.csv", [(f"p{i}", code(i)) for i in range(400)])
    small = tmp_path / "small"
    code_, _, stderr = in_small_disk(scratch, small, "audit", source, *(["--output", small / "audit"] if beside else []))
    assert code_ == 1 and "No space left on device" in stderr
    assert f"temporary files lie in {small}: free some space there, or {remedy}" in stderr
