"""The start of Python is named when it takes long, and left out where no candidate needs it."""
import os
import pty
import subprocess
import time

import pytest

from . import killing, program, victims

REFUSED = {
    "no entry": killing.WITHOUT_ENTRY.format(number=0, turn=1),
    "forbidden": "import ctypes\n" + victims.code_of("honest"),
    "prose": "# Notes\n\nThe kernel is in another file; see the README.\n",
}
COMMON = ("status", "stage", "fault", "error_class", "error", "error_detail", "counts", "trust", "correctness")


def row(name):
    return {"id": name, "reference_code": victims.code_of("reference"), "kernel_code": REFUSED[name]}


class SlowPython:
    """A program in the place of Python that takes three seconds and fails, and tells whether it was started."""

    def __init__(self, folder):
        self.path, self.mark = folder / "python", folder / "started"
        self.path.write_text(f"#!/bin/sh\n: > '{self.mark}'\nsleep 3\nexit 1\n", encoding="utf-8")
        self.path.chmod(0o755)


@pytest.fixture
def slow(tmp_path):
    return SlowPython(tmp_path)


def test_refused_candidates_need_no_python(verify, batch, slow):
    began = time.monotonic()
    code, verdicts, stderr = verify("--batch", batch([row(name) for name in REFUSED]), "--python", slow.path)
    assert code == 0 and time.monotonic() - began < 2, stderr
    assert {verdict["id"]: (verdict["status"], verdict["error_class"]) for verdict in verdicts} == {
        "no entry": ("failed", "missing_entry"), "forbidden": ("failed", "forbidden"),
        "prose": ("failed", "syntax_error")}
    assert not slow.mark.exists()


def test_verdicts_are_the_same_with_and_without_a_start(verify, batch):
    rows = [row(name) for name in REFUSED]
    alone = verify("--batch", batch(rows)).verdicts
    together = verify("--batch", batch([*rows, victims.honest_row(1)])).verdicts
    assert together[-1]["status"] == "correct" or len(together) == len(rows) + 1
    found = [{verdict["id"]: {key: verdict[key] for key in COMMON} for verdict in verdicts if verdict["id"] in REFUSED}
             for verdicts in (alone, together)]
    assert len(found[0]) == len(REFUSED) and found[0] == found[1]


def test_a_refused_row_is_written_once_although_a_later_row_needs_python(verify, batch, tmp_path):
    output, rows = tmp_path / "out.jsonl", [row(name) for name in REFUSED]
    assert len(verify("--batch", batch(rows), "--output", output).verdicts) == len(rows)
    rows.append(victims.honest_row(1))
    for _ in range(2):
        assert len(verify("--batch", batch(rows), "--output", output).verdicts) == len(rows)


def test_broken_rows_need_no_python(verify, tmp_path, slow):
    rows = tmp_path / "rows.jsonl"
    rows.write_text("{broken\nid,code\n", encoding="utf-8")
    code, verdicts, stderr = verify("--batch", rows, "--python", slow.path)
    assert code == 1 and verdicts == [] and "row 1" in stderr and "row 2" in stderr, stderr
    assert not slow.mark.exists()


def test_a_broken_row_is_told_before_the_start(verify, batch, slow):
    rows = batch([victims.honest_row(1)])
    rows.write_text("{broken\n" + rows.read_text(encoding="utf-8"), encoding="utf-8")
    code, _, stderr = verify("--batch", rows, "--python", slow.path)
    assert code == 1 and stderr.index("row 1") < stderr.index("starting Python with PyTorch"), stderr
    assert slow.mark.exists()


def test_output_without_a_start_is_continued(verify, batch, tmp_path, slow):
    output = tmp_path / "out.jsonl"
    rows = batch([row(name) for name in REFUSED])
    for _ in range(2):
        assert verify("--batch", rows, "--output", output, "--python", slow.path).code == 0
        assert len(output.read_text(encoding="utf-8").splitlines()) == len(REFUSED)


def test_a_quick_start_is_not_named(run, tmp_path):
    folder = tmp_path
    traces = killing.quick_traces(folder, 1)
    code, _, stderr = run("run", "--traces", traces, "--model-replay", traces, "--output", folder / "x.json",
                          "--device", "cpu", "--python", killing.stand_in_python(folder), limit=60)
    assert code == 0 and "starting" not in stderr, stderr


def test_a_terminal_shows_the_seconds_of_the_start(batch, scratch, slow):
    ours, theirs = pty.openpty()
    command = program.verify_command("--batch", batch([victims.honest_row(1)]), "--python", slow.path)
    process = program.start(command, scratch, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:  # Linux reports the end of a terminal as an error
        pass
    os.close(ours)
    assert process.wait(60) == 1
    assert b"starting Python with PyTorch: 2 s" in shown, shown
