"""The pytest plugin, in sessions of its own with a program that answers from a table. tests/end_to_end has the real one."""
import json
import os
import subprocess
import sys

import pytest
from stand_in import BROKEN, EMPTY, RIGHT, TASKLESS, UNKNOWN, WRONG, StandIn

pytest_plugins = ["pytester"]

TESTS = """
def reference(x):
    return x

def kernel(x):
    return x

def test_kernel(assert_kernel_correct):
    found = assert_kernel_correct(reference, kernel, SHAPES)
    assert [each.correct for each in found] == [True] * len(found)
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    made = StandIn(tmp_path)
    monkeypatch.setenv("KERNELWRIGHT", str(made.path))
    monkeypatch.delenv("KERNELWRIGHT_EVALUATOR", raising=False)
    return made


@pytest.fixture
def session(pytester, stand_in):
    """Runs a test file with these arguments."""
    def run(*words, shapes='{"x": (4, 5)}', text=TESTS):
        pytester.makepyfile(text.replace("SHAPES", shapes))
        return pytester.runpytest("-p", "kernelwright.pytest_plugin", "-p", "no:cacheprovider", *words)
    return run


def word_after(words, flag):
    return words[words.index(flag) + 1] if flag in words else None


def test_a_right_kernel_passes(session, stand_in):
    session().assert_outcomes(passed=1)
    assert len(stand_in.calls) == 1


@pytest.mark.parametrize("answer", [WRONG, EMPTY, TASKLESS], ids=["wrong", "proves nothing", "misspelt input"])
def test_a_wrong_kernel_fails_with_the_words_of_the_terminal(session, stand_in, answer):
    stand_in.answer(RIGHT, answer)
    found = session(shapes='[{"x": (4, 5)}, {"x": 7}]')
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["E *AssertionError: TABLE", "E *WORDS ON x=float32?7?"])
    assert "WORDS ON x=float32[4,5]" not in found.stdout.str() and "pytest_plugin.py" not in found.stdout.str()
    assert len(stand_in.runs) == 1


@pytest.mark.parametrize("answer", [UNKNOWN, BROKEN], ids=["unsupported", "infrastructure"])
def test_no_statement_on_the_kernel_is_a_skip(session, stand_in, answer):
    stand_in.answer(RIGHT, answer)
    found = session("-rs", shapes='[{"x": (4, 5)}, {"x": 7}]')
    found.assert_outcomes(skipped=1)
    found.stdout.fnmatch_lines([f"SKIPPED*x=float32?7?: {answer['status']} ({answer['error_class']}): {answer['error'][:6]}*"])
    assert "\x1b[2J" not in found.stdout.str()


@pytest.mark.parametrize("strict", ["--kernelwright-strict", "-okernelwright_strict=true"])
def test_strict_makes_it_a_failure(session, stand_in, strict):
    stand_in.answer(UNKNOWN)
    session(strict).assert_outcomes(failed=1)


def test_a_wrong_shape_outweighs_one_without_a_statement(session, stand_in):
    stand_in.answer(UNKNOWN, WRONG)
    session(shapes='[{"x": (4, 5)}, {"x": 7}]').assert_outcomes(failed=1)


def test_every_shape_is_judged_with_every_dtype_in_one_run(session, stand_in):
    text = TESTS.replace("SHAPES)", 'shapes=[{"x": (4, 5), "i": ((4,), "int64")}, {"x": 7, "i": {"shape": [7]}}], '
                                    'dtypes=["float32", "float16"], options=("--timeout", 9))')
    stand_in.answer(WRONG)
    found = session(text=text)
    for each in ("x=float32[4,5] i=int64[4]", "x=float16[4,5] i=int64[4]", "x=float32[7] i=float32[7]",
                 "x=float16[7] i=float16[7]"):
        assert f"WORDS ON {each}" in found.stdout.str()
    run, = stand_in.runs
    assert word_after(run, "--timeout") == "9"


def test_settings_come_from_the_command_line_and_the_file(session, stand_in, pytester):
    pytester.makeini("[pytest]\nkernelwright_device = cpu\nkernelwright_jobs = 3\nkernelwright_evaluator = modal\n")
    session("--kernelwright-device", "cuda:1")
    run, = stand_in.runs
    assert [word_after(run, each) for each in ("--device", "--jobs", "--evaluator")] == ["cuda:1", "3", "modal"]


def test_a_worker_of_xdist_uses_its_share_of_the_cores(session, stand_in, monkeypatch):
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "1000")
    session()
    session("--kernelwright-jobs", "5")
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT")
    session()
    assert [word_after(each, "--jobs") for each in stand_in.runs] == ["1", "5", None]


@pytest.mark.parametrize("shapes, words", [
    ("[]", "a mapping of the reference's parameters"), ("(4, 5)", "a mapping of the reference's parameters"),
    ("None, 'float16'", "dtypes needs shapes"),
])
def test_odd_shapes_are_errors(session, shapes, words):
    found = session(shapes=shapes)
    found.assert_outcomes(failed=1)
    assert words in found.stdout.str()


def test_what_cannot_be_carried_is_an_error_and_no_skip(session):
    found = session(text="import threading\nLOCK = threading.Lock()\n" + TESTS.replace("return x\n", "return LOCK\n", 1))
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*NotSelfContained: *:5: LOCK is a _thread.lock*"])


def test_an_unused_plugin_imports_nothing(pytester):
    code = ("import sys, pytest; before = set(sys.modules); import kernelwright.pytest_plugin; "
            "print(sorted(each for each in set(sys.modules) - before))")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    shown = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    assert json.loads(shown.replace("'", '"')) == ["kernelwright", "kernelwright.pytest_plugin"]


def test_workers_of_xdist_judge(session, stand_in):
    pytest.importorskip("xdist")
    text = TESTS + "\n\ndef test_another(assert_kernel_correct):\n    assert_kernel_correct(reference, kernel, {'x': 3})\n"
    session("-n", "2", text=text).assert_outcomes(passed=2)
    assert len(stand_in.runs) == 2
