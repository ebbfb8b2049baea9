"""The sample is up to date and complete, and its references are usable."""
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "examples" / "sample"
PAIR = ROOT / "examples" / "pair"
TASKS = sorted(path.stem for path in (SAMPLE / "tasks").glob("*.py"))
STATUSES = {"correct", "incorrect", "failed", "skipped"}
# The one intentionally large task runs at a small size here.
SMALLER = {"log_softmax": {"rows": 16, "cols": 64}}


def load(path):
    spec = importlib.util.spec_from_file_location(f"sample_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_json(name):
    return json.loads((SAMPLE / name).read_text(encoding="utf-8"))


def row_ids():
    seen = {}
    ids = []

    def unique(key):
        seen[key] = seen.get(key, 0) + 1
        return key if seen[key] == 1 else f"{key}~{seen[key]}"

    ids += [unique(trace["sample_key"]) for trace in read_json("single_turn.json")]
    for trace in read_json("multi_turn.json"):
        key = unique(trace["sample_key"])
        ids += [f"{key}#{turn['turn']}" for turn in trace["turns"]]
    return ids


def draw(description):
    dtype = getattr(torch, description["dtype"])
    shape = description["shape"]
    if dtype == torch.bool:
        return torch.rand(shape) < 0.5
    if dtype in (torch.int32, torch.int64):
        return torch.randint(-1000, 1000, shape, dtype=dtype)
    return torch.randn(shape).to(dtype)


def constructed(cls, init_inputs):
    if len(init_inputs) == 2 and isinstance(init_inputs[0], list) and isinstance(init_inputs[1], dict):
        return cls(*init_inputs[0], **init_inputs[1])
    return cls(*init_inputs)


def reference_of(path, shapes=None):
    """A callable and a function that draws its inputs."""
    module = load(path)
    for name, value in SMALLER.get(path.stem, {}).items():
        setattr(module, name, value)
    if shapes is not None:
        return module.reference_impl, lambda: [draw(d) for d in shapes.values()]
    if hasattr(module, "reference_impl"):
        return module.reference_impl, module.get_inputs
    classes = [
        value for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, torch.nn.Module) and value.__module__ == module.__name__
    ]
    entry = getattr(module, "Model", classes[-1])
    torch.manual_seed(0)
    model = constructed(entry, module.get_init_inputs())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model, module.get_inputs


def outputs_of(call, inputs):
    with torch.no_grad():
        result = call(*inputs)
    return list(result) if isinstance(result, tuple) else [result]


def differs(a, b):
    """Whether b would be judged wrong if a is right."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return True
    return not torch.allclose(a.double(), b.double(), rtol=1e-2, atol=1e-2)


def check_reference(call, draw_inputs):
    torch.manual_seed(1)
    previous = None
    for _ in range(3):
        inputs = draw_inputs()
        pristine = [value.clone() for value in inputs]
        outputs = outputs_of(call, inputs)
        again = outputs_of(call, [value.clone() for value in pristine])
        for output, repeated in zip(outputs, again, strict=True):
            assert torch.equal(output, repeated), "not deterministic"
            assert torch.isfinite(output.double()).all()
            assert differs(output, torch.zeros_like(output)), "zeros would pass"
            assert differs(output, output.flatten()[0].expand_as(output)), "a constant would pass"
            assert all(differs(output, value) for value in pristine), "an echoed input would pass"
        for value, kept in zip(inputs, pristine, strict=True):
            assert torch.equal(value, kept), "changes its input"
        if previous is not None:
            assert all(differs(a, b) for a, b in zip(outputs, previous, strict=True)), "a stale output would pass"
        previous = outputs


def test_json_is_up_to_date():
    done = subprocess.run(
        [sys.executable, str(SAMPLE / "build.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_row_has_an_expectation():
    ids = row_ids()
    assert len(ids) == len(set(ids))
    expected = read_json("expected.json")
    assert set(ids) == set(expected)
    for row in expected.values():
        assert row["status"] in STATUSES
        if row["status"] == "correct":
            assert row["error_class"] is None
            assert row["counts"] == (row["counts_reason"] is None)
        else:
            assert row["error_class"] and row["counts"] is None and row["counts_reason"] is None


def test_every_completion_and_task_is_used():
    used = {row["completion"] for row in read_json("expected.json").values()}
    assert used == {path.name for path in (SAMPLE / "completions").glob("*.md")}
    assert {name.split(".")[0] for name in used} == set(TASKS)


def test_code_was_taken_out_of_the_prose():
    traces = read_json("single_turn.json")
    answers = traces + [turn for trace in read_json("multi_turn.json") for turn in trace["turns"]]
    for answer in answers:
        assert "import triton" in answer["triton_code"]
        assert "```" not in answer["triton_code"] and "<triton>" not in answer["triton_code"]
        assert answer["triton_code"] in answer["full_completion"]


@pytest.mark.parametrize("task", TASKS)
def test_reference_can_be_judged_against(task):
    shapes = SAMPLE / "tasks" / f"{task}.shapes.json"
    description = json.loads(shapes.read_text(encoding="utf-8")) if shapes.exists() else None
    check_reference(*reference_of(SAMPLE / "tasks" / f"{task}.py", description))


@pytest.mark.parametrize("name, shapes", [("reference", None), ("scale_add_reference", "scale_add_shapes")])
def test_pair_reference_can_be_judged_against(name, shapes):
    description = json.loads((PAIR / f"{shapes}.json").read_text(encoding="utf-8")) if shapes else None
    check_reference(*reference_of(PAIR / f"{name}.py", description))
