"""The Python API, with the program behind it."""
import errno
import json
import os
import stat
import subprocess
import sys

import pytest

from . import program, victims

sys.path.insert(0, str(program.ROOT / "python"))

import kernelwright  # noqa: E402
from kernelwright import api  # noqa: E402

OPTIONS = ("--device", program.DEVICE)
PAIR = program.ROOT / "examples" / "pair"
STAND_IN = """#!/bin/sh
printf '%s\\n' "$@" > FOLDER/words
while [ $# -gt 0 ]; do
  case $1 in
    --batch) cp "$2" FOLDER/batch ;;
    --output) out=$2 ;;
  esac
  shift
done
"""


@pytest.fixture
def built(monkeypatch, scratch):
    """The API must find the program under test."""
    monkeypatch.setenv("KERNELWRIGHT", program.binary())
    monkeypatch.setenv("TMPDIR", str(scratch))


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """A program that stores its arguments and runs a shell script."""
    def make(script):
        path = tmp_path / "stand-in"
        path.write_text(STAND_IN.replace("FOLDER", str(tmp_path)) + script + "\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("KERNELWRIGHT", str(path))
        return tmp_path
    return make


# ---- with the program ----------------------------------------------------------------------------------


def test_function_pair(built):
    shapes = json.loads((PAIR / "scale_add_shapes.json").read_text(encoding="utf-8"))
    kernel = (PAIR / "scale_add_kernel.py").read_text(encoding="utf-8")
    reference = (PAIR / "scale_add_reference.py").read_text(encoding="utf-8")
    verdict = kernelwright.benchmark_triton_kernel(kernel, reference, shapes, n_correctness=2, kernel_name="scale_add",
                                                   options=OPTIONS)
    assert (verdict["status"], verdict["kernel_name"]) == ("correct", "scale_add"), verdict
    assert verdict["comparison"]["trials"] == 2
    assert verdict["comparison"]["tolerance"]["rtol"] == 1e-4


def test_kernelbench(built):
    kernel, reference = victims.code_of("honest"), victims.code_of("reference")
    verdict = kernelwright.benchmark_kernelbench(kernel, reference, options=OPTIONS)
    assert verdict["schema"] == "kernelwright.verdict/1" and verdict["correctness"] is True, verdict


def test_batch_keeps_order_and_fields(built):
    good, bad = victims.code_of("honest"), victims.code_of("honest").replace("x + y,", "x - y,")
    kernels = [{"triton_code": bad, "pytorch_code": victims.code_of("reference"), "problem_id": 7},
               {"kernel_code": good, "reference_code": victims.code_of("reference"), "id": "named"},
               {"triton_code": bad, "pytorch_code": victims.code_of("reference"), "rtol": 1.0, "atol": 1e9}]
    verdicts = kernelwright.benchmark_batch(kernels, options=OPTIONS)
    assert [verdict["status"] for verdict in verdicts] == ["incorrect", "correct", "correct"]
    assert verdicts[0]["problem_id"] == 7 and verdicts[1]["id"] == "named"


def test_an_unknown_option_is_the_programs_message(built):
    with pytest.raises(kernelwright.VerifierError, match="no-such-option"):
        kernelwright.benchmark_kernelbench("x", "y", options=("--no-such-option",))


# ---- without it ----------------------------------------------------------------------------------------


def test_importing_the_package_costs_nothing():
    code = "import sys, kernelwright; print('kernelwright.api' in sys.modules, 'subprocess' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(program.ROOT / "python")}
    shown = subprocess.check_output([sys.executable, "-S", "-c", code], env=environment, text=True)
    assert shown.split() == ["False", "False"]
    assert set(kernelwright.__all__) <= set(dir(kernelwright))
    with pytest.raises(AttributeError):
        _ = kernelwright.no_such_name


def test_words_and_rows(stand_in):
    folder = stand_in("""printf '{"id": "kernel-0", "status": "correct"}\\n' > "$out" """)
    verdict = kernelwright.benchmark_triton_kernel("k", "r", {"x": (4, 5)}, 3, 50, 2, "name", 0.01, 0.02,
                                                   options=("--device", "cpu"))
    assert verdict == {"id": "kernel-0", "status": "correct"}
    words = (folder / "words").read_text(encoding="utf-8").split("\n")
    for option, value in (("--correctness-trials", "3"), ("--timing-trials", "50"), ("--device", "cpu"),
                          ("--tolerance", "rtol=0.01,atol=0.02")):
        assert words[words.index(option) + 1] == value
    assert json.loads((folder / "batch").read_text(encoding="utf-8")) == {
        "id": "kernel-0", "kernel_code": "k", "reference_code": "r", "kernel_name": "name",
        "input_shapes": {"x": {"shape": [4, 5], "dtype": "float32"}}}


@pytest.mark.parametrize("script, message", [
    ('echo "no GPU here" >&2; exit 2', "no GPU here"),
    ("exit 2", "exit code 2"),
    ("exit 0", "without a verdict on kernel-0"),
    ("kill -9 $$", "signal 9"),
    ('echo "{torn" > "$out"', "does not parse"),
])
def test_no_verdict_is_an_error(stand_in, script, message):
    stand_in(script)
    with pytest.raises(kernelwright.VerifierError, match=message):
        kernelwright.benchmark_kernelbench("k", "r")


def test_a_missing_program_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("KERNELWRIGHT", str(tmp_path / "nowhere"))
    with pytest.raises(kernelwright.VerifierError, match="nowhere"):
        kernelwright.benchmark_batch([{"kernel_code": "k", "reference_code": "r"}])


def test_a_full_temporary_folder_has_a_remedy(monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(api.Path, "write_text", full)
    with pytest.raises(kernelwright.VerifierError, match="is full.*TMPDIR"):
        kernelwright.benchmark_batch([{"kernel_code": "k", "reference_code": "r"}])


def test_an_empty_batch_runs_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("KERNELWRIGHT", str(tmp_path / "nowhere"))
    assert kernelwright.benchmark_batch([]) == []


REFERENCE = "def helper(a): pass\ndef reference_impl(x, y): return x + y\n"


@pytest.mark.parametrize("given, wanted", [
    ({"x": {"shape": (2, 3), "dtype": "int32"}}, {"x": ([2, 3], "int32")}),
    ({"x": {"shape": [2]}}, {"x": ([2], "float32")}),
    ({"x": (2, 3), "y": [4]}, {"x": ([2, 3], "float32"), "y": ([4], "float32")}),
    ({"x": ((2, 3), "bool")}, {"x": ([2, 3], "bool")}),
    ({"x": ()}, {"x": ([], "float32")}),
    ({"x": (2.0, 3)}, {"x": ([2, 3], "float32")}),
    ([(2, 3), ([4], "float16")], {"x": ([2, 3], "float32"), "y": ([4], "float16")}),
    ((8, 9), {"x": ([8, 9], "float32")}),
    (None, None),
])
def test_input_shapes(given, wanted):
    made = api.normalised_shapes(given, REFERENCE)
    assert made == (wanted and {name: {"shape": shape, "dtype": dtype} for name, (shape, dtype) in wanted.items()})


@pytest.mark.parametrize("given, code", [
    ([(1,), (2,), (3,)], REFERENCE), ([(1,)], "x = 1"), ([(1,)], "def ("), (3.5, REFERENCE),
])
def test_odd_input_shapes(given, code):
    with pytest.raises((TypeError, ValueError)):
        api.normalised_shapes(given, code)


@pytest.mark.parametrize("given, words", [
    ((2.5, 3), "'x' has the shape (2.5, 3)"), ("ab", "'x' has the shape 'ab'"), (-1, "whole numbers from 0"),
    (None, "the shape None"), (True, "the shape True"), (((2, (3,)), "float32"), "the shape (2, (3,))"),
    ({"dtype": "float32"}, "'x' has no shape"), (((4,), "float33"), "the dtype 'float33', which is none of float32"),
])
def test_a_wrong_shape_names_its_input(given, words):
    with pytest.raises(ValueError) as error:
        api.normalised_shapes({"x": given})
    assert words in str(error.value)


@pytest.mark.parametrize("settings", [{"n_correctness": 0}, {"n_trials": -1}, {"n_warmup": "10"}])
def test_odd_settings(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        kernelwright.benchmark_batch([{"kernel_code": "k", "reference_code": "r", **settings}])


@pytest.mark.parametrize("change, error, words", [
    ({"kernel_code": "x = '\ud800'"}, ValueError, "kernel_code contains half a surrogate pair"),
    ({"kernel_code": b"k"}, TypeError, "kernel_code is of the type bytes"), ({"note": float("nan")}, ValueError, "note is nan"),
    ({"input_shapes": {"x": 2.5}}, ValueError, "the input 'x' has the shape 2.5"),
])
def test_a_bad_field_names_the_kernel(change, error, words):
    good = {"kernel_code": "k", "reference_code": "r"}
    with pytest.raises(error) as found:
        kernelwright.benchmark_batch([good, {**good, **change}])
    assert str(found.value).startswith("kernels[1]: ") and words in str(found.value)


def test_equal_ids_have_verdicts_of_their_own(stand_in):
    verdict = r's/.*"id": "\([^"]*\)".*"kernel_code": "\([^"]*\)".*/{"id": "\1", "status": "\2"}/p'
    stand_in(f"""sed -n '{verdict}' "$(dirname "$0")/batch" > "$out" """)
    rows = [{"id": "a", "kernel_code": each, "reference_code": "r"} for each in ("correct", "failed")]
    assert [(each.id, each.status) for each in kernelwright.benchmark_batch(rows)] == [("a", "correct"), ("a", "failed")]


def test_a_row_of_the_batch_is_named_by_its_id(stand_in):
    stand_in('echo "error: $(sed -n 3p "$(dirname "$0")/words"), row 2: no such thing" >&2; exit 1')
    good = {"kernel_code": "k", "reference_code": "r"}
    with pytest.raises(kernelwright.VerifierError, match="^error: b: no such thing$"):
        kernelwright.benchmark_batch([{**good, "id": "a"}, {**good, "id": "b"}])


@pytest.mark.parametrize("kernel, missing", [({"kernel_code": "k"}, "reference"), ({"reference_code": "r"}, "kernel")])
def test_rows_without_code(kernel, missing):
    with pytest.raises(ValueError, match=rf"kernels\[0\].*{missing}_code"):
        kernelwright.benchmark_batch([kernel])
