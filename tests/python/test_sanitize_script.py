"""bench/gpu/sanitize.py: what it reads from compute-sanitizer, and where it puts an input."""
import importlib.util
import stat
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "bench/gpu/sanitize.py"
spec = importlib.util.spec_from_file_location("sanitize", SCRIPT)
sanitize = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sanitize)

OVER_READ = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 16 bytes
=========     at copy+0x1a0 in kernel.py:9
=========     by thread (1,0,0) in block (0,0,0)
=========     Access at 0x7f0000000fa0 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f0000000000 of size 4000 bytes
=========
========= Invalid __global__ read of size 16 bytes
=========     at copy+0x1a0 in kernel.py:9
=========     by thread (2,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 2 errors
"""
RACE = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at sum(const float *, float *)+0xb0 in sum.cu:5
=========     and Read access at sum(const float *, float *)+0x100 in sum.cu:6 [1016 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


def test_an_access_that_many_threads_make_is_one_finding():
    assert sanitize.findings_of(OVER_READ) == [
        {"kind": "__global__ read of size 16 bytes", "kernel": "copy", "place": "kernel.py:9", "is_error": True}]


def test_a_race_names_its_kernel():
    assert sanitize.findings_of(RACE) == [
        {"kind": "race", "kernel": "sum(const float *, float *)", "place": "sum.cu:5", "is_error": True}]


def test_a_hazard_of_a_warning_is_no_error():
    assert [each["is_error"] for each in sanitize.findings_of(RACE.replace("Error: ", "Warning: "))] == [False]


def test_what_a_program_prints_is_no_finding():
    assert sanitize.findings_of("Invalid __global__ read of size 4 bytes\n     at copy+0x10\n") == []


@pytest.mark.parametrize(("size", "remainder", "behind"), [(4096, 0, 0), (4000, 0, 0), (4001, 0, 15), (4001, 1, 14)])
def test_an_input_ends_within_16_bytes_of_the_mapping_and_keeps_its_alignment(size, remainder, behind):
    offset, unseen = sanitize.place_in(1 << 21, size, remainder)
    assert (offset % 16, offset + size + unseen, unseen) == (remainder, 1 << 21, behind)


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
