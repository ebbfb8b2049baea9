"""The sample, row by row, against the verdicts expected of it."""
import json

import pytest

from . import program

EXPECTED = json.loads((program.ROOT / "examples/sample/expected.json").read_text(encoding="utf-8"))
# examples/sample/README.md: a GPU judges the given shape, and runs inline assembly.
WITH_GPU = {
    "sample_log_softmax~2": ("correct", None),
    "sample_log_softmax~3": ("incorrect", "wrong_value"),
    "sample_swish_gate~5": ("correct", None),
}


@pytest.fixture(scope="module")
def by_id(sample_run):
    return {verdict["id"]: verdict for verdict in sample_run.verdicts}


def test_every_candidate_got_its_verdict(sample_run, by_id):
    assert sample_run.code == 0, sample_run.stderr
    assert len(sample_run.verdicts) == len(by_id)
    assert set(by_id) == set(EXPECTED)


@pytest.mark.parametrize("row", EXPECTED)
def test_row(by_id, row):
    verdict, expected = by_id[row], EXPECTED[row]
    wanted = (expected["status"], expected["error_class"])
    if program.DEVICE != "cpu":
        wanted = WITH_GPU.get(row, wanted)
        if wanted[1] == "out_of_bounds":
            # A GPU detects only accesses outside mapped memory, and wrong results.
            assert verdict["status"] in ("failed", "incorrect"), verdict
            return
    assert (verdict["status"], verdict["error_class"]) == wanted, (expected["why"], verdict)
    if wanted == (expected["status"], expected["error_class"]) and expected["counts"] is not None:
        assert (verdict["counts"], verdict["counts_reason"]) == (expected["counts"], expected["counts_reason"]), verdict


def test_fields_follow_from_the_status(sample_run):
    correctness = {"correct": True, "incorrect": False, "failed": False, "skipped": None, "error": None}
    for verdict in sample_run.verdicts:
        assert verdict["schema"] == "kernelwright.verdict/1"
        assert verdict["correctness"] is correctness[verdict["status"]], verdict["id"]
        assert (verdict["fault"] == "kernel") == (verdict["status"] in ("incorrect", "failed")), verdict["id"]
        assert (verdict["error_class"] is None) == (verdict["status"] == "correct"), verdict["id"]
        if program.DEVICE == "cpu":
            assert verdict["speedup"] is None and verdict["timing"]["why_null"], verdict["id"]


def test_compile_errors_name_the_line(by_id):
    for row, expected in EXPECTED.items():
        if expected["error_class"] in ("compile_error", "syntax_error"):
            assert by_id[row]["error_detail"]["line"], by_id[row]
