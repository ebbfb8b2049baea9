"""Tasks from a hub cache, by the hub's own library: without a network, as on a machine to which a cache was copied."""
import os
import sys

import pyarrow
import pyarrow.parquet
import pytest

from . import conftest

REVISION = "2" * 40
REFERENCE = """\
import torch


class Doubled(torch.nn.Module):
    def forward(self, x):
        return x + x


def get_inputs():
    return [torch.rand([4, 4])]


def get_init_inputs():
    return [[], {}]
"""


def put(repo, files):
    """A data set in the cache, in the form of a download: the snapshot links to the blobs."""
    top = conftest.HOME / "hub" / f"datasets--{repo.replace('/', '--')}"
    for folder in ("refs", "blobs", f"snapshots/{REVISION}"):
        (top / folder).mkdir(parents=True)
    (top / "refs" / "main").write_text(REVISION)
    for number, (name, rows) in enumerate(files.items()):
        blob, link = top / "blobs" / str(number), top / "snapshots" / REVISION / name
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), blob)
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(os.path.relpath(blob, link.parent))


@pytest.fixture(scope="module")
def kernelbench():
    put("ScalingIntelligence/KernelBench",
        {f"data/level_{level}-00000-of-00001.parquet":
         [{"code": REFERENCE.replace("Doubled", "Model"), "level": level, "name": f"{number}_doubled", "problem_id": number}
          for number in (1, 2)] for level in (1, 2)})


@pytest.fixture(scope="module")
def kernelbook():
    row = {"entry_point": "Doubled", "python_code": REFERENCE, "uuid": 7, "repo_name": "someone/something",
           "licenses": ["MIT"], "synthetic": False}
    put("GPUMODE/KernelBook", {"dataset_permissive.parquet": [row, {**row, "uuid": 8}], "everything.parquet": [row] * 3})


@pytest.fixture
def listed(call, tmp_path):
    """The output of `run`, with the Python that has the hub's library."""
    return lambda *words: call("run", "--dry-run", "--python", sys.executable, "--output", tmp_path / "x.json", *words)


def test_kernelbook_comes_from_the_cache(kernelbook, listed):
    code, stdout, stderr = listed("--kernelbook", "hub", "--kernelbook-samples", 5)
    assert code == 0, stderr
    assert [f"kernelbook/{uuid}" in stdout for uuid in (7, 8, 9)] == [True, True, False]


def test_levels_of_kernelbench_come_from_the_cache(kernelbench, listed):
    code, stdout, stderr = listed("--kernelbench", "hub", "--levels", "2")
    assert code == 0, stderr
    assert [f"kernelbench/{task}" in stdout for task in ("2/1", "2/2", "1/1")] == [True, True, False]


def test_a_level_that_was_not_copied_is_told_with_what_to_copy(kernelbench, listed):
    code, _, stderr = listed("--kernelbench", "hub", "--levels", "4")
    assert code != 0
    assert "level 4" in stderr and "hf download ScalingIntelligence/KernelBench" in stderr
