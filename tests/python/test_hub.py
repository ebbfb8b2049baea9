"""Files of the hub's data sets, from a test cache; the hub itself is never asked."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from kernelwright._dataset import hub

pytest.importorskip("huggingface_hub")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "loop/tasks"))
import make_hub_cache as maker


def ask(cache, *words, offline=True, **variables):
    """Status, lines and standard error of the helper, which sees only this cache."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    environment = clean | {"HF_HUB_CACHE": str(cache), "HF_HUB_OFFLINE": "1" if offline else "0"} | variables
    done = subprocess.run([sys.executable, "-I", hub.__file__, *words], capture_output=True, text=True, timeout=60,
                          env=environment)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def error_of(answer):
    status, lines, _ = answer
    assert status == 2 and len(lines) == 1
    return lines[0]["error"]


def test_kernelbook_is_the_permissive_table(tmp_path):
    snapshot = maker.add_kernelbook(tmp_path)
    status, lines, _ = ask(tmp_path, "kernelbook")
    assert status == 0
    assert lines == [{"repo": "GPUMODE/KernelBook", "revision": maker.COMMIT},
                     {"file": str(snapshot / "dataset_permissive.parquet")}]


def test_kernelbench_is_one_file_a_level(tmp_path):
    maker.add_kernelbench(tmp_path)
    _, lines, _ = ask(tmp_path, "kernelbench")
    assert [line["level"] for line in lines[1:]] == [1, 2, 3, 4]
    _, lines, _ = ask(tmp_path, "kernelbench", "--levels", "2,4")
    assert [line["level"] for line in lines[1:]] == [2, 4]


def test_the_cache_below_hf_home(tmp_path):
    maker.add_kernelbook(tmp_path / "hub")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    done = subprocess.run([sys.executable, "-I", hub.__file__, "kernelbook"], capture_output=True, text=True, timeout=60,
                          env=clean | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"})
    assert done.returncode == 0


def test_a_revision_by_its_commit(tmp_path):
    maker.add_kernelbook(tmp_path)
    assert ask(tmp_path, "kernelbook", "--revision", maker.COMMIT)[0] == 0
    assert "--revision other" in error_of(ask(tmp_path, "kernelbook", "--revision", "other"))["remedy"]


def test_offline_without_a_copy(tmp_path):
    error = error_of(ask(tmp_path, "kernelbench"))
    assert "ScalingIntelligence/KernelBench is not in the hub's cache" in error["what"]
    assert "HF_HUB_OFFLINE" in error["what"]
    assert "hf download ScalingIntelligence/KernelBench --repo-type dataset" in error["remedy"]
    assert f"{tmp_path}/datasets--ScalingIntelligence--KernelBench" in error["remedy"]
    assert "--kernelbench DIR" in error["remedy"]


def test_without_a_network_and_a_copy(tmp_path):
    error = error_of(ask(tmp_path, "kernelbook", offline=False, HF_ENDPOINT="http://127.0.0.1:9"))
    assert "the hub cannot be reached" in error["what"] and "HF_HUB_OFFLINE" not in error["what"]
    assert "--kernelbook FILE" in error["remedy"]


def test_without_a_network_the_copy_serves(tmp_path):
    maker.add_kernelbook(tmp_path)
    status, lines, _ = ask(tmp_path, "kernelbook", offline=False, HF_ENDPOINT="http://127.0.0.1:9")
    assert status == 0 and len(lines) == 2


def test_a_copy_without_its_blobs(tmp_path):
    snapshot = maker.add_kernelbook(tmp_path)
    shutil.rmtree(snapshot.parents[1] / "blobs")
    error = error_of(ask(tmp_path, "kernelbook"))
    assert "hf download" in error["remedy"]


def test_a_level_that_the_copy_lacks(tmp_path):
    maker.add_kernelbench(tmp_path, {1: 1, 2: 1})
    error = error_of(ask(tmp_path, "kernelbench", "--levels", "1,3"))
    assert "hf download" in error["remedy"]
    assert "level 3" in error["what"]


def test_a_python_without_the_library(tmp_path):
    code = (f"import sys; sys.modules['huggingface_hub'] = None; sys.argv = ['hub.py', 'kernelbook']; "
            f"import runpy; runpy.run_path({hub.__file__!r}, run_name='__main__')")
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60)
    error = json.loads(done.stdout)["error"]
    assert done.returncode == 2
    assert "pip install huggingface_hub" in error["remedy"] and "--kernelbook FILE" in error["remedy"]


def test_a_token_is_never_printed(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "secret-of-mine")
    assert "secret" not in hub.without_token("refused: secret-of-mine")
    assert "abcd" not in hub.without_token("Bearer hf_abcdefgh12345678")
    status, lines, stderr = ask(tmp_path, "kernelbook", offline=False, HF_ENDPOINT="http://127.0.0.1:9",
                                HF_TOKEN="secret-of-mine")
    assert status == 2 and "secret-of-mine" not in json.dumps(lines) + stderr
