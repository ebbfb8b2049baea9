"""The command line: exit codes, outputs, resuming, interruption."""
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
import venv

import pytest

from . import program, victims

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
WRONG = victims.code_of("honest").replace("x + y,", "x - y,")


def wrong_row():
    return {"id": "wrong", "reference_code": victims.code_of("reference"), "kernel_code": WRONG}


def loop_row():
    return {"id": "loop", "reference_code": victims.code_of("reference"), "kernel_code": victims.code_of("host_loop")}


def ids(verdicts):
    return [verdict["id"] for verdict in verdicts]


def output_rows(path):
    return program.read_verdicts(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """An honest pair as two files."""
    folder = tmp_path_factory.mktemp("pair")
    reference, kernel = folder / "reference.py", folder / "kernel.py"
    reference.write_text(victims.code_of("reference"), encoding="utf-8")
    kernel.write_text(victims.code_of("honest"), encoding="utf-8")
    return reference, kernel


# ---- arguments -----------------------------------------------------------------------------------------


def test_help_names_the_options(run):
    code, stdout, _ = run("--help", limit=10)
    assert code == 0 and "verify" in stdout and "doctor" in stdout
    code, stdout, _ = run("verify", "--help", limit=10)
    assert code == 0
    for option in ("--batch", "--traces", "--kernelbench", "--input-shapes", "--device", "--correctness-trials",
                   "--timing-trials", "--tolerance", "--precision", "--tf32", "--min-trust", "--timeout", "--jobs",
                   "--json", "--output", "--limit", "--dry-run", "--fail-on-incorrect", "--weights",
                   "--allow-unsandboxed", "--python"):
        assert option in stdout, option


def test_help_is_quick(run):
    def once():
        began = time.perf_counter()
        assert run("--help", limit=10).code == 0
        return time.perf_counter() - began
    assert min(once() for _ in range(10)) < 0.05  # includes Python's start of a process


def test_version(run):
    for flag in ("--version", "-V"):
        code, stdout, _ = run(flag, limit=10)
        assert code == 0 and re.fullmatch(r"kernelwright \d+\.\d+\.\d+\n", stdout), stdout


def test_doctor(run):
    code, stdout, stderr = run("doctor", "--python", sys.executable, limit=120)
    assert code in (0, 1), stderr
    for word in ("torch", "triton", "2.11.0", "isolation"):
        assert word in stdout.lower(), word


def test_doctor_of_a_python_without_packages_says_how_to_choose_another(run, tmp_path):
    venv.create(tmp_path / "bare", symlinks=True)
    code, stdout, stderr = run("doctor", "--python", tmp_path / "bare/bin/python", limit=120)
    assert code == 1, stderr
    assert "install torch into this Python, or name another by --python" in stdout and "VIRTUAL_ENV" in stdout


@pytest.mark.parametrize("words", [("verify",), ("verify", "--no-such-option"), ("no-such-verb",),
                                   ("verify", "--jobs", "many", "x"), ("verify", "--weights", "heavy", "x")])
def test_wrong_words_are_exit_code_2(run, words):
    code, _, stderr = run(*words, limit=20)
    assert code == 2 and stderr.strip()


# ---- exit codes ----------------------------------------------------------------------------------------


def test_an_incorrect_kernel_is_exit_code_0(verify, batch):
    rows = batch([wrong_row()])
    code, verdicts, _ = verify("--batch", rows)
    assert code == 0 and [verdict["status"] for verdict in verdicts] == ["incorrect"]
    assert verify("--batch", rows, "--fail-on-incorrect").code == 1


def test_two_rows_of_one_id_are_an_error(verify, batch):
    code, _, stderr = verify("--batch", batch([victims.honest_row(1), victims.honest_row(1)]))
    assert code in (1, 2) and "honest-1" in stderr


# ---- outputs -------------------------------------------------------------------------------------------


def test_json_of_one_pair_is_one_object(run, pair):
    code, stdout, stderr = run(*program.verify_command(*pair, "--json")[1:])
    verdict = json.loads(stdout)
    assert code == 0 and verdict["status"] == "correct", stderr


def test_json_of_many_is_a_line_each(run, batch):
    rows = batch([{**victims.honest_row(1), "mine": {"kept": [1, None]}}, wrong_row()])
    _, stdout, _ = run(*program.verify_command("--batch", rows, "--json")[1:])
    verdicts = [json.loads(line) for line in stdout.splitlines()]
    assert sorted(ids(verdicts)) == ["honest-1", "wrong"]
    assert [verdict["mine"] for verdict in verdicts if verdict["id"] == "honest-1"] == [{"kept": [1, None]}]


def test_stdin_closed(run, pair):
    command = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *program.verify_command(*pair, "--json")]
    done = subprocess.run(command, capture_output=True, timeout=program.LIMIT_S, start_new_session=True)
    assert done.returncode == 0 and json.loads(done.stdout)["status"] == "correct"


