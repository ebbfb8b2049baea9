"""`certify`: what the tasks of a benchmark can tell of a candidate."""
import json
import signal
import subprocess
import sys
import time

import pytest

from . import program

pytestmark = pytest.mark.skipif(program.DEVICE != "cpu", reason="the sizes are those without a GPU")

ON_CPU = ("--device", "cpu", "--python", sys.executable)
TASK = """
import torch


class Model(torch.nn.Module):
    def forward(self, PARAMETERS):
        return RESULT


def get_inputs():
    return [INPUTS]
"""
TASKS = {
    "sound": ("x", "torch.softmax(x, -1)", "torch.randn(16, 64)"),
    "positive_relu": ("x", "torch.relu(x)", "torch.rand(16, 64)"),
    "loose": ("x", "x.mean(1)", "torch.rand(64, 4096) * 0.02"),
    "ones": ("x, scale", "torch.exp(x) * scale", "torch.randn(16, 64), torch.ones(64)"),
    "raises": ("x", "x.no_such_method()", "torch.randn(4)"),
    "dropout": ("x", "torch.nn.functional.dropout(x)", "torch.randn(16, 64)"),
    "second": ("x", "(torch.exp(x), torch.zeros(4))", "torch.randn(16, 64)"),
    "exits": ("x", "__import__('os')._exit(3)", "torch.randn(4)"),
}
MARKS = {"sound": [], "positive_relu": ["proves_nothing"], "loose": ["weak"], "ones": ["constant_input"], "raises": ["refused"],
         "dropout": ["random"], "second": ["empty_output"]}


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory):
    """A folder with a file a task."""
    folder = tmp_path_factory.mktemp("benchmark")
    for name, (parameters, result, inputs) in TASKS.items():
        (folder / f"{name}.py").write_text(
            TASK.replace("PARAMETERS", parameters).replace("RESULT", result).replace("INPUTS", inputs), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def certify(run):
    """Certify: (exit code, {id: certificate} of --json, stderr)."""
    def call(*words, **options):
        code, stdout, stderr = run("certify", *words, *ON_CPU, "--json", **options)
        return code, {each["id"]: each for each in map(json.loads, stdout.splitlines())}, stderr
    return call


@pytest.fixture(scope="module")
def certified(certify, benchmark):
    return certify(benchmark)


@pytest.mark.parametrize("name", MARKS)
def test_the_marks_of_a_task(certified, name):
    assert certified[1][name]["marks"] == MARKS[name], certified[1][name]


def test_a_mark_is_no_failure(certified, certify, benchmark):
    assert certify(benchmark / "positive_relu.py")[0] == 0
    assert certify(benchmark / "positive_relu.py", "--fail-on", "weak")[0] == 0
    assert certify(benchmark / "positive_relu.py", "--fail-on", "weak,proves_nothing")[0] == 1


def test_a_reference_that_ends_its_process_harms_no_other(certified):
    lost = certified[1]["exits"]
    assert lost["error"] and lost["fault"] in ("task", "infrastructure")
    assert certified[1]["sound"]["error"] is None


def test_the_facts_of_a_sound_task(certified):
    task = certified[1]["sound"]
    (given,), (output,) = task["inputs"], task["outputs"]
    assert (given["input"], given["shape"], given["varies"], given["ignored"]) == ("x", [16, 64], True, False)
    assert 0 < output["reference_loss"] < 1e-6 < output["rms"] and output["sensitivity"] is not None
    shapes = {each["version"]: each for each in task["shapes"]}
    assert list(shapes) == ["prime", "larger", "more_rows", "one", "empty"]
    assert "13" in shapes["prime"]["sizes"] and shapes["prime"]["why_not"] is None


def test_a_task_that_fails_says_where(certified):
    assert "no_such_method" in certified[1]["raises"]["error"] and certified[1]["raises"]["fault"] == "task"


def test_the_table_counts_the_marks(run, benchmark):
    code, stdout, _ = run("certify", benchmark / "positive_relu.py", benchmark / "sound.py", *ON_CPU)
    assert code == 0
    lines = stdout.splitlines()
    assert [line.split(maxsplit=1) for line in lines[:2]] == [["positive_relu", "proves_nothing (echo)"], ["sound", "no mark"]]
    assert "2 tasks, 1 without a mark" in lines
    assert any(line.startswith("     1  proves_nothing   An empty answer") for line in lines)


def test_a_second_call_continues(certify, benchmark, tmp_path):
    file = tmp_path / "certificates.jsonl"
    assert certify(benchmark / "sound.py", "-o", file)[0] == 0
    first = file.read_text(encoding="utf-8")
    code, certificates, _ = certify(benchmark / "sound.py", benchmark / "ones.py", "-o", file)
    assert code == 0 and set(certificates) == {"sound", "ones"}
    assert file.read_text(encoding="utf-8").startswith(first) and len(file.read_text(encoding="utf-8").splitlines()) == 2


def test_other_settings_are_other_certificates(certify, benchmark, tmp_path):
    file = tmp_path / "certificates.jsonl"
    assert certify(benchmark / "loose.py", "-o", file)[1]["loose"]["marks"] == ["weak"]
    assert certify(benchmark / "loose.py", "-o", file, "--tolerance", "strict")[1]["loose"]["marks"] == []


def test_an_interruption_keeps_what_was_made(benchmark, scratch, tmp_path):
    file = tmp_path / "certificates.jsonl"
    words = [program.binary(), "certify", str(benchmark), *ON_CPU, "-o", str(file), "--jobs", "1"]
    process = program.start(words, scratch, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 120
    while not (file.exists() and file.read_text(encoding="utf-8")) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    code, _, stderr = program.finish(process)
    assert code == 130 and "the same command goes on" in stderr
    assert file.read_text(encoding="utf-8").endswith("\n")
