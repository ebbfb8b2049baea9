"""Recorded completions of real models, against the verdicts that an H100 gave."""
import json
import os
from pathlib import Path

import pytest

from . import program

DATA = Path(os.environ.get("KERNELWRIGHT_RECORDED", program.ROOT.parent / "shared" / "data"))
SINGLE, MULTI = DATA / "recorded_glm45_single_turn.json", DATA / "recorded_qwen3_multi_turn.json"
# Reads out of bounds; it passed on the H100 because its reference is zero everywhere.
DIFFERS = {"kernelbench_9#1"}
PROVES_NOTHING = ("kernelbook_1174", "kernelbench_80", "kernelbench_9")
NO_PROOF = {"wrong_value", "wrong_shape", "out_of_bounds"}

pytestmark = pytest.mark.skipif(not (SINGLE.exists() and MULTI.exists()),
                                reason=f"the recorded completions are not at {DATA} (KERNELWRIGHT_RECORDED says where)")


def traces(path):
    return json.loads(path.read_text(encoding="utf-8"))


def recorded(path):
    """Row id → whether the H100 judged it correct, with ids in the program's form."""
    rows, met = {}, {}
    for trace in traces(path):
        key = trace["sample_key"]
        met[key] = met.get(key, 0) + 1
        if met[key] > 1:
            key += f"~{met[key]}"
        if "turns" in trace:
            rows.update({f"{key}#{turn['turn']}": turn["result"]["correctness"] for turn in trace["turns"]})
        else:
            rows[key] = trace["result"]["correctness"]
    return rows


def findings(verdict):
    """All parts of a verdict that may name findings at a reduced shape."""
    comparison = verdict["comparison"] or {}
    return json.dumps([verdict["error"], verdict["error_detail"], comparison.get("findings")])


def judged(verdict):
    """True, False, or None without a finding. A mistake at a reduced shape is a finding, not a proof."""
    if verdict["status"] == "skipped" and verdict["shapes"] == "reduced":
        text = findings(verdict)
        return False if any(each in text for each in NO_PROOF) else None
    return verdict["correctness"]


@pytest.fixture(scope="module")
def with_constructors_weights(verify):
    outcomes = {path: verify("--traces", path, "--weights", "constructor", "--json") for path in (SINGLE, MULTI)}
    return {path: {verdict["id"]: verdict for verdict in outcome.verdicts} for path, outcome in outcomes.items()}


@pytest.mark.parametrize("path", [SINGLE, MULTI], ids=["single_turn", "multi_turn"])
def test_every_kernel_has_a_verdict(with_constructors_weights, path):
    assert set(with_constructors_weights[path]) == set(recorded(path))


def test_agreement(with_constructors_weights):
    rows = {(path, row): said for path in (SINGLE, MULTI) for row, said in recorded(path).items()}
    assert len(rows) == 43
    differ = {row: with_constructors_weights[path][row] for (path, row), said in rows.items()
              if judged(with_constructors_weights[path][row]) is not said}
    told = {row: (verdict["status"], verdict["error_class"], verdict["error"]) for row, verdict in differ.items()}
    assert set(differ) <= DIFFERS, told
    if program.DEVICE == "cpu":
        assert set(differ) == DIFFERS
        verdict = differ["kernelbench_9#1"]
        assert "out_of_bounds" in (verdict["error_class"] or "") + findings(verdict)


def test_tasks_that_prove_nothing_are_named(with_constructors_weights):
    for verdicts in with_constructors_weights.values():
        for row, verdict in verdicts.items():
            if verdict["status"] == "correct" and row.startswith(PROVES_NOTHING):
                assert (verdict["counts"], verdict["counts_reason"]) == (False, "proves_nothing"), row


def test_moved_weights_show_a_wrong_channel(verify, tmp_path):
    path = tmp_path / "kernelbook_558.json"
    chosen = [trace for trace in traces(MULTI) if trace["sample_key"] == "kernelbook_558"]
    path.write_text(json.dumps(chosen), encoding="utf-8")
    verdicts = {verdict["id"]: verdict for verdict in verify("--traces", path, "--weights", "moved", "--json").verdicts}
    assert verdicts["kernelbook_558#1"]["status"] == "correct"
    for turn in (2, 3, 4):
        verdict = verdicts[f"kernelbook_558#{turn}"]
        assert (verdict["status"], verdict["error_class"]) == ("incorrect", "wrong_value"), verdict
