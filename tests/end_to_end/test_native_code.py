"""Candidates in CUDA C++ run where nvcc is found; elsewhere they are unsupported, never wrong."""
import os
import shutil
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
DEVICE = os.environ.get("KERNELWRIGHT_TEST_DEVICE", "cpu")


def test_load_inline(verify):
    code, verdicts, _ = verify(TESTS / "victims" / "reference.py", TESTS / "candidates" / "cuda_inline.py",
                               "--json", "--timeout", "170")
    verdict = verdicts[0]
    assert code == 0
    if DEVICE != "cpu" and shutil.which("nvcc"):
        assert (verdict["status"], verdict["counts"]) == ("correct", True), verdict["error"]
    else:
        assert (verdict["status"], verdict["error_class"]) == ("skipped", "unsupported_candidate"), verdict["error"]
