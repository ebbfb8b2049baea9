"""The closed loop of examples/closed_loop, on sources of this tree."""
import json
import subprocess
import sys
from pathlib import Path

import pytest

from end_to_end import program

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 400


@pytest.fixture(scope="module")
def circle(python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("circle") / "files"
    done = subprocess.run([sys.executable, str(ROOT / "examples" / "closed_loop" / "closed_loop.py"), str(folder), "--quick",
                           "--program", str(program.binary()), "--python", python,
                           "--source", f"{ROOT / 'tests' / 'exploits'}=Apache-2.0",
                           "--source", f"{ROOT / 'examples' / 'sample'}=Apache-2.0"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder


def rows(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_right_answers_became_rows_and_failed_ones_did_not(circle):
    taught = rows(circle / "traces.jsonl")
    assert len(taught) == 6 and all(row["kind"] == "trace" for row in taught)


def test_the_second_adapter_knows_the_tasks_that_it_learnt_from(circle):
    manifest = json.loads((circle / "adapter_2" / "training_manifest.json").read_text())
    assert {row["task_id"] for row in manifest["rows"]} >= {"sample/rowsum", "sample/half_scale"}


def test_it_was_not_scored_on_them(circle):
    assert not (circle / "refused.json").exists()


def test_before_and_after_stand_side_by_side_on_other_tasks(circle):
    score = json.loads((circle / "score.json").read_text())
    assert score["paired"] and score["training"]["checked"] and not score["training"]["seen"]
    assert {each["task_id"] for each in score["outputs"]} == {"sample/bucket_counts", "sample/mean_std"}