def on_terminal(command, scratch, **environment):
    """All output of the program on a terminal."""
    ours, theirs = os.openpty()
    process = program.start(command, scratch, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
                            environment={"TERM": "xterm-256color", **environment})
    os.close(theirs)
    shown, deadline = b"", time.monotonic() + program.LIMIT_S
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 1)[0]:
            continue
        try:
            part = os.read(ours, 1 << 16)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait(20) == 0
    return shown.decode("utf-8", "replace")


def test_no_color(pair, scratch):
    shown = on_terminal(program.verify_command(*pair), scratch, NO_COLOR="1")
    assert "correct" in shown and not COLOUR.search(shown)


def test_no_escapes_without_a_terminal(run, pair):
    _, stdout, stderr = run(*program.verify_command(*pair)[1:])
    assert "correct" in stdout and "\x1b" not in stdout + stderr


def test_dry_run_judges_nothing(run, batch, tmp_path):
    output = tmp_path / "out.jsonl"
    rows = batch([victims.honest_row(1), loop_row()])
    words = program.verify_command("--batch", rows, "--output", output, "--dry-run")[1:]
    code, stdout, stderr = run(*words, limit=60)
    assert code == 0 and (stdout + stderr).strip()
    assert not output.exists()


def test_limit(verify, batch):
    _, verdicts, _ = verify("--batch", batch([victims.honest_row(number) for number in range(3)]), "--limit", 2)
    assert ids(verdicts) and set(ids(verdicts)) == {"honest-0", "honest-1"}


# ---- resuming ------------------------------------------------------------------------------------------


FIRST = (victims.honest_row(1), wrong_row())


@pytest.fixture(scope="module")
def finished_output(verify, tmp_path_factory):
    """The output of a finished run."""
    folder = tmp_path_factory.mktemp("finished")
    rows, output = program.write_rows(folder / "batch.jsonl", FIRST), folder / "out.jsonl"
    assert verify("--batch", rows, "--output", output).code == 0
    return output.read_bytes()


@pytest.fixture
def output(finished_output, tmp_path):
    """A copy of the finished output."""
    path = tmp_path / "out.jsonl"
    path.write_bytes(finished_output)
    return path


def test_a_second_run_does_nothing(verify, batch, output, finished_output):
    began = time.monotonic()
    code, verdicts, _ = verify("--batch", batch(FIRST), "--output", output)
    assert code == 0 and len(verdicts) == 2 and output.read_bytes() == finished_output
    assert time.monotonic() - began < 15


def test_only_what_is_new_is_done(verify, batch, output, finished_output):
    code, verdicts, _ = verify("--batch", batch([*FIRST, victims.honest_row(2)]), "--output", output)
    assert code == 0 and sorted(ids(verdicts)) == ["honest-1", "honest-2", "wrong"]
    assert output.read_bytes().startswith(finished_output)


def test_a_torn_last_line_is_repaired(verify, batch, output, finished_output):
    output.write_bytes(finished_output[:-40])
    code, verdicts, _ = verify("--batch", batch(FIRST), "--output", output)
    assert code == 0 and sorted(ids(verdicts)) == ["honest-1", "wrong"]
    assert len(output.read_bytes().splitlines()) == 2


# ---- interruption --------------------------------------------------------------------------------------


@pytest.fixture
def busy(batch, tmp_path, scratch):
    """The program in the middle of a batch: one row written, another one looping. (process, output)"""
    rows = batch([victims.honest_row(1), loop_row(), *[victims.honest_row(number) for number in range(2, 40)]])
    output = tmp_path / "out.jsonl"
    process = program.start(program.verify_command("--batch", rows, "--output", output, "--timeout", 120, "--jobs", 2),
                            scratch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if output.exists() and b"\n" in output.read_bytes():
            break
        time.sleep(0.05)
    yield process, output
    if process.poll() is None:
        process.kill()
    process.communicate()


def test_ctrl_c(traces_left, busy):
    process, output = busy
    assert process.poll() is None, "over before it could be interrupted"
    written = output_rows_so_far(output)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130 and time.monotonic() - began < 10
    kept = output_rows(output)
    assert written and ids(kept)[: len(written)] == ids(written)
    assert all(verdict["status"] == "correct" for verdict in kept)
    traces_left.assert_none()


def output_rows_so_far(path):
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def test_killed(traces_left, busy):
    process, output = busy
    assert process.poll() is None, "over before it could be killed"
    below = program.descendants(process.pid)
    assert below
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    assert traces_left.processes() == []
    assert output_rows_so_far(output)


def test_a_run_goes_on_after_a_kill(verify, batch, busy):
    process, output = busy
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    rows = batch([victims.honest_row(1), victims.honest_row(2)], "shorter.jsonl")
    code, _, stderr = verify("--batch", rows, "--output", output)
    assert code == 0, stderr
    assert {"honest-1", "honest-2"} <= set(ids(output_rows(output)))
