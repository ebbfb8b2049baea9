"""Bad input: one clear error that names file, row and remedy; good rows of the batch still run."""
import json
import re

import pytest

from . import program, victims

KERNEL, REFERENCE = victims.code_of("honest"), victims.code_of("reference")


def line(row):
    return json.dumps(row).encode() + b"\n"


def good(name="good"):
    return {"id": name, "reference_code": REFERENCE, "kernel_code": KERNEL}


BAD_LINES = {
    "truncated": (line(good("bad"))[:60] + b"\n", ("json",)),
    "foreign": (b"id,reference_code,kernel_code\n", ("json",)),
    "a list": (b"[1, 2, 3]\n", ("object",)),
    "a number for code": (line({**good("bad"), "kernel_code": 7}), ("kernel_code",)),
    "no kernel": (line({"id": "bad", "reference_code": REFERENCE}), ("kernel_code",)),
    "no reference": (line({"id": "bad", "kernel_code": KERNEL}), ("reference_code",)),
    "no such file": (line({"id": "bad", "reference_code": REFERENCE, "kernel_path": "no/such/kernel.py"}),
                     ("no/such/kernel.py",)),
    "not UTF-8": (b'{"id": "bad", "reference_code": "\xff\xfe", "kernel_code": "x"}\n', ("utf-8",)),
    "deep nesting": (b"[" * 100_000 + b"]" * 100_000 + b"\n", ("json", "nest", "deep")),
    "odd shapes": (line({**good("bad"), "input_shapes": {"x": {"shape": [-1], "dtype": "odd"}}}),
                   ("input shapes", "input_shapes")),
    "100 MB": (line({**good("bad"), "kernel_code": "#" * (100 << 20)}), ("mb", "mib", "bytes", "long", "large")),
}


@pytest.fixture(scope="module")
def bad_lines(verify, tmp_path_factory):
    """All bad lines in one batch: lines 2, 4, 6, … between good ones."""
    path = tmp_path_factory.mktemp("lines") / "rows.jsonl"
    parts = [line(victims.honest_row(0))]
    for number, (bad, _) in enumerate(BAD_LINES.values(), 1):
        parts += [bad.replace(b'"bad"', b'"bad-%d"' % number), line(victims.honest_row(number))]
    path.write_bytes(b"".join(parts))
    return verify("--batch", path)


@pytest.mark.parametrize("number", range(1, len(BAD_LINES) + 1), ids=list(BAD_LINES))
def test_a_bad_row_is_named(bad_lines, number):
    hints = list(BAD_LINES.values())[number - 1][1]
    told = bad_lines.stderr.splitlines() + [verdict["error"] for verdict in bad_lines.verdicts if verdict["error"]]
    about = [each for each in told if "rows.jsonl" in each and re.search(rf"\b{2 * number}\b", each)]
    assert any(hint in each.lower() for hint in hints for each in about), told


def test_good_rows_still_run(bad_lines):
    assert bad_lines.code == 1
    correct = {verdict["id"] for verdict in bad_lines.verdicts if verdict["status"] == "correct"}
    assert correct == {f"honest-{number}" for number in range(len(BAD_LINES) + 1)}


def test_errors_are_short(bad_lines):
    assert len(bad_lines.stderr) < 20_000
    assert "terminate called" not in bad_lines.stderr and "Traceback" not in bad_lines.stderr


BAD_REFERENCES = {
    "does not import": ("import no_such_module\n" + REFERENCE, "no_such_module"),
    "does not parse": ("class Model(:\n", "syntax"),
    "no get_inputs": (REFERENCE.replace("def get_inputs", "def make_inputs"), "get_inputs"),
    "no model": ("import torch\n\n\ndef get_inputs():\n    return [torch.ones(3)]\n", "model"),
    "raises": (REFERENCE.replace("return x + y", 'raise ValueError("reference refuses")'), "reference refuses"),
    "get_inputs raises": (REFERENCE.replace("return [", "return no_inputs_today + ["), "no_inputs_today"),
}
EXITS = "import os\nos._exit(0)\n" + REFERENCE


