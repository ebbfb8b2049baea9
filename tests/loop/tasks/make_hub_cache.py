"""Makes a folder like the hub library's cache, with small tables of KernelBook and KernelBench.

    python make_hub_cache.py CACHE
"""
import os
import sys
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SIZES = {1: 6, 2: 4, 3: 2, 4: 1}  # problems per level
KERNELBOOK_ROWS = 12


def add_repo(cache, repo, tables):
    """One snapshot whose files are links to blobs; `main` names it."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    folder = Path(cache) / f"datasets--{repo.replace('/', '--')}"
    snapshot = folder / "snapshots" / COMMIT
    for part in ("refs", "blobs"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "refs" / "main").write_text(COMMIT)
    for number, (name, columns) in enumerate(sorted(tables.items())):
        blob = folder / "blobs" / f"{number:064x}"
        pq.write_table(pa.table(columns), blob)
        link = snapshot / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(blob, link.parent))
    return snapshot


def kernelbook_columns(rows=KERNELBOOK_ROWS, first=0):
    uuids = list(range(first, first + rows))
    return {"python_code": [f"reference {uuid}" for uuid in uuids], "triton_code": ["kernel"] * rows,
            "entry_point": ["Net"] * rows, "uuid": uuids, "licenses": [["MIT"]] * rows,
            "repo_link": ["https://example.org/r"] * rows}


def kernelbench_columns(level, rows):
    problems = list(range(1, rows + 1))
    return {"code": [f"reference {level}/{problem}" for problem in problems], "level": [level] * rows,
            "name": [f"{problem}_Name" for problem in problems], "problem_id": problems}


def add_kernelbook(cache):
    other = kernelbook_columns(1, first=900)
    return add_repo(cache, "GPUMODE/KernelBook", {"dataset_permissive.parquet": kernelbook_columns(),
                                                  "another.parquet": other})


def add_kernelbench(cache, sizes=None):
    return add_repo(cache, "ScalingIntelligence/KernelBench", {
        f"data/level_{level}-00000-of-00001.parquet": kernelbench_columns(level, rows)
        for level, rows in (sizes or SIZES).items()})


if __name__ == "__main__":
    add_kernelbook(sys.argv[1])
    add_kernelbench(sys.argv[1])
