#!/usr/bin/env python3
"""Pairs of CUDA and Triton from `dataset synth --source cuda`: how many of each family are distinct and right, by side.

cuda_pairs.py --program PROGRAM --python PYTHON [--count N] [--device D] --folder FOLDER --output F.json [-- FLAGS OF SYNTH...]

A folder that exists is continued; the rate is then that of the new pairs.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import time


def is_right(verdict):
    """Whether a side is correct and counts."""
    return bool(verdict and verdict["correctness"] and verdict["counts"])


def lines_of(file):
    """The objects of a file of JSON lines; none where it does not exist."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def judged(folder):
    """The judged pairs of a folder, right or not."""
    return lines_of(folder / "pairs.jsonl") + lines_of(folder / "repair.jsonl")


def figures(folder):
    """Counts of a folder by family and in all, and the sides that are not right."""
    families = collections.defaultdict(collections.Counter)
    for draft in lines_of(folder / "drafts.jsonl"):
        families[draft["family"]]["drawn"] += 1
    wrong = []
    for pair in judged(folder):
        sides = {"triton": pair["verdict"], "cuda": pair["cuda_verdict"]}
        right = {side: is_right(verdict) for side, verdict in sides.items()}
        counts = families[pair["family"]]
        counts["judged"] += 1
        counts["triton_right"] += right["triton"]
        counts["cuda_right"] += right["cuda"]
        counts["both_right"] += all(right.values())
        wrong += [{"id": pair["id"], "family": pair["family"], "name": pair["name"], "side": side, **sides[side]}
                  for side in sides if not right[side] and sides[side]["status"] != "skipped"]
    total = collections.Counter()
    for counts in families.values():
        total.update(counts)
    return {"total": total, "families": {name: families[name] for name in sorted(families)}, "not_right": wrong}


def main():
    """Run the program and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--count", type=int, default=246)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("flags", nargs="*")
    options = parser.parse_args()
    words = ["dataset", "synth", "--source", "cuda", "--output", str(options.folder), "--count", str(options.count),
             "--device", options.device, *options.flags]
    before, began = len(judged(options.folder)), time.monotonic()
    code = subprocess.run([options.program, *words, "--python", options.python], check=False).returncode
    seconds = time.monotonic() - began
    found = figures(options.folder)
    rate = round(60 * (found["total"]["judged"] - before) / seconds, 1)
    record = {"command": "kernelwright " + " ".join(words), "exit_code": code, "seconds": round(seconds, 1),
              "pairs_a_minute": rate, **found}
    options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({**found["total"], "seconds": record["seconds"], "pairs_a_minute": rate}))


if __name__ == "__main__":
    main()
