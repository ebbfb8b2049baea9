"""Rows of a data set in the builder's form."""
import json
from pathlib import Path

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "dataset_row.schema.json"


def place(**given):
    return {"kind": "wheel", "name": "kernels", "version": None, "commit": None, "sha256": None, "url": None, "stars": None,
            "path": "kernels/add.py", "span": [0, 40], "block": None} | given


def row(**given):
    """A row in which every optional field is null."""
    labels = {name: False for name in ("masked_loads", "boundary_check", "shared_memory", "atomics", "autotune",
                                       "self_contained", "clear_argument_shapes")}
    return {"prompt": "def add(x):\n", "completion": "    return x", "id": "0" * 40, "kind": "fim", "unit": None,
            "source": place(), "licence": {"spdx": None, "evidence": None},
            "hashes": {"sha1": "0" * 40, "renamed_sha1": None}, "duplicate_of": None, "cluster": None, "leakage": [],
            "labels": {"compile": "not_tried", "compile_reason": None, "compiled_for": [], **labels}, "target": "neutral",
            "generator": None, "provenance": [],
            "difficulty": {"operations": 0, "lines": 0, "tokens": 0, "occurrences": 0, "autotune": False}, "tokens": None,
            "split": "train", "hole": None, "pair": None, "verdict": None} | given


def full_row(**given):
    """A row in which every field has a value."""
    leak = {"relation": "benchmark", "against": "KernelBench", "row": "level1/1.py", "jaccard": 0.9, "containment": 0.5,
            "renamed": True, "field": "prompt", "spans": [[0, 3], [5, 8]]}
    block = {"index": 2, "language": "python", "span": [100, 200], "verbatim": True}
    everything = {
        "unit": "a" * 40, "kind": "cu2triton", "tokens": 12, "cluster": "b" * 40,
        "source": place(version="1.2", commit="c" * 40, sha256="d" * 64, url="https://example.org/k", stars=7, block=block),
        "licence": {"spdx": "MIT", "evidence": "LICENSE"}, "leakage": [leak],
        "target": "nvidia", "generator": "KernelGen", "provenance": ["Adapted from https://example.org/k"],
        "difficulty": {"operations": 3, "lines": 9, "tokens": 70, "occurrences": 2, "autotune": True},
        "hole": {"node": "body", "rendering": "psm", "region": [0, 40], "middle": [12, 30]},
        "pair": {"confidence": 0.75, "reasons": ["name: add"], "other": place(path="csrc/add.cu", block=block),
                 "other_licence": {"spdx": "Apache-2.0", "evidence": "SPDX tag, line 1"}},
        "verdict": {"status": "correct", "note": "größer 🚀"}}
    made = row(**everything)
    made["hashes"]["renamed_sha1"] = "e" * 40
    made["labels"] |= {"compile": "compilable", "compiled_for": ["sm_80", "sm_90"], "autotune": True}
    return made | given


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return path
