"""`report` as Markdown, JSON, CSV, figures and a summary, of real verdicts and of hostile ones."""
import csv
import json
import shutil
import subprocess
import sys

import pytest

from . import program

RECORDED = program.ROOT / "examples/recorded_gpu"
FORMULA = "=HYPERLINK(\"http://evil.example\")"
HOSTILE = f"{FORMULA} <script>alert(1)</script> \x1b]0;title\x07 \u202e `[a](http://b)` | $x$"
FIGURES = {"fast_p", "speedups", "right_by_turn", "errors_by_turn", "roofline"}


@pytest.fixture
def report(run):
    return lambda *words, **options: run("report", *words, limit=120, **options)


@pytest.fixture
def draw(report):
    """With the Python of the tests, which has matplotlib."""
    pytest.importorskip("matplotlib")
    return lambda *words: report(*words, "--python", sys.executable)


def verdicts(folder, **changes):
    """A file of the recorded verdicts, changed."""
    path = folder / "verdicts.jsonl"
    rows = [json.loads(line) | changes for line in (RECORDED / "verdicts.jsonl").read_text().splitlines()]
    return program.write_rows(path, rows)


def test_the_summary_is_on_standard_output(report):
    done = report(RECORDED / "verdicts.jsonl")
    assert done.code == 0, done.stderr
    for part in ("verdicts.jsonl (verdicts, finished)", "4 of 8 samples", "speed-up, geometric mean", "errors (turns)"):
        assert part in done.stdout
    assert "\x1b" not in done.stdout


def test_quiet_prints_nothing(report, tmp_path):
    done = report(RECORDED / "verdicts.jsonl", "-q", "--output", tmp_path / "x.md")
    assert (done.code, done.stdout) == (0, "")


def test_markdown_has_figures_and_claims(report, tmp_path):
    done = report(RECORDED / "verdicts.jsonl", "--output", tmp_path / "x.md")
    assert done.code == 0, done.stderr
    text = (tmp_path / "x.md").read_text(encoding="utf-8")
    for part in ("## Overview", "fast_1 (right and faster than PyTorch eager)", "GPU NVIDIA H200", "SM clock 1980 MHz",
                 "timer replay", "### Errors by turn", "## Best kernel of each task", "## Rows"):
        assert part in text


def test_json_is_the_index_of_the_page(report, tmp_path):
    assert report(RECORDED / "verdicts.jsonl", "--output", tmp_path / "x.json").code == 0
    index = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert (index["schema"], index["rows"]["count"]) == ("kernelwright.report/1", 8)
    assert {claim["figure"] for claim in index["summary"]["claims"]} == {"fast_0", "fast_1", "geometric_mean_speedup"}