@pytest.fixture(scope="module")
def bad_references(verify, tmp_path_factory):
    """All bad references in one batch, each between good rows."""
    path = tmp_path_factory.mktemp("references") / "rows.jsonl"
    rows = [victims.honest_row(0)]
    for number, (kind, (code, _)) in enumerate(BAD_REFERENCES.items(), 1):
        rows += [{"id": kind, "reference_code": code, "kernel_code": KERNEL}, victims.honest_row(number)]
    path.write_bytes(b"".join(line(row) for row in rows))
    code, verdicts, stderr = verify("--batch", path, "--timeout", 15)
    return code, {verdict["id"]: verdict for verdict in verdicts}, stderr


@pytest.mark.parametrize("kind", BAD_REFERENCES)
def test_a_bad_reference_is_the_tasks_fault(bad_references, kind):
    _, verdicts, _ = bad_references
    verdict, word = verdicts[kind], BAD_REFERENCES[kind][1]
    assert (verdict["status"], verdict["fault"], verdict["correctness"]) == ("error", "task", None), verdict
    assert verdict["error_class"] in ("task_invalid", "timeout"), verdict
    assert word.lower() in verdict["error"].lower(), verdict["error"]


def test_a_bad_reference_is_a_verdict(bad_references):
    code, verdicts, stderr = bad_references
    assert code == 0, stderr
    for number in range(len(BAD_REFERENCES) + 1):
        assert verdicts[f"honest-{number}"]["status"] == "correct", number


def test_a_reference_that_ends_its_process(verify, batch):
    _, verdicts, _ = verify("--batch", batch([{"id": "exits", "reference_code": EXITS, "kernel_code": KERNEL},
                                              victims.honest_row(1)]))
    found = {verdict["id"]: (verdict["status"], verdict["fault"], verdict["correctness"]) for verdict in verdicts}
    assert found == {"exits": ("error", "task", None), "honest-1": ("correct", None, True)}


def assert_one_clear_error(outcome, path, *hints):
    code, verdicts, stderr = outcome
    assert code in (1, 2) and verdicts == []
    assert path.name in stderr and any(hint in stderr.lower() for hint in hints), stderr
    assert len(stderr.strip().splitlines()) <= 6, stderr


def test_a_folder_as_file(verify, tmp_path):
    folder = tmp_path / "rows.jsonl"
    folder.mkdir()
    assert_one_clear_error(verify("--batch", folder), folder, "folder", "directory")


def test_a_folder_with_nothing_to_verify(verify, tmp_path):
    folder = tmp_path / "nothing-here"
    folder.mkdir()
    assert_one_clear_error(verify(folder), folder, "nothing", "no ", "neither")


def test_a_file_that_is_missing(verify, tmp_path):
    path = tmp_path / "missing.jsonl"
    assert_one_clear_error(verify("--batch", path), path, "no such", "not exist", "not found", "missing")


def test_an_empty_file(verify, tmp_path):
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"")
    assert_one_clear_error(verify("--batch", path), path, "empty", "no row")


BAD_TRACES = {
    "truncated": b'[{"sample_key": "a", "pytorch',
    "foreign object": b'{"rows": 3}',
    "foreign rows": b'[{"prompt": "x"}]',
    "binary": b"\x00\x01\x02PAR1",
}


@pytest.mark.parametrize("kind", BAD_TRACES)
def test_bad_traces(verify, tmp_path, kind):
    path = tmp_path / "traces.json"
    path.write_bytes(BAD_TRACES[kind])
    code, verdicts, stderr = verify("--traces", path)
    assert code in (1, 2) and "traces.json" in stderr and len(stderr) < 3000
    assert not [verdict for verdict in verdicts if verdict["status"] != "error"]


def test_nothing_written_is_lost(verify, tmp_path):
    path, output = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    path.write_bytes(line(good("kept")))
    verify("--batch", path, "--output", output)
    before = output.read_bytes()
    path.write_bytes(line(good("kept")) + b"{broken\n")
    assert verify("--batch", path, "--output", output).code == 1
    assert output.read_bytes().startswith(before)


def test_a_file_that_is_no_output_of_ours_is_kept(run, tmp_path):
    path, output = tmp_path / "rows.jsonl", tmp_path / "notes.jsonl"
    path.write_bytes(line(good()))
    output.write_text("my own notes\nof many lines\n", encoding="utf-8")
    code, _, stderr = run(*program.verify_command("--batch", path, "--output", output)[1:])
    assert code in (1, 2) and "notes.jsonl" in stderr
    assert output.read_text(encoding="utf-8") == "my own notes\nof many lines\n"
