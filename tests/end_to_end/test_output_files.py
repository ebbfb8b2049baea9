"""Files that exist already at --output are kept, and a full disk ends the work with one message."""
import json
import shutil
import subprocess

import pytest

from . import killing, loop, program, victims

NOTES = "my own notes\nof many lines\n"
WITHOUT_ENTRY = killing.WITHOUT_ENTRY.format(number=0, turn=1)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Recorded traces whose answers all end at the static stage, and flags with a Python that starts at once."""
    folder = tmp_path_factory.mktemp("quick")
    return killing.quick_traces(folder, 3), ("--device", "cpu", "--python", killing.stand_in_python(folder))


@pytest.fixture
def play(run, quick):
    """Run the loop on the quick tasks."""
    return lambda output, *words: run(*loop.command(quick[0], output, *quick[1], *words)[1:], limit=60)


@pytest.fixture
def refused_rows(batch):
    """Candidates that the static check refuses."""
    return lambda count: batch([{"id": f"row-{number}", "reference_code": victims.code_of("reference"),
                                 "kernel_code": WITHOUT_ENTRY + f"# {number}\n"} for number in range(count)])


@pytest.fixture
def judge(run, quick):
    """`verify` with the Python that starts at once."""
    return lambda *words, **options: run(*program.verify_command(*words, *quick[1])[1:], limit=60, **options)


def assert_refused(outcome, path, text=NOTES):
    """One error that names the file, its kind and a remedy; the file is unchanged."""
    assert outcome.code == 1 and path.name in outcome.stderr and "it looks like" in outcome.stderr, outcome.stderr
    assert "-> " in outcome.stderr and "--output" in outcome.stderr
    assert path.read_text(encoding="utf-8") == text


# ---- run -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("--fresh",)])
@pytest.mark.parametrize("name", ["x.json", "x_failed.json"])
def test_run_leaves_a_foreign_file_alone(play, tmp_path, name, words):
    path = tmp_path / name
    path.write_text(NOTES, encoding="utf-8")
    assert_refused(play(tmp_path / "x.json", *words), path)
    assert list(tmp_path.iterdir()) == [path]


def test_run_leaves_its_own_input_alone(run, quick, tmp_path):
    traces = tmp_path / "recorded.json"
    shutil.copyfile(quick[0], traces)
    before = traces.read_text(encoding="utf-8")
    assert_refused(run(*loop.command(traces, traces, *quick[1])[1:], limit=60), traces, before)


def test_run_does_not_replace_a_device(play):
    code, _, stderr = play("/dev/full")
    assert code == 1 and "/dev/full" in stderr and "device" in stderr


def test_fresh_keeps_the_traces_of_the_earlier_run(play, tmp_path):
    output = tmp_path / "x.json"
    assert play(output).code == 0
    before = output.read_bytes()
    code, _, stderr = play(output, "--fresh")
    assert code == 0 and f"{output} was renamed to {output}.1" in stderr and "run.db.1" in stderr, stderr
    assert (tmp_path / "x.json.1").read_bytes() == before and (tmp_path / "x_failed.json.1").exists()


def test_traces_without_their_run_are_replaced_by_a_fresh_run_alone(play, tmp_path):
    output = tmp_path / "x.json"
    assert play(output).code == 0
    shutil.rmtree(loop.folder_of(output))
    before = output.read_bytes()
    code, _, stderr = play(output)
    assert code == 1 and "x.json has traces" in stderr and "--fresh" in stderr
    assert output.read_bytes() == before
    assert play(output, "--fresh").code == 0
    assert (tmp_path / "x.json.1").read_bytes() == before


def test_a_fresh_run_that_was_cut_off_says_where_the_earlier_run_is(play, tmp_path):
    output = tmp_path / "x.json"
    assert play(output).code == 0
    database = loop.folder_of(output) / "run.db"
    database.rename(f"{database}.1")
    code, _, stderr = play(output)
    assert code == 1 and f"an earlier run was renamed to {database}.1" in stderr, stderr


# ---- export --------------------------------------------------------------------------------------------


@pytest.fixture
def export(play, run, tmp_path):
    """`kernelwright export` of a run with three traces."""
    source = tmp_path / "source.json"
    assert play(source).code == 0
    return lambda output, *words: run("export", loop.folder_of(source), "--output", output, "--filter", "none", *words,
                                      limit=60)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json", "rows.parquet", "rows.jsonl.card.md"])
def test_export_leaves_a_foreign_file_alone(export, tmp_path, name):
    path = tmp_path / name
    path.write_text(NOTES, encoding="utf-8")
    assert_refused(export(tmp_path / name.removesuffix(".card.md")), path)


def test_export_replaces_its_own_file(export, tmp_path):
    for ending in ("jsonl", "json"):
        for words in (("--rows", "turn"), ("--rows", "conversation")):
            code, _, stderr = export(tmp_path / f"rows.{ending}", *words)
            assert code == 0, stderr


def test_export_of_rows_leaves_traces_alone(export, tmp_path):
    before = (tmp_path / "source.json").read_text(encoding="utf-8")
    assert_refused(export(tmp_path / "source.json"), tmp_path / "source.json", before)


def test_export_leaves_its_input_alone(run, export, tmp_path):
    traces = tmp_path / "source.json"
    code, _, stderr = run("export", traces, "--output", traces, "--format", "traces", limit=60)
    assert code == 1 and "overwrite the input" in stderr
    assert len(loop.read(traces)) == 3


def test_unmeasured_speeds_are_zero_on_request(export, tmp_path):
    output = tmp_path / "speeds.json"
    for words, speed in (((), None), (("--unmeasured-speed", "0"), 0.0), (("--unmeasured-speed", "null"), None)):
        assert export(output, "--format", "traces", *words).code == 0
        assert [(trace["result"]["speedup"], trace["result"]["fast_1"]) for trace in loop.read(output)] == [
            (speed, False)] * 3
    assert export(output, "--format", "traces", "--unmeasured-speed", "1").code == 2


# ---- verify --------------------------------------------------------------------------------------------


def test_fresh_keeps_the_verdicts_of_the_earlier_run(judge, refused_rows, tmp_path):
    output = tmp_path / "out.jsonl"
    rows = refused_rows(2)
    assert judge("--batch", rows, "--output", output).code == 0
    before = output.read_bytes()
    code, _, stderr = judge("--batch", rows, "--output", output, "--fresh")
    assert code == 0 and f"{output} was renamed to {output}.1" in stderr, stderr
    assert (tmp_path / "out.jsonl.1").read_bytes() == before
    assert len(output.read_bytes().splitlines()) == 2


# ---- full disks ----------------------------------------------------------------------------------------


def written_to_full_disk(scratch, command):
    """The outcome of a command whose standard output cannot be written."""
    with open("/dev/full", "wb") as full:
        process = program.start(command, scratch, stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE)
        _, stderr = process.communicate(timeout=60)
    return process.returncode, stderr.decode()


def errors(stderr):
    return [line for line in stderr.splitlines() if line.startswith("error:")]


def with_closed(scratch, stream, command):
    """The outcome of a command that starts without this standard stream."""
    shell = ["sh", "-c", f'exec "$@" {stream}>&-', "sh", *map(str, command)]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return program.finish(program.start(shell, scratch, **pipes))


def test_a_closed_standard_error_changes_no_verdict(scratch, tmp_path):
    pair, output = program.ROOT / "examples" / "pair", tmp_path / "out.jsonl"
    command = program.verify_command(pair / "reference.py", pair / "kernel.py", "--output", output, "--device", "cpu")
    code, stdout, _ = with_closed(scratch, 2, command)
    assert code == 0 and "correct" in stdout
    [line] = output.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["status"] == "correct"


def test_a_message_to_a_closed_standard_error_is_dropped(run, scratch, tmp_path):
    words = ("verify", tmp_path / "missing.py", tmp_path / "kernel.py")
    told = run(*words, limit=10)
    assert told.code != 0 and "missing.py" in told.stderr
    assert with_closed(scratch, 2, [program.binary(), *words]) == (told.code, told.stdout, "")


def test_a_closed_standard_output_is_an_error_and_no_file_takes_its_place(scratch, quick, refused_rows, tmp_path):
    output = tmp_path / "out.jsonl"
    code, _, stderr = with_closed(scratch, 1, program.verify_command("--batch", refused_rows(2), "--output", output, *quick[1]))
    assert code == 1 and "cannot write standard output" in stderr, stderr
    assert [json.loads(line)["status"] for line in output.read_text(encoding="utf-8").splitlines()] == ["failed"] * 2


@pytest.mark.parametrize("words", [("--json",), ()])
def test_a_verdict_that_standard_output_loses_is_an_error(scratch, quick, refused_rows, words):
    command = program.verify_command("--batch", refused_rows(9), *words, *quick[1])
    code, stderr = written_to_full_disk(scratch, command)
    assert code == 1, stderr
    [error] = errors(stderr)
    assert "standard output" in error and "No space left" in error


@pytest.mark.parametrize("words", [("--help",), ("models", "list"), ("verify", "--help"), ("run", "--dry-run", "--traces")])
def test_every_verb_checks_its_standard_output(scratch, quick, words):
    if words[-1] == "--traces":
        words += (str(quick[0]),)
    code, stderr = written_to_full_disk(scratch, [program.binary(), *words])
    # The parser prints a long --help itself, and keeps no reason.
    assert code == 1 and len(errors(stderr)) == 1 and "cannot write standard output" in stderr, stderr


def test_a_full_disk_under_output_ends_the_judging_with_one_message(judge, refused_rows):
    code, stdout, stderr = judge("--batch", refused_rows(9), "--output", "/dev/full")
    assert code == 1, stderr
    [error] = errors(stderr)
    assert "/dev/full" in error and "No space left" in error
    assert "row-" not in stdout + stderr, "no verdict is said to be done"


def test_the_summary_of_a_run_that_standard_output_loses_is_an_error(scratch, quick, tmp_path):
    command = loop.command(quick[0], tmp_path / "x.json", *quick[1], "--json")
    code, stderr = written_to_full_disk(scratch, command)
    assert code == 1 and len(errors(stderr)) == 1, stderr
    assert len(json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))) == 3


# ---- the timeline --------------------------------------------------------------------------------------


def test_a_timeline_shows_the_steps_of_a_verdict_and_its_processes(run, tmp_path):
    pair, file = program.ROOT / "examples" / "pair", tmp_path / "timeline.json"
    words = program.verify_command(pair / "reference.py", pair / "kernel.py", "--timeline", file)
    assert run(*words[1:]).code == 0
    table = program.load_script(program.ROOT / "bench" / "timeline.py")
    steps = {step for step, _ in table.steps(table.events_of(file.read_text()), 0).items()}
    assert {("fork servers", "zygote"), ("verdicts", "attempt"), ("verdicts", "prepare"), ("oracles", "Judge")} <= steps
    assert any(group.startswith("runners") and step == "end" for group, step in steps)


def test_a_timeline_that_cannot_be_written_is_an_error_before_the_start(run, tmp_path):
    pair = program.ROOT / "examples" / "pair"
    words = program.verify_command(pair / "reference.py", pair / "kernel.py", "--timeline", tmp_path / "no" / "t.json")
    outcome = run(*words[1:], limit=20)
    assert outcome.code == 1 and "no/t.json: No such file" in outcome.stderr


def test_score_leaves_a_foreign_report_alone(run, refused_rows, tmp_path):
    notes = tmp_path / "x.md"
    notes.write_text(NOTES, encoding="utf-8")
    assert_refused(run("score", refused_rows(1), "--output", tmp_path / "x.json", limit=60), notes)


def test_score_does_not_ask_for_a_pair(run, tmp_path):
    code = tmp_path / "kernel.py"
    code.write_text("x = 1\n", encoding="utf-8")
    status, _, stderr = run("score", code, "--output", tmp_path / "x.json", limit=60)
    assert status == 1 and "is one source file" in stderr and "-> give a folder or a file of pairs" in stderr


def test_the_summary_counts_unreadable_rows(judge, refused_rows):
    rows = refused_rows(1)
    with open(rows, "a", encoding="utf-8") as file:
        file.write("{broken\n")
    code, stdout, _ = judge(rows)
    assert code == 1 and stdout.rstrip().endswith("1 row could not be read")


def test_export_of_a_run_without_answers_says_so(run, quick, tmp_path):
    reference = killing.REFERENCE.format(number=0)
    traces, source = loop.write(tmp_path / "empty.json", [loop.conversation("empty", reference, [])]), tmp_path / "x.json"
    run(*loop.command(traces, source, *quick[1])[1:], limit=60)
    code, _, stderr = run("export", loop.folder_of(source), "--output", tmp_path / "rows.jsonl", limit=60)
    assert code == 1 and "has an answer" in stderr and "--filter" not in stderr, stderr
