"""Honest kernels beside candidates that take the CPUs or the device's memory keep their verdicts."""
import pytest

from . import program, victims

pytestmark = pytest.mark.skipif(program.DEVICE != "cpu", reason="bench/gpu/neighbours.py is the same on a GPU")


def hog_row(number):
    """A hog that is different from all others."""
    return {"id": f"hog-{number}", "reference_code": victims.code_of("reference"),
            "kernel_code": f"{victims.code_of('cpu_hog')}\n# number {number}\n"}


@pytest.fixture(scope="module")
def verdicts(verify, tmp_path_factory):
    rows = [hog_row(0), hog_row(1), *(victims.honest_row(number) for number in range(3))]
    batch = program.write_rows(tmp_path_factory.mktemp("neighbours") / "batch.jsonl", rows)
    _, verdicts, _ = verify("--batch", batch, "--jobs", 3, "--timeout", 8, "--correctness-trials", 2)
    return {each["id"]: each for each in verdicts}


@pytest.mark.parametrize("number", range(3))
def test_an_honest_kernel_beside_two_hogs_is_correct(verdicts, number):
    verdict = verdicts[f"honest-{number}"]
    assert verdict["status"] == "correct" and verdict["counts"], verdict


@pytest.mark.parametrize("number", range(2))
def test_a_hog_that_sleeps_is_not_taken_for_one_that_waits_for_a_cpu(verdicts, number):
    verdict = verdicts[f"hog-{number}"]
    assert (verdict["status"], verdict["error_class"], verdict["fault"]) == ("failed", "timeout", "kernel")
