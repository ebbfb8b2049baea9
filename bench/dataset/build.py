#!/usr/bin/env python3
"""Builds a training set from the named packages, and reports its contents and the time of each stage.

build.py --out RESULT.json [--kernelwright PROGRAM] [--work DIR] [--threads 1,2] [--against PATH ...] [SOURCE ...]

Without sources: nine packages from the package index, which the program fetches. A cold build for each number of
threads, in a folder of its own with the archives present, then one more in the last folder with all results cached.
Their files must be the same byte for byte. Memory is the largest resident set of the program or of any one child of it.
"""
import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from measure import timed

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ["flag-gems", "fla-core", "flash-linear-attention", "liger-kernel", "torchao", "gemlite", "unsloth",
            "flashinfer-python", "xformers"]


def digest(folder):
    """The digest of all files of the set."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith(".state"):
            total.update(name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def analysis(folder):
    return json.loads((folder / "ANALYSIS.json").read_text(encoding="utf-8"))


def times(folder):
    return json.loads((folder / ".state/times.json").read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--out", required=True)
    parser.add_argument("--kernelwright", default=str(ROOT / "build/kernelwright"))
    parser.add_argument("--work", default="dataset-bench")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--against", nargs="*", default=[])
    parser.add_argument("--options", default="", help="more words for `dataset build`")
    flags = parser.parse_args()
    work = Path(flags.work)
    work.mkdir(parents=True, exist_ok=True)
    sources = flags.sources
    common = flags.options.split() + (["--against", *flags.against] if flags.against else [])
    archives = work / "archives"
    if not sources:
        archives.mkdir(exist_ok=True)
        fetch = [sys.executable, "-I", str(ROOT / "python/kernelwright/_dataset/pypi.py"), "--dest", str(archives), "--form",
                 "auto", "--", *PACKAGES]
        subprocess.run(fetch, check=True, stdout=subprocess.DEVNULL)
        sources = sorted(str(path) for path in archives.iterdir() if path.is_file())
    record = {"machine": {"cores": os.cpu_count(), "processor": platform.processor() or platform.machine()},
              "sources": [Path(source).name for source in sources], "builds": []}
    digests = set()
    for threads in flags.threads.split(","):
        folder = work / f"threads-{threads}"
        shutil.rmtree(folder, ignore_errors=True)
        command = [flags.kernelwright, "dataset", "build", *sources, "--out", str(folder), "--threads", threads, *common]
        for kind in ("cold", "warm"):
            if kind == "warm" and threads != flags.threads.split(",")[-1]:
                continue
            before = digest(folder) if kind == "warm" else None
            result = timed(command, work / f"{kind}-{threads}.log")
            found = analysis(folder)
            record["builds"].append({"kind": kind, "threads": int(threads), **result, "timing": times(folder)})
            record["analysis"] = found
            digests.add(digest(folder))
            record["same_bytes"] = len(digests) == 1 and before in (None, digest(folder))
            print(json.dumps(record["builds"][-1]), file=sys.stderr)
    Path(flags.out).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0 if record["same_bytes"] else 1


if __name__ == "__main__":
    sys.exit(main())
