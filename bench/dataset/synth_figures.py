#!/usr/bin/env python3
"""Counts the pairs of `dataset synth`: by family, with `tl.dot`, and why others are not verified.

synth_figures.py FOLDER --seconds S --commit C       FOLDER is an --output of synth; prints JSON
"""
import argparse
import collections
import json
import platform
import statistics
from pathlib import Path


def lines(file):
    """The lines of a JSON Lines file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def reason_of(pair):
    """Why a pair is not verified: the reason of its verdict, with the element type of its inputs."""
    types = {kind for kind in ("float16", "bfloat16") if f"torch.{kind}" in pair["reference_code"]}
    return f"{pair['verdict']['reason'] or 'unknown'}, {'/'.join(sorted(types)) or 'float32'}"


def figures(folder):
    """All counts. Sources that are drawn and in neither file are near copies, or were not judged yet."""
    drafts, pairs, repair = (lines(folder / f"{name}.jsonl") for name in ("drafts", "pairs", "repair"))
    with_dot = [pair for pair in pairs if "tl.dot(" in pair["kernel_code"]]
    counts = {word: collections.Counter(each["family"] for each in group) for word, group in (
        ("drawn", drafts), ("verified", pairs), ("not_verified", repair), ("with_dot", with_dot))}
    return {
        "total": {
            "drawn": len(drafts), "without_kernel": sum(not draft["kernel_code"] for draft in drafts),
            "judged": len(pairs) + len(repair), "verified": len(pairs), "not_verified": len(repair),
            "with_dot": len(with_dot), "share_with_dot": round(len(with_dot) / max(1, len(pairs)), 3)},
        "reasons": dict(collections.Counter(map(reason_of, repair)).most_common()),
        "lines_of_kernels": statistics.median(pair["kernel_code"].count("\n") for pair in pairs) if pairs else 0,
        "families": {family: {word: counter[family] for word, counter in counts.items()} for family in sorted(counts["drawn"])},
    }


def main():
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=int, required=True, help="of the run")
    parser.add_argument("--commit", required=True)
    parser.add_argument("--machine", default=f"2 cores, {platform.machine()}")
    parser.add_argument("--run", default="kernelwright dataset synth --output synth --device cpu", help="its command")
    given = parser.parse_args()
    counts = figures(given.folder)
    print(json.dumps({"command": given.run, "counted_by": "bench/dataset/synth_figures.py", "machine": given.machine,
                      "commit": given.commit, "seconds": given.seconds,
                      "judged_a_minute": round(counts["total"]["judged"] * 60 / given.seconds), **counts}, indent=1))


if __name__ == "__main__":
    main()
