"""Verdicts are shared by the judged work and never by names: in all verbs, across runs."""
import json

import pytest

from . import killing, program
from .served import Served
from .test_serve import ended, submit

NAMES = {"task_id": "sample/same"}
# Right where the first argument has 128 elements.
FIRST_OF_TWO = """\
import torch


def reference_impl(a, b):
    return torch.relu(a) + 1.0
"""
ALWAYS_128 = killing.KERNEL.format(added=1).replace("(x):", "(x, y):").replace("torch.empty_like(x)", "torch.empty(128)")


def row(name, number, added=1):
    """A kernel that is right where the numbers are equal; every task has the same name."""
    return {"id": name, **NAMES, "reference_code": killing.REFERENCE.format(number=number),
            "kernel_code": killing.KERNEL.format(added=added)}


def statuses(verdicts):
    return {verdict["id"]: verdict["status"] for verdict in verdicts}


def lines(path):
    return program.read_verdicts(path.read_text(encoding="utf-8"))


def test_two_references_under_one_name(verify, batch):
    code, verdicts, stderr = verify("--batch", batch([row("one", 1), row("two", 2)]))
    assert code == 0, stderr
    assert statuses(verdicts) == {"one": "correct", "two": "incorrect"}
    assert len({verdict["work"] for verdict in verdicts}) == 2


def test_an_edited_reference_is_judged_anew(verify, batch, tmp_path):
    output = tmp_path / "out.jsonl"
    _, verdicts, _ = verify("--batch", batch([row("one", 1)]), "--output", output)
    assert statuses(verdicts) == {"one": "correct"}
    verify("--batch", batch([row("one", 2)]), "--output", output)
    assert [verdict["status"] for verdict in lines(output)] == ["correct", "incorrect"]
    before = output.read_bytes()
    verify("--batch", batch([row("one", 1)]), "--output", output)
    assert output.read_bytes() == before, "each of the two is known now"


def test_equal_work_under_other_names_is_judged_once(verify, batch, tmp_path):
    output = tmp_path / "out.jsonl"
    other = {**row("other", 1), "task_id": "sample/other", "kernel_name": "mine"}
    code, verdicts, stderr = verify("--batch", batch([row("one", 1), other]), "--output", output)
    assert code == 0, stderr
    first, second = sorted(verdicts, key=lambda verdict: verdict["id"] != "one")
    assert first["work"] == second["work"] and first["stages_ms"] == second["stages_ms"]
    assert (first["kernel_name"], second["kernel_name"]) == (None, "mine")
    assert (second["id"], second["task_id"]) == ("other", "sample/other")


def test_an_output_of_an_earlier_version_is_judged_anew(verify, batch, tmp_path):
    output = tmp_path / "out.jsonl"
    _, (verdict,), _ = verify("--batch", batch([row("one", 1)]), "--output", output)
    del verdict["work"]
    output.write_text(json.dumps(verdict, separators=(",", ":")) + "\n", encoding="utf-8")
    assert verify("--batch", batch([row("one", 1)]), "--output", output).code == 0
    assert [each.get("work") is None for each in lines(output)] == [True, False]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Served(tmp_path_factory.mktemp("served"), "--correctness-trials", 2, "--jobs", 2) as service:
        yield service.ready()


def test_a_service_sees_the_order_of_the_arguments(served):
    """Where the names are not the function's own, the order of the shapes is that of the arguments."""
    long, short = {"shape": [128], "dtype": "float32"}, {"shape": [64], "dtype": "float32"}
    candidate = {"reference_code": FIRST_OF_TWO, "kernel_code": ALWAYS_128}
    submit(served, "long first", **candidate, input_shapes={"p": long, "q": short})
    assert ended(served, "long first")["verdict"]["status"] == "correct"
    submit(served, "short first", **candidate, input_shapes={"q": short, "p": long})
    assert ended(served, "short first")["verdict"]["error_class"] == "wrong_shape"
    submit(served, "long again", **candidate, input_shapes={"p": long, "q": short})
    again = ended(served, "long again")["verdict"]
    assert (again["id"], again["status"]) == ("long again", "correct")


def test_a_service_shares_no_kernel_name(served):
    fields = {key: value for key, value in row("", 3, added=3).items() if key != "id"}
    submit(served, "named", **fields, kernel_name="theirs")
    assert ended(served, "named")["verdict"]["kernel_name"] == "theirs"
    submit(served, "nameless", **fields)
    verdict = ended(served, "nameless")["verdict"]
    assert verdict["status"] == "correct" and verdict["kernel_name"] is None
