"""--require: kernels that a right result needs in order to count."""
import pytest

from . import program, victims

CODES = {"own": victims.code_of("honest"), "torch": "def triton_kernel_wrapper(x, y):\n    return x + y\n"}
REASONS = {
    "own": {"own": None, "torch": "library_only"},
    "triton": {"own": None, "torch": "library_only"},
    "any": {"own": None, "torch": None},
}


@pytest.fixture(scope="module")
def judged(verify, tmp_path_factory):
    """Requirement → the verdicts by id."""
    rows = program.write_rows(tmp_path_factory.mktemp("requirement") / "rows.jsonl", [
        {"id": name, "reference_code": victims.code_of("reference"), "kernel_code": code} for name, code in CODES.items()])
    return {requirement: {each["id"]: each for each in verify(
        "--batch", rows, "--device", "cpu", "--correctness-trials", 2, "--require", requirement).verdicts}
        for requirement in REASONS}


@pytest.mark.parametrize("requirement", REASONS)
def test_it_decides_what_counts(judged, requirement):
    verdicts, reasons = judged[requirement], REASONS[requirement]
    assert {name: each["counts_reason"] for name, each in verdicts.items()} == reasons
    assert {name: each["counts"] for name, each in verdicts.items()} == {name: why is None for name, why in reasons.items()}
    assert all(each["device_time_share"] is None for each in verdicts.values())


def test_verdicts_under_two_requirements_are_not_interchangeable(judged):
    verdicts = [each["own"] for each in judged.values()]
    assert len({each["work"] for each in verdicts}) == len({each["environment"]["protocol"] for each in verdicts}) == 3


def test_another_word_is_refused(verify):
    outcome = verify("reference.py", "kernel.py", "--require", "cuda")
    assert outcome.code == 2 and "own, triton, any" in outcome.stderr
