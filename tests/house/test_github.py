"""The action and the workflows for GitHub: what they may do, and that no text becomes part of a script."""
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / "examples/github").glob("*.yml"))
ALLOWED = {"actions/checkout", "actions/upload-artifact", "github/codeql-action/upload-sarif", "OWNER/kernelwright"}


def load(path):
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    document["on"] = document.pop(True, None)  # YAML 1.1 reads the key `on` as true
    return document


def steps_of(document):
    jobs = document.get("jobs", {"action": document.get("runs", {})})
    return [step for job in jobs.values() for step in job["steps"]]


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "action.yml"], ids=lambda path: path.name)
def test_no_expression_is_part_of_a_script(path):
    scripts = [step["run"] for step in steps_of(load(path)) if "run" in step]
    assert not [script for script in scripts if "${{" in script]
    assert {step["uses"].partition("@")[0] for step in steps_of(load(path)) if "uses" in step} <= ALLOWED


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_no_workflow_gives_rights_or_secrets_to_a_pull_request(path):
    document = load(path)
    text = path.read_text(encoding="utf-8")
    assert "pull_request_target" not in text and "secrets." not in text
    assert document["permissions"] in ({}, {"contents": "read"})
    for step in steps_of(document):
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"]["persist-credentials"] is False


def test_code_of_a_pull_request_runs_without_rights():
    document = load(ROOT / "examples/github/judge.yml")
    assert document["on"] == "pull_request" and document["permissions"] == {"contents": "read"}
    assert all("permissions" not in job for job in document["jobs"].values())


def test_the_workflow_that_comments_checks_out_this_program_alone():
    document = load(ROOT / "examples/github/comment.yml")
    assert document["on"]["workflow_run"]["workflows"] == [load(ROOT / "examples/github/judge.yml")["name"]]
    [checkout] = [step for step in steps_of(document) if "uses" in step]
    assert checkout["with"]["repository"] == "OWNER/kernelwright" and checkout["with"]["ref"] == "TAG"


def test_the_script_reads_the_inputs_of_the_action():
    action = load(ROOT / "action.yml")
    given = {name for step in steps_of(action) for name in step["env"]}
    read = set(re.findall(r'"(KW_[A-Z]+)"', (ROOT / "scripts/ci_judge.py").read_text(encoding="utf-8")))
    assert read == given - {"KW_ACTION", "KW_PROGRAM"}
    written = set(re.findall(r'output\("(\w+)"', (ROOT / "scripts/ci_judge.py").read_text(encoding="utf-8")))
    assert written == set(action["outputs"])
