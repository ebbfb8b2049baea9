"""The view of verdicts: --only, --show-output, and the verb `explain`, on one batch that is judged once."""
import fcntl
import json
import os
import re
import struct
import subprocess
import termios

import jsonschema
import pytest

from . import program, victims

pytestmark = pytest.mark.skipif(program.DEVICE != "cpu", reason="the interpreter's words")

HONEST = victims.code_of("honest")
LIBRARY = "import torch\n\n\ndef triton_kernel_wrapper(x, y):\n    return torch.add(x, y)\n"
KERNELS = {
    "right": HONEST + "\nprint('hello \\x1b[31mred')\n",
    "wrong": HONEST.replace("x + y,", "x - y,"),
    "library": LIBRARY,
    "refused": HONEST.replace("x = tl.load(", "x = tl.lod("),
    "loud": HONEST + "\nimport os\nprint('last words', flush=True)\nos._exit(3)\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("explain")


@pytest.fixture(scope="module")
def rows(folder):
    reference = victims.code_of("reference")
    return program.write_rows(folder / "batch.jsonl", [
        {"id": name, "reference_code": reference, "kernel_code": code} for name, code in KERNELS.items()])


@pytest.fixture(scope="module")
def verdicts(folder):
    return folder / "verdicts.jsonl"


@pytest.fixture(scope="module")
def shown(run, rows, verdicts):
    """The batch, verified once, with the outputs of the candidates."""
    return run(*program.verify_command("--batch", rows, "--output", verdicts, "--show-output")[1:])


@pytest.fixture
def explain(run, shown):
    """Run `explain` after the verdicts are written."""
    assert shown.code == 0, shown.stderr
    return lambda *words: run("explain", *words, limit=60)


def ids_of(table):
    return [line.split()[0] for line in table.partition("\n\n")[0].splitlines()[1:] if line.strip()]


def test_failures_come_first_in_the_table(shown):
    assert ids_of(shown.stdout) == ["wrong", "refused", "loud", "library", "right"]


def test_a_compile_error_has_a_caret(shown):
    assert ("  >   11 |     x = tl.lod(x_ptr + offsets, mask=mask, other=0.0)\n"
            "         |         ^^^^^^\n") in shown.stdout
    assert "help: Correct the operation that the compiler names." in shown.stdout


def test_a_wrong_value_has_its_index_and_both_values(shown, verdicts):
    mismatch = next(row for row in program.read_verdicts(verdicts.read_text(encoding="utf-8"))
                    if row["id"] == "wrong")["comparison"]["first_mismatch"]
    assert f"first at [{mismatch['index'][0]}]: expected {mismatch['expected']:.6g}, got {mismatch['actual']:.6g}" \
        in " ".join(shown.stdout.split())


def test_a_result_that_does_not_count_has_its_reason(shown):
    below = shown.stdout.partition("library: correct, does not count (library_only)\n")[2]
    assert "the call launched no kernel of the module's own" in " ".join(below.split())
    assert "note: PyTorch may compute the result: line 5: torch.add\n" in below


def test_the_output_of_candidates_is_shown_escaped(shown):
    assert "It printed:\n    last words\n" in shown.stdout
    assert "right: correct\n" in shown.stdout and "    hello \ufffd[31mred\n" in shown.stdout
    assert "\x1b" not in shown.stdout


def test_the_verdict_holds_the_output(shown, verdicts):
    printed = {row["id"]: row["printed"] for row in map(json.loads, verdicts.read_text(encoding="utf-8").splitlines())}
    assert printed == {"right": "hello \ufffd[31mred", "wrong": None, "library": None, "refused": None,
                       "loud": "last words"}


def test_the_verdicts_match_the_schema(shown, verdicts):
    schema = json.loads((program.ROOT / "docs/verdict.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    for row in program.read_verdicts(verdicts.read_text(encoding="utf-8")):
        assert [error.message for error in validator.iter_errors(row)] == []


def test_only_selects_what_is_shown_and_judges_all(run, rows, verdicts, shown):
    code, stdout, _ = run(*program.verify_command("--batch", rows, "--output", verdicts, "--only", "failed")[1:])
    assert code == 0
    assert ids_of(stdout) == ["wrong", "refused", "loud", "library"]
    assert "hello" not in stdout and "5 candidates: 2 correct" in stdout
    assert len(verdicts.read_text(encoding="utf-8").splitlines()) == 5


def test_an_unknown_selection_is_a_wrong_command_line(run):
    code, _, stderr = run("verify", "a.py", "b.py", "--only", "faild", limit=10)
    assert code == 2 and "nearest is failed" in stderr


def test_a_view_of_no_table_is_a_wrong_command_line(run):
    assert run("verify", "a.py", "b.py", "--json", "--only", "failed", limit=10).code == 2


def test_a_file_is_explained_as_verify_does(explain, rows, verdicts, shown):
    code, stdout, _ = explain(verdicts, "--show-output", "--input", rows)
    assert code == 0 and stdout == shown.stdout


def test_a_file_without_its_input_has_no_excerpts(explain, verdicts):
    code, stdout, _ = explain(verdicts)
    assert code == 0
    assert "--> kernel.py:11" in stdout and "tl.store" not in stdout


def test_one_verdict_of_a_file(explain, verdicts):
    code, stdout, _ = explain(verdicts, "wrong")
    assert code == 0 and ids_of(stdout) == ["wrong"]


def test_only_of_a_file(explain, verdicts):
    assert ids_of(explain(verdicts, "--only", "library_only,right").stdout) == ["library", "right"]


def test_an_id_that_the_file_lacks(explain, verdicts):
    code, _, stderr = explain(verdicts, "wrang")
    assert code == 1 and "the nearest id is wrong" in stderr


def test_a_file_of_other_rows(explain, rows):
    code, stdout, stderr = explain(rows)
    assert code == 1 and stdout == "" and "row 1: not a kernelwright.verdict/1 object" in stderr


@pytest.mark.parametrize("word, sentence", [
    ("library_only", "the call launched no kernel of the module's own"), ("compile_error", "A kernel does not compile."),
    ("memory", "It ran out of memory."), ("interpreter", "Interpreted without a GPU."), ("failed", "The candidate broke")])
def test_a_word(run, word, sentence):
    code, stdout, _ = run("explain", word, limit=10)
    assert code == 0 and sentence in " ".join(stdout.split()) and "  help: " in stdout


def test_an_unknown_word(run):
    code, stdout, stderr = run("explain", "compil_error", limit=10)
    assert code == 2 and stdout == ""
    assert "the nearest is compile_error" in stderr and "library_only" in stderr


def test_all_words(run):
    code, stdout, _ = run("explain", limit=10)
    assert code == 0 and "error class\n" in stdout and "  library_only " in stdout


def test_a_narrow_terminal_has_colours_and_wrapped_lines(shown, verdicts, scratch):
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 50, 0, 0))
    process = program.start([program.binary(), "explain", str(verdicts)], scratch, stdin=subprocess.DEVNULL,
                            stdout=theirs, stderr=theirs, environment={"TERM": "xterm-256color", "NO_COLOR": ""})
    text = b""
    os.close(theirs)
    try:
        while part := os.read(ours, 1 << 16):
            text += part
    except OSError:  # the other end has closed
        pass
    os.close(ours)
    assert process.wait(20) == 0
    table, _, _ = text.decode().replace("\r\n", "\n").partition("\n5 candidates")
    assert "\x1b[31mincorrect\x1b[0m" in table and "no:\n" in re.sub(r" +[0-9.]+ s\n", "\n", table)
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in table.splitlines()) <= 50


def test_a_missing_file(run):
    code, _, stderr = run("explain", "no/such.jsonl", limit=10)
    assert code == 1 and "no/such.jsonl" in stderr
