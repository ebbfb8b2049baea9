#!/usr/bin/env python3
"""`dataset dedup` on synthetic files of growing size: time, memory, and the share of planted duplicates found.

scale.py --out RESULT.json [--sizes-gb 1,2,5,10] [--memory 2G] [--threads N] [--work DIR] [--kernelwright PROGRAM]

bench/near/synthetic.py makes the files and records the planted duplicates. All files are made before the first timing and
exist on disk at the same time.
"""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from measure import timed

ROOT = Path(__file__).resolve().parents[2]


def planted(truth, evidence):
    """The number of planted rows, and of their pairs that have at most one row left."""
    def number(name):
        return int(name.rsplit(" ", 1)[1]) - 1
    dropped = {number(json.loads(line)["row"]) for line in evidence.read_text(encoding="utf-8").splitlines()}
    pairs = [tuple(map(int, line.split())) for line in truth.read_text(encoding="utf-8").splitlines()]
    found = sum(row in dropped or source in dropped for row, source in pairs)
    return {"planted": len(pairs), "planted_found": found, "dropped": len(dropped)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--sizes-gb", default="1,2,5,10")
    parser.add_argument("--memory", default="2G")
    parser.add_argument("--threads", default=str(os.cpu_count()))
    parser.add_argument("--work", default="dataset-scale")
    parser.add_argument("--kernelwright", default=str(ROOT / "build/kernelwright"))
    flags = parser.parse_args()
    work = Path(flags.work)
    work.mkdir(parents=True, exist_ok=True)
    record = {"cores": os.cpu_count(), "threads": int(flags.threads), "memory": flags.memory, "runs": []}
    sizes = flags.sizes_gb.split(",")
    makers = [subprocess.Popen([sys.executable, str(ROOT / "bench/near/synthetic.py"), "--gigabytes", size, "--output",
                                str(work / f"{size}.jsonl"), "--truth", str(work / f"{size}.truth")]) for size in sizes]
    if any([maker.wait() for maker in makers]):
        sys.exit("the corpus could not be made")
    for size in sizes:
        corpus, truth, kept = work / f"{size}.jsonl", work / f"{size}.truth", work / "kept.jsonl"
        result = timed([flags.kernelwright, "dataset", "dedup", str(corpus), "--out", str(kept), "--memory", flags.memory,
                      "--threads", flags.threads], work / "log")
        bytes_in = corpus.stat().st_size
        rate = round(bytes_in / 1e6 / result["seconds"], 1)
        record["runs"].append({"gb": float(size), "bytes": bytes_in, "mb_a_second": rate,
                               **planted(truth, Path(f"{kept}.duplicates.jsonl")),
                               **result, "said": (work / "log").read_text(encoding="utf-8").splitlines()})
        print(json.dumps(record["runs"][-1]), file=sys.stderr)
        for path in (corpus, truth, kept, Path(f"{kept}.duplicates.jsonl")):
            path.unlink(missing_ok=True)
        Path(flags.out).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
