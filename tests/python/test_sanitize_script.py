"""bench/gpu/sanitize.py: what it reads from compute-sanitizer."""
import importlib.util
import stat
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "bench/gpu/sanitize.py"
spec = importlib.util.spec_from_file_location("sanitize", SCRIPT)
sanitize = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sanitize)

# As compute-sanitizer 2025.3.1 printed it on an H100, without most frames of the host.
OVER_READ = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at copy+0x250 in probe.py:8
=========     by thread (72,0,0) in block (0,0,0)
=========     Access to 0x7f2f04800fac is out of bounds
=========     and is 13 bytes after the nearest allocation at 0x7f2f04800000 of size 4,000 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: launch [0x1dbe] in __triton_launcher.cpython-312-x86_64-linux-gnu.so
=========         Host Frame: __call__ in driver.py:713
=========
========= Invalid __global__ read of size 4 bytes
=========     at copy+0x250 in probe.py:8
=========     by thread (73,0,0) in block (0,0,0)
=========     Access to 0x7f2f04800fbc is out of bounds
=========     and is 29 bytes after the nearest allocation at 0x7f2f04800000 of size 4,000 bytes
=========
========= Target application returned an error
========= ERROR SUMMARY: 6 errors
========= ERROR SUMMARY: 3 errors were not printed. Use --print-limit option to adjust the number of printed errors
"""
RACE = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at sum+0xe0
=========     and Read access at sum+0xf0 [1024 hazards]
=========
sum 192.0
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


def test_an_access_that_many_threads_make_is_one_finding():
    assert sanitize.findings_of(OVER_READ) == [
        {"kind": "__global__ read of size 4 bytes", "kernel": "copy", "place": "probe.py:8", "is_error": True}]


def test_a_race_names_its_kernel():
    assert sanitize.findings_of(RACE) == [
        {"kind": "race", "kernel": "sum", "place": "", "is_error": True}]


def test_a_hazard_of_a_warning_is_no_error():
    assert [each["is_error"] for each in sanitize.findings_of(RACE.replace("Error: ", "Warning: "))] == [False]


def test_a_name_with_its_parameters_is_kept_whole():
    named = RACE.replace("sum+0xe0", "sum(const float *, float *)+0xe0 in sum.cu:5")
    assert [(each["kernel"], each["place"]) for each in sanitize.findings_of(named)] == [
        ("sum(const float *, float *)", "sum.cu:5")]


def test_what_a_program_prints_is_no_finding():
    assert sanitize.findings_of("Invalid __global__ read of size 4 bytes\n     at copy+0x10\n") == []


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Makes a compute-sanitizer that prints a text."""
    def make(text, status=0):
        path = tmp_path / "compute-sanitizer"
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {status}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(sanitize, "tool_path", lambda: str(path))
    return make


@pytest.mark.parametrize(("text", "outcome"), [
    (OVER_READ, "found"), ("========= ERROR SUMMARY: 0 errors", "clean"), ("========= Error: no device", "not_run")])
def test_only_a_tool_that_comes_to_its_summary_shows_that_a_call_is_clean(tool, text, outcome):
    tool(text)
    assert sanitize.tool_outcome("memcheck", ["call"])["outcome"] == outcome


def test_a_call_that_fails_without_a_finding_is_not_clean(tool):
    tool("========= ERROR SUMMARY: 0 errors", status=1)
    assert sanitize.tool_outcome("memcheck", ["call"])["outcome"] == "not_run"


def test_a_tool_that_is_missing_is_no_fault(monkeypatch):
    monkeypatch.setattr(sanitize, "tool_path", lambda: None)
    assert sanitize.tool_outcome("memcheck", ["call"]) == {
        "outcome": "not_run", "reason": "compute-sanitizer is not installed"}
