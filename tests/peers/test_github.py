"""The action and the workflows for GitHub against GitHub's schemas, as check-jsonschema has them."""
import subprocess
import sys

import pytest
from end_to_end import program

WORKFLOWS = sorted((program.ROOT / "examples/github").glob("*.yml"))


def check(schema, path):
    """The exit code and the messages of check-jsonschema, which downloads nothing for its own schemas."""
    done = subprocess.run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, path], capture_output=True,
                          text=True, check=False, timeout=120)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_is_valid(path):
    code, said = check("vendor.github-workflows", path)
    assert code == 0, said


def test_the_action_is_valid():
    code, said = check("vendor.github-actions", program.ROOT / "action.yml")
    assert code == 0, said


def test_a_wrong_field_is_seen(tmp_path):
    text = (program.ROOT / "examples/github/judge.yml").read_text(encoding="utf-8")
    wrong = tmp_path / "judge.yml"
    wrong.write_text(text.replace("contents: read", "contents: some"), encoding="utf-8")
    code, said = check("vendor.github-workflows", wrong)
    assert code == 1 and "some" in said
