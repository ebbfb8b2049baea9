"""judge() and the pytest plugin with the program behind them: functions of this file, and the cells of the example notebook."""
import json
import linecache
import os
import subprocess
import sys

import pytest

from . import program

sys.path.insert(0, str(program.ROOT / "python"))

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import kernelwright  # noqa: E402

OPTIONS = ("--device", program.DEVICE)
EXAMPLES = program.ROOT / "examples"
SHIFT = tl.constexpr(2)
CONFIGS = [triton.Config({"BLOCK": 256}, num_warps=4)]
DTYPE = torch.float32


@pytest.fixture(autouse=True)
def built(monkeypatch, scratch):
    monkeypatch.setenv("KERNELWRIGHT", program.binary())
    monkeypatch.setenv("TMPDIR", str(scratch))


def reference(x, y):
    return torch.relu(x) + 2 * y.to(DTYPE)


@triton.jit
def positive(x):
    return tl.maximum(x, 0.0)


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.heuristics({"EVEN": lambda values: values["n"] % 2 == 0})
@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    total = positive(tl.load(x_ptr + at, mask=mask)) + SHIFT * tl.load(y_ptr + at, mask=mask)
    tl.store(out_ptr + at, total, mask=mask)


def kernel(x, y):
    out = torch.empty_like(x)
    add_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, x.numel())
    return out


def swapped(x, y):
    return kernel(y, x)


class Model(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return torch.relu(x) + 2 * x * self.scale


class ModelNew(Model):
    def forward(self, x):
        return kernel(x, x * self.scale)


def get_inputs():
    return [torch.randn(8, 100)]


def get_init_inputs():
    return [3.0]


def test_functions_with_all_that_they_use():
    verdict = kernelwright.judge(reference, kernel, {"x": (8, 100), "y": torch.empty(8, 100)}, options=OPTIONS)
    assert verdict.correct and verdict.id == "kernel" and verdict.status == "correct", str(verdict)
    assert json.loads(json.dumps(verdict)) == verdict


def test_a_wrong_function_has_the_words_of_the_terminal(run, tmp_path):
    verdict = kernelwright.judge(reference, swapped, {"x": (8, 100), "y": (8, 100)}, name="mine", options=OPTIONS)
    assert (verdict.status, verdict.error_class, verdict.fault) == ("incorrect", "wrong_value", "kernel")
    (tmp_path / "v.jsonl").write_text(json.dumps(verdict) + "\n")
    assert str(verdict) == run("explain", tmp_path / "v.jsonl").stdout.rstrip("\n")
    assert "mine: incorrect (wrong_value)" in str(verdict)
    assert "wrong_value" in verdict._repr_html_()


def test_classes_with_the_functions_that_draw_their_inputs():
    verdict = kernelwright.judge(Model, ModelNew, options=OPTIONS)
    assert verdict.correct and verdict["call"]["convention"] == "module", str(verdict)


def test_files_and_texts_have_their_entries_found():
    pair = EXAMPLES / "pair"
    shapes = json.loads((pair / "scale_add_shapes.json").read_text())
    verdict = kernelwright.judge(pair / "scale_add_reference.py", (pair / "scale_add_kernel.py").read_text(), shapes,
                                 options=OPTIONS)
    assert verdict.correct, str(verdict)


def test_the_cells_of_the_example_notebook(monkeypatch):
    monkeypatch.setenv("KERNELWRIGHT_EVALUATOR", "local")
    scope = {"__name__": "__main__", "_ih": [""], "get_ipython": lambda: None}
    cells = json.loads((EXAMPLES / "notebook" / "softmax.ipynb").read_text(encoding="utf-8"))["cells"]
    for number, cell in enumerate(each for each in cells if each["cell_type"] == "code"):
        text, file = "".join(cell["source"]), f"<notebook-cell-{number}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        scope["_ih"].append(text)
        exec(compile(text, file, "exec"), scope)
    assert (scope["broken"].error_class, scope["wrong"].error_class) == ("out_of_bounds", "wrong_value")
    assert "  >   " in str(scope["broken"]) and "kw-mark" in scope["broken"]._repr_html_()


def test_the_example_suite_of_pytest(tmp_path):
    words = [sys.executable, "-m", "pytest", "-p", "kernelwright.pytest_plugin", "-p", "no:cacheprovider", "-rA", "--rootdir",
             tmp_path, "--kernelwright-device", program.DEVICE, EXAMPLES / "pytest" / "test_softmax.py"]
    environment = {**os.environ, "PYTHONPATH": str(program.ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([str(each) for each in words], capture_output=True, text=True, check=False, timeout=program.LIMIT_S,
                          env=environment, cwd=tmp_path)
    assert done.returncode == 0 and "2 passed, 1 xfailed" in done.stdout, done.stdout