def test_csv_has_a_line_for_each_row(report, tmp_path):
    assert report(RECORDED / "verdicts.jsonl", "--output", tmp_path / "x.csv").code == 0
    with open(tmp_path / "x.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8 and rows[0]["source"] == "verdicts.jsonl" and float(rows[0]["speedup"]) > 2


@pytest.mark.parametrize("ending", ["md", "json", "csv"])
def test_a_later_report_replaces_it_and_a_foreign_file_stays(report, tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    for _ in range(2):
        assert report(RECORDED / "verdicts.jsonl", "--output", path).code == 0
    path.write_text("my notes")
    done = report(RECORDED / "verdicts.jsonl", "--output", path)
    assert done.code == 1 and path.name in done.stderr and path.read_text() == "my notes"


@pytest.mark.parametrize("name", ["x.pdf", "x", "x.HTML"])
def test_another_extension_is_a_usage_error(report, tmp_path, name):
    done = report(RECORDED / "verdicts.jsonl", "--output", tmp_path / name)
    assert done.code == 2 and ".csv" in done.stderr


@pytest.mark.parametrize("ending", ["md", "json", "csv"])
def test_a_folder_that_is_missing_or_full_is_an_error(report, tmp_path, ending):
    (tmp_path / "file").write_text("")
    done = report(RECORDED / "verdicts.jsonl", "--output", tmp_path / "file" / f"x.{ending}")
    assert done.code == 1 and done.stderr.startswith("error: ")


def test_hostile_names_do_nothing(report, tmp_path):
    path = verdicts(tmp_path, task_id=HOSTILE, kernel_name=HOSTILE, name=HOSTILE, model=HOSTILE)
    summary = report(path)
    assert summary.code == 0 and not set("\x1b\u202e\x07") & set(summary.stdout)
    for ending in ("md", "csv"):
        assert report(path, "--output", tmp_path / f"x.{ending}").code == 0
    markdown = (tmp_path / "x.md").read_text(encoding="utf-8")
    tables = "\n".join(line for line in markdown.splitlines() if line.startswith("|"))
    assert "<script" not in tables and "http://" not in tables and not set("\x1b\u202e\x07") & set(markdown)
    with open(tmp_path / "x.csv", encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert any("HYPERLINK" in cell for cell in cells)
    assert not [cell for cell in cells if cell.startswith(tuple("=+-@\t\r"))]


def test_figures_have_data_and_captions(draw, tmp_path):
    done = draw(RECORDED / "verdicts.jsonl", "--figures", tmp_path / "figs")
    assert done.code == 0, done.stderr
    names = {path.name for path in (tmp_path / "figs").iterdir()}
    assert names == {f"{name}.{ending}" for name in FIGURES for ending in ("svg", "png", "csv", "txt")} | {
        "tokens_and_time.txt", "figures.json"}
    assert "Not drawn" in (tmp_path / "figs/tokens_and_time.txt").read_text(encoding="utf-8")
    assert "GPU NVIDIA H200" in (tmp_path / "figs/speedups.txt").read_text(encoding="utf-8")
    assert "tokens_and_time" in done.stdout


def test_equal_inputs_give_equal_figures(draw, tmp_path):
    for name in ("a", "b"):
        assert draw(RECORDED / "verdicts.jsonl", "--figures", tmp_path / name).code == 0
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_without_a_gpu_no_speed_is_drawn_and_the_claim_says_so(draw, tmp_path):
    path = verdicts(tmp_path, speedup=None, reference_time_ms=None, kernel_time_ms=None, trust="interpreter")
    done = draw(path, "--figures", tmp_path / "figs", "--output", tmp_path / "x.md")
    assert done.code == 0, done.stderr
    assert not (tmp_path / "figs/speedups.svg").exists() and (tmp_path / "figs/fast_p.svg").exists()
    assert "speed not measured" in (tmp_path / "x.md").read_text(encoding="utf-8")


def test_hostile_names_are_drawn_as_text(draw, tmp_path):
    done = draw(verdicts(tmp_path, task_id=HOSTILE), "--figures", tmp_path / "figs")
    assert done.code == 0, done.stderr
    for path in (tmp_path / "figs").glob("*.svg"):
        assert b"<script" not in path.read_bytes() and b"\xe2\x80\xae" not in path.read_bytes()


def test_a_foreign_file_in_the_folder_stays(draw, tmp_path):
    (tmp_path / "figs").mkdir()
    (tmp_path / "figs/fast_p.png").write_text("mine")
    done = draw(RECORDED / "verdicts.jsonl", "--figures", tmp_path / "figs")
    assert done.code == 1 and "fast_p.png" in done.stderr and (tmp_path / "figs/fast_p.png").read_text() == "mine"


def test_a_python_without_matplotlib_is_told(report, tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {shutil.which("env")} {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    done = report(RECORDED / "verdicts.jsonl", "--figures", tmp_path / "figs", "--python", python)
    assert done.code == 1 and "matplotlib" in done.stderr and "-> " in done.stderr
    assert (tmp_path / "figs/fast_p.csv").exists()


def test_two_runs_are_compared(report, tmp_path):
    rows = [json.loads(line) for line in (RECORDED / "verdicts.jsonl").read_text().splitlines()]
    for name, status in (("a", "incorrect"), ("b", "correct")):
        changed = [row | {"task_id": f"task {number}", "status": status, "correctness": status == "correct",
                          "counts": True if status == "correct" else None, "counts_reason": None, "error_class": None}
                   for number, row in enumerate(rows)]
        program.write_rows(tmp_path / f"{name}.jsonl", changed)
    done = report(tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--output", tmp_path / "x.md")
    assert done.code == 0, done.stderr
    text = (tmp_path / "x.md").read_text(encoding="utf-8")
    assert "## b.jsonl against a.jsonl" in text and "exact McNemar" in text and "| task 7 | 0.00 | 1.00 |" in text
    assert "8 of 8 tasks better, 0 worse" in report(tmp_path / "a.jsonl", tmp_path / "b.jsonl").stdout


@pytest.mark.parametrize("text", ["", "{", "[]", "\x00\x01", '{"a": 1}'])
def test_a_file_that_is_none_is_told(report, tmp_path, text):
    (tmp_path / "x.jsonl").write_text(text)
    done = report(tmp_path / "x.jsonl", "--output", tmp_path / "x.md")
    assert done.code in (0, 1) and "x.jsonl" in done.stdout + done.stderr


def test_a_full_disk_is_an_error(scratch):
    with open("/dev/full", "wb") as full:
        process = program.start([program.binary(), "report", str(RECORDED / "verdicts.jsonl")], scratch, stdout=full,
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        errors = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 1 and "cannot write standard output" in errors
