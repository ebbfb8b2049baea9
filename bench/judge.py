#!/usr/bin/env python3
"""Runs `kernelwright verify`, records the time of each verdict, and summarises.

judge.py --kernelwright PROGRAM --verdicts F.jsonl --record F.json [--name N] [--limit-s S] [--log F] -- ARGUMENTS OF VERIFY...
"""
import argparse
import json
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter

GRACE_S = 10


def judge(program, words, limit_s=None, log=None):
    """(verdicts, record): the record has the total time and the time of each stage."""
    command = [program, "verify", *words, "--json"]
    began = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
    timers = [threading.Timer(limit_s, process.terminate),
              threading.Timer(limit_s + GRACE_S, process.kill)] if limit_s else []
    for timer in timers:
        timer.start()
    verdicts, arrivals = [], []
    for line in process.stdout:
        if line.strip():
            arrivals.append(round(time.monotonic() - began, 3))
            verdicts.append(json.loads(line))
    code = process.wait()
    for timer in timers:
        timer.cancel()
    wall_s = time.monotonic() - began
    return verdicts, {"words": list(words), "exit_code": code, "wall_s": round(wall_s, 3),
                      "cut_short": bool(limit_s and wall_s >= limit_s), **summed_up(verdicts, arrivals, wall_s)}


def summed_up(verdicts, arrivals, wall_s):
    """Counts, rates and stages of a run."""
    stages = {}
    for verdict in verdicts:
        for stage, spent in (verdict.get("stages_ms") or {}).items():
            stages.setdefault(stage, []).append(spent)
    half = len(arrivals) // 2
    warm_s = arrivals[-1] - arrivals[half - 1] if half else 0
    return {
        "kernels": len(verdicts),
        "status": dict(Counter(verdict["status"] for verdict in verdicts)),
        "error_class": dict(Counter(verdict["error_class"] for verdict in verdicts if verdict["error_class"])),
        "first_verdict_s": arrivals[0] if arrivals else None,
        "kernels_a_minute": round(60 * len(verdicts) / wall_s, 1) if verdicts else None,
        "kernels_a_minute_second_half": round(60 * (len(arrivals) - half) / warm_s, 1) if warm_s > 0 else None,
        "median_stage_ms": {stage: round(statistics.median(spent), 3) for stage, spent in stages.items()},
        "total_stage_s": {stage: round(sum(spent) / 1e3, 3) for stage, spent in stages.items()},
        "arrivals_s": arrivals,
    }


def main():
    parser = argparse.ArgumentParser()
    for flag in ("--kernelwright", "--verdicts", "--record"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--name")
    parser.add_argument("--limit-s", type=float)
    parser.add_argument("--log")
    parser.add_argument("words", nargs=argparse.REMAINDER)
    flags = parser.parse_args()
    words = flags.words[1:] if flags.words[:1] == ["--"] else flags.words
    log = open(flags.log, "wb") if flags.log else None
    verdicts, record = judge(flags.kernelwright, words, flags.limit_s, log)
    record["name"] = flags.name
    with open(flags.verdicts, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(verdict) + "\n" for verdict in verdicts)
    with open(flags.record, "w", encoding="utf-8") as file:
        json.dump(record, file)
    print(f"{flags.name}: {record['kernels']} kernels in {record['wall_s']:.1f} s, {record['kernels_a_minute']} a minute, "
          f"second half {record['kernels_a_minute_second_half']}; {record['status']}"
          f"{', cut short' if record['cut_short'] else ''}, exit code {record['exit_code']}")
    return 0 if verdicts else 1


if __name__ == "__main__":
    sys.exit(main())
