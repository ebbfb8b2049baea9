#!/usr/bin/env python3
"""Honest kernels judged beside candidates that take the device's memory and the CPUs: how many are disturbed.

neighbours.py --kernelwright PROGRAM [--python PYTHON] [--honest N] [--pairs N] [--jobs N] [--json FILE]

Judges the honest kernels twice: without hogs, and with `--pairs` of a memory hog and a CPU hog in the same batch.
An honest kernel is disturbed if it is not right and counting, has no speed-up, or is replayed only without hogs. The
exit code is 1 if one is. It takes under 90 seconds on an H100.
"""
import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VICTIMS = Path(__file__).resolve().parents[2] / "tests" / "victims"
TIMEOUT_S = 15


def row(name, victim, number):
    """A candidate that is different from all others, so that none is answered from a cache."""
    code = (VICTIMS / f"{victim}.py").read_text(encoding="utf-8")
    return {"id": f"{name}-{number}", "reference_code": (VICTIMS / "reference.py").read_text(encoding="utf-8"),
            "kernel_code": f"{code}\n# {name} {number}\n"}


def batch_of(honest, pairs):
    """The hogs are spread evenly among the honest kernels."""
    rows = [row("honest", "honest", number) for number in range(honest)]
    for number in range(pairs):
        at = number * len(rows) // pairs
        rows[at:at] = [row("memory-hog", "device_memory_hog", number), row("cpu-hog", "cpu_hog", number)]
    return rows


def judge(options, rows, folder):
    """(verdicts by id, seconds)."""
    batch, output = folder / "batch.jsonl", folder / "verdicts.jsonl"
    batch.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    output.unlink(missing_ok=True)
    command = [options.kernelwright, "verify", "--batch", batch, "--output", output, "--device", "cuda",
               "--timeout", str(TIMEOUT_S), "--jobs", str(options.jobs)]
    if options.python:
        command += ["--python", options.python]
    began = time.monotonic()
    subprocess.run([str(each) for each in command], check=False, stdout=subprocess.DEVNULL)
    lines = output.read_text(encoding="utf-8").splitlines()
    return {each["id"]: each for each in map(json.loads, lines)}, time.monotonic() - began


def why_disturbed(verdict, quiet):
    """What differs from the verdict without hogs; empty: nothing."""
    if verdict is None:
        return "no verdict"
    if verdict["status"] != "correct" or not verdict["counts"]:
        return f"{verdict['status']}, {verdict['error_class']}, fault {verdict['fault']}: {verdict['error']}"
    if verdict["trust"] != quiet["trust"]:
        return f"trust {verdict['trust']} in place of {quiet['trust']}"
    return "" if verdict["speedup"] or not quiet["speedup"] else "no speed-up"


def again(verdict):
    """Whether it was judged again alone."""
    findings = (verdict["comparison"] or {}).get("findings", [])
    return any(each.startswith("judged again") for each in findings)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelwright", required=True)
    parser.add_argument("--python")
    parser.add_argument("--honest", type=int, default=24)
    parser.add_argument("--pairs", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="neighbours-") as folder:
        quiet, quiet_s = judge(options, batch_of(options.honest, 0), Path(folder))
        beside, beside_s = judge(options, batch_of(options.honest, options.pairs), Path(folder))
    disturbed = {name: why for name in quiet if (why := why_disturbed(beside.get(name), quiet[name]))}
    hogs = {name: f"{each['status']}/{each['error_class']}" for name, each in beside.items() if name not in quiet}
    figures = {"honest": len(quiet), "hogs": hogs, "disturbed": disturbed,
               "judged_again": sum(again(each) for name, each in beside.items() if name in quiet),
               "seconds_without_hogs": round(quiet_s, 1), "seconds": round(beside_s, 1)}
    print(json.dumps(figures, indent=1))
    print(f"neighbours disturbed under {len(hogs)} hogs: {len(disturbed)}")
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    sys.exit(1 if disturbed or not quiet else 0)


if __name__ == "__main__":
    main()
