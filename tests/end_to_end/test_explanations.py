"""The explanation below the table: the sentence, the line, the caret."""
import json

import pytest

from . import program

SAMPLE = program.ROOT / "examples/sample"
pytestmark = pytest.mark.skipif(program.DEVICE != "cpu", reason="the interpreter's words")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Two failing candidates of the sample and a right one, as recorded traces."""
    wanted = {("sample_rowsum", "out_of_bounds"), ("sample_layernorm", "compile_error"), ("sample_rowsum", None)}
    found = [row for row in json.loads((SAMPLE / "single_turn.json").read_text(encoding="utf-8"))
             if (row["sample_key"], row["result"]["error"]) in wanted]
    path = tmp_path_factory.mktemp("explained") / "traces.json"
    path.write_text(json.dumps(found[:2] + found[-2:]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def shown(run, rows):
    return run(*program.verify_command("--traces", rows)[1:])


def test_what_fails_is_explained_below_the_table(shown):
    assert shown.code == 0, shown.stderr
    table, _, below = shown.stdout.partition("\n\n")
    assert "out_of_bounds" in table and "compile_error" in table
    assert "A kernel reads or writes outside of its tensors." in below
    assert "A kernel does not compile." in below


def test_the_line_has_a_caret_below_its_access(shown):
    assert ("  >   10 |     x = tl.load(x_ptr + offs)\n"
            "         |         ^^^^^^^\n") in shown.stdout
    assert "--> kernel.py:10:9\n" in shown.stdout


def test_the_compilers_caret_stands_in_our_line(shown):
    assert ("  >    9 |     cols = tl.arange(0, n_cols)\n"
            "         |            ^^^^^^^^^\n") in shown.stdout


def test_what_is_right_is_not_explained(shown):
    assert "correct  " in shown.stdout
    assert ": correct" not in shown.stdout


def test_json_stays_alone_on_standard_output(run, rows):
    code, stdout, stderr = run(*program.verify_command("--traces", rows, "--json")[1:])
    assert code == 0 and len(program.read_verdicts(stdout)) == len(json.loads(rows.read_text(encoding="utf-8")))
    assert "-->" not in stderr
