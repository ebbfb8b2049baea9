"""The action and the workflows for GitHub: what they may do, and that no text becomes part of a script."""
import os
import re
import shutil
import subprocess
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
    given = {name for step in steps_of(action) for name in step.get("env", {})}
    read = set(re.findall(r'"(KW_[A-Z]+)"', (ROOT / "scripts/ci_judge.py").read_text(encoding="utf-8")))
    assert read == given - {"KW_ACTION", "KW_PROGRAM"}
    written = set(re.findall(r'output\("(\w+)"', (ROOT / "scripts/ci_judge.py").read_text(encoding="utf-8")))
    assert written == set(action["outputs"])


@pytest.fixture
def install(tmp_path):
    """Runs scripts/ci_install.sh in a hostile checkout, with a stand-in for Python; returns what pip was asked for."""
    calls, checkout = tmp_path / "calls", tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "venv.py").write_text("raise SystemExit('imported from the checkout')\n", encoding="utf-8")
    made = f'#!/bin/sh\necho "$PWD: $*" >>{calls}\n'
    python = tmp_path / "python"
    copies = "".join(f'cp {tmp_path}/made "$4/bin/{name}"\n' for name in ("python", "kernelwright"))
    python.write_text(made + 'mkdir -p "$4/bin"\n' + copies, encoding="utf-8")
    (tmp_path / "made").write_text(made, encoding="utf-8")
    for path in (python, tmp_path / "made"):
        path.chmod(0o755)

    def run(*words, script=ROOT / "scripts/ci_install.sh"):
        done = subprocess.run([script, tmp_path / "environment", *words], cwd=checkout, check=False,
                              capture_output=True, text=True, timeout=60, env={**os.environ, "KW_PYTHON": str(python)})
        return done, calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []
    return run


def test_a_wheel_is_installed_outside_of_the_checkout(install, tmp_path):
    (tmp_path / "checkout/a b.whl").touch()
    done, calls = install("a b.whl")
    assert done.returncode == 0, done.stderr
    assert calls[0] == f"{ROOT}: -I -m venv {tmp_path}/environment"
    assert calls[1].startswith(f"{ROOT}: -I -m pip install ") and calls[1].endswith(f" {tmp_path}/checkout/a b.whl[engine]")


@pytest.fixture
def tarball(tmp_path):
    (tmp_path / "top/bin").mkdir(parents=True)
    (tmp_path / "top/bin/kernelwright").write_text("#!/bin/sh\necho from the tarball\n", encoding="utf-8")
    (tmp_path / "top/bin/kernelwright").chmod(0o755)
    subprocess.run(["tar", "-czf", tmp_path / "p.tar.gz", "-C", tmp_path, "top"], check=True)
    return str(tmp_path / "p.tar.gz")


def test_a_tarball_is_unpacked_beside_its_requirements(install, tarball):
    done, calls = install(tarball)
    assert done.returncode == 0, done.stderr
    assert calls[1].endswith(" -r python/requirements.txt") and done.stdout.endswith("from the tarball\n")


def test_a_second_use_in_one_job_replaces_the_program(install, tarball, tmp_path):
    install(tarball)
    old = tmp_path / "environment/program/old"
    old.touch()
    done, _ = install(tarball)
    assert done.returncode == 0 and done.stdout.endswith("from the tarball\n"), done.stderr
    assert not old.exists()


def test_packages_that_are_missing_end_the_installation(install, tmp_path):
    folder = tmp_path / "root/scripts"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "scripts/ci_install.sh", folder)
    (folder / "packages.sh").write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    (folder / "packages.sh").chmod(0o755)
    done, calls = install(script=folder / "ci_install.sh")
    assert done.returncode == 3 and not [call for call in calls if "pip install" in call]


def test_another_file_is_no_program(install, tmp_path):
    (tmp_path / "checkout/x.zip").touch()
    done, _ = install("x.zip")
    assert done.returncode == 1 and "neither a wheel (.whl) nor a tarball (.tar.gz)" in done.stderr
