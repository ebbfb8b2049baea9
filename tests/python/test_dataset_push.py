"""Uploads of data sets to a test hub; the real one is never asked."""
import json
import os
import subprocess
import sys

import fake_hub
import pytest
from kernelwright._dataset import push

pytest.importorskip("huggingface_hub")


@pytest.fixture
def folder(tmp_path):
    """The folder of a build, including the builder's private files."""
    top = tmp_path / "set"
    for name, text in {"README.md": "---\nlicense: mit\n---\n# Kernels\n", "fim_sft.csv": "prompt,completion\n",
                       "data/fim/train-00000-of-00001.parquet": "PAR1", "figs/kinds.png": "png", ".state/units": "mine",
                       "fim_sft.jsonl.77.tmp": "half"}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    return top


def pushed(folder, url, *words, token="hf_let_me_in_please", repo="me/kernels"):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    environment = clean | {"HF_ENDPOINT": url, "HF_HOME": str(folder.parent / "home"), "HF_HUB_DISABLE_TELEMETRY": "1"}
    if token:
        environment["HF_TOKEN"] = token
    done = subprocess.run([sys.executable, "-I", push.__file__, str(folder), repo, *words], capture_output=True, text=True,
                          timeout=100, env=environment)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def error_of(answer):
    status, lines, _ = answer
    assert status == 2 and len(lines) == 1
    return lines[0]["error"]


def test_the_folder_arrives_without_what_is_hidden_or_half_written(folder):
    with fake_hub.FakeHub() as hub:
        status, lines, errors = pushed(folder, hub.url)
    assert status == 0, (lines, errors)
    assert lines[-1]["repo"] == "me/kernels" and lines[-1]["commit"] == "2" * 40
    assert sorted(hub.files) == ["README.md", "data/fim/train-00000-of-00001.parquet", "figs/kinds.png", "fim_sft.csv"]
    assert hub.files["data/fim/train-00000-of-00001.parquet"] == b"PAR1"
    assert hub.repos["me/kernels"]["type"] == "dataset"


def test_a_repository_may_be_private_and_may_be_there_already(folder):
    with fake_hub.FakeHub() as hub:
        assert pushed(folder, hub.url, "--private")[0] == 0
        assert hub.repos["me/kernels"].get("private") is True or hub.repos["me/kernels"].get("visibility") == "private"
        assert pushed(folder, hub.url)[0] == 0


@pytest.mark.parametrize("token", ["hf_not_the_right_one", None])
def test_without_a_token_that_counts_it_says_how_to_log_in(folder, token):
    with fake_hub.FakeHub() as hub:
        answer = pushed(folder, hub.url, token=token)
    assert "HF_TOKEN" in error_of(answer)["remedy"]
    assert "hf_not_the_right_one" not in json.dumps(answer[1])
    assert hub.files == {}


def test_what_the_hub_refuses_is_told_in_its_words(folder):
    with fake_hub.FakeHub(refuse_commit='"license" must be one of mit, other') as hub:
        assert "must be one of mit" in error_of(pushed(folder, hub.url))["what"]


def test_a_hub_that_is_not_there_is_told(folder):
    with fake_hub.FakeHub() as hub:
        url = hub.url
    assert "push again" in error_of(pushed(folder, url))["remedy"]


def test_a_name_that_cannot_be_is_told(folder):
    with fake_hub.FakeHub() as hub:
        assert "OWNER/NAME" in error_of(pushed(folder, hub.url, repo="a/b/c"))["remedy"]


def test_a_folder_of_something_else_is_refused(tmp_path):
    assert "README.md" in error_of(pushed(tmp_path, "http://127.0.0.1:9"))["what"]
