"""--require: kernels that a right result needs in order to count."""
import pytest

from . import victims

CODES = {"own": victims.code_of("honest"), "torch": "def triton_kernel_wrapper(x, y):\n    return x + y\n"}


@pytest.mark.parametrize(("requirement", "reasons"), [
    ("own", {"own": None, "torch": "library_only"}),
    ("triton", {"own": None, "torch": "library_only"}),
    ("any", {"own": None, "torch": None}),
])
def test_it_decides_what_counts(verify, batch, requirement, reasons):
    rows = batch([{"id": name, "reference_code": victims.code_of("reference"), "kernel_code": code}
                  for name, code in CODES.items()])
    outcome = verify("--batch", rows, "--device", "cpu", "--correctness-trials", 2, "--require", requirement)
    assert {each["id"]: each["counts_reason"] for each in outcome.verdicts} == reasons
    assert {each["id"]: each["counts"] for each in outcome.verdicts} == {name: why is None for name, why in reasons.items()}
    assert all(each["device_time_share"] is None for each in outcome.verdicts)


def test_another_word_is_refused(verify):
    outcome = verify("reference.py", "kernel.py", "--require", "cuda")
    assert outcome.code == 2 and "own, triton, any" in outcome.stderr


def test_verdicts_under_two_requirements_are_not_interchangeable(verify, batch):
    rows = batch([{"id": "own", "reference_code": victims.code_of("reference"), "kernel_code": CODES["own"]}])
    own, triton = (verify("--batch", rows, "--device", "cpu", "--correctness-trials", 2, *words).verdicts[0]
                   for words in ((), ("--require", "triton")))
    assert own["work"] != triton["work"] and own["environment"]["protocol"] != triton["environment"]["protocol"]
