"""`verify --format` and `explain --format`: SARIF and GitHub's annotations of one batch that is judged once."""
import json

import pytest

from . import program, victims

pytestmark = pytest.mark.skipif(program.DEVICE != "cpu", reason="the interpreter's words")

HONEST = victims.code_of("honest")
REFUSED = HONEST.replace("x = tl.load(", "x = tl.lod(")
LINE = REFUSED[:REFUSED.index("tl.lod")].count("\n") + 1
COMMAND = "::error::injected"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A pair, an answer, and a batch of both and of rows with their code; one row is broken."""
    folder = tmp_path_factory.mktemp("formats")
    reference = victims.code_of("reference")
    (folder / "reference.py").write_text(reference, encoding="utf-8")
    (folder / "a kernel.py").write_text(REFUSED, encoding="utf-8")
    (folder / "answer.md").write_text(f"An answer:\n\n```python\n{REFUSED}```\n", encoding="utf-8")
    rows = [{"id": "file", "reference_path": "reference.py", "kernel_path": "a kernel.py"},
            {"id": "answer", "reference_path": "reference.py", "kernel_path": "answer.md"},
            {"id": f"x\n{COMMAND}", "reference_code": reference, "kernel_code": HONEST.replace("x + y,", "x - y,")},
            {"id": "right", "reference_code": reference, "kernel_code": HONEST},
            {"id": "broken", "reference_code": reference}]
    program.write_rows(folder / "batch.jsonl", rows)
    return folder


@pytest.fixture(scope="module")
def judged(run, folder):
    """The batch as SARIF, with the verdicts beside it."""
    return run(*program.verify_command("--batch", folder / "batch.jsonl", "--output", folder / "verdicts.jsonl", "--format",
                                       "sarif", "--fail-on-incorrect")[1:])


def places(log):
    """id → (path, region) of each result."""
    found = {}
    for result in log["runs"][0]["results"]:
        place = result["locations"][0]["physicalLocation"]
        found[result["properties"]["id"]] = (place["artifactLocation"]["uri"].rpartition("/")[2], place["region"])
    return found


def test_sarif_has_the_places_of_files_answers_and_rows(judged):
    assert judged.code == 1
    log = json.loads(judged.stdout)
    def of(line):
        return {"startLine": line, "startColumn": 9, "endLine": line, "endColumn": 15}
    assert places(log) == {
        "file": ("a%20kernel.py", of(LINE)),
        "answer": ("answer.md", of(LINE + 3)),
        f"x<U+000A>{COMMAND}": ("batch.jsonl", {"startLine": 3}),
    }
    [invocation] = log["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "row 5: neither" in invocation["toolExecutionNotifications"][0]["message"]["text"]
    assert "4 candidates: 1 correct" in judged.stderr


def test_all_verdicts_are_in_the_output(judged, folder):
    assert len(program.read_verdicts((folder / "verdicts.jsonl").read_text(encoding="utf-8"))) == 4


def test_explain_needs_the_input_for_the_places(run, judged, folder):
    assert judged.stdout
    words = ("explain", folder / "verdicts.jsonl", "--format", "sarif")
    stored = run(*words, "--input", folder / "batch.jsonl")
    assert stored.code == 0 and stored.stderr == ""
    assert places(json.loads(stored.stdout)) == places(json.loads(judged.stdout))
    alone = places(json.loads(run(*words).stdout))
    assert {path for path, _ in alone.values()} == {"verdicts.jsonl"}
    assert sorted(region["startLine"] for _, region in alone.values()) == [1, 2, 3]


def test_github_gets_annotations_and_a_summary(run, judged, folder, tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    done = run("explain", folder / "verdicts.jsonl", "--input", folder / "batch.jsonl", "--format", "github",
               GITHUB_STEP_SUMMARY=str(summary))
    assert done.code == 0, done.stderr
    assert [line.partition(" ")[0] for line in done.stdout.splitlines()] == ["::error"] * 3
    assert f"a kernel.py,line={LINE},col=9,endColumn=15,title=failed (compile_error)::file: " in done.stdout
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("before\n## Kernelwright: 1 of 4 kernels right\n") and f"\n{COMMAND}" not in text


def test_a_summary_that_cannot_be_written_is_an_error(run, judged, folder):
    done = run("explain", folder / "verdicts.jsonl", "--format", "github", GITHUB_STEP_SUMMARY="/nowhere/summary.md")
    assert done.code == 1 and "cannot write the job summary /nowhere/summary.md" in done.stderr


def test_the_table_in_a_log_of_a_workflow_is_no_command(run, tmp_path):
    hostile = program.write_rows(tmp_path / "hostile.jsonl", [
        {"id": f"  {COMMAND}##[add-mask]x", "reference_code": victims.code_of("reference"), "kernel_code": "import ctypes"}])
    done = run(*program.verify_command(hostile)[1:], GITHUB_ACTIONS="true")
    lines = (done.stdout + done.stderr).splitlines()
    assert not [line for line in lines if line.lstrip().startswith("::") or "##[" in line], lines
    assert any(line.lstrip().startswith("\\" + COMMAND) for line in lines)


def test_an_input_without_verdicts_is_an_empty_log(run, tmp_path):
    rows = program.write_rows(tmp_path / "rows.jsonl", [{"id": "broken", "reference_code": "x", "kernel_path": "missing.py"}])
    done = run(*program.verify_command(rows, "--format", "sarif")[1:])
    assert done.code == 1 and json.loads(done.stdout)["runs"][0]["results"] == []


@pytest.mark.parametrize("flags, why", [
    (("--format", "sarif", "--json"), "--json"), (("--format", "sarif", "--only", "failed"), "--only belongs to the table"),
    (("--format", "github", "--show-output"), "--show-output belongs to the table"), (("--format", "xml"), "table")])
def test_flags_that_do_not_fit_are_refused(run, folder, flags, why):
    done = run(*program.verify_command(folder / "reference.py", folder / "a kernel.py", *flags)[1:])
    assert done.code == 2 and why in done.stderr and done.stdout == ""


def test_a_word_has_no_format(run):
    done = run("explain", "decoy", "--format", "sarif")
    assert done.code == 2 and "--format belong to a file of verdicts" in done.stderr
