#!/usr/bin/env python3
"""Kills `kernelwright run` repeatedly at random moments, resumes it each time, and counts lost results.

kills.py [--kills 1000] [--judged 150] [--seed 1] [--limit-s 2400] [--json F] [--kernelwright PROGRAM]

Two workloads. In `quick` every answer ends at the static stage and Python is a stand-in that starts at once, so that
a process spends most of its life asking, judging and writing; in `judged` two answers of three are run by the
interpreter. Both kill the same program, with its scripted model, over HTTP.
"""
import argparse
import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"


def measure(flags, folder):
    """Both workloads, within the limit; the judged one gets at most half the time."""
    from end_to_end import killing
    end = time.monotonic() + flags.limit_s
    record = {}
    for make, kills, deadline in ((killing.judged_world, flags.judged, time.monotonic() + flags.limit_s / 2),
                                  (killing.quick_world, flags.kills - flags.judged, end)):
        if kills <= 0:
            continue
        place = folder / make.__name__
        place.mkdir()
        run = killing.Killing(make(place), place, flags.seed)
        record[run.world.name] = run.kill(kills, deadline).as_json()
        print(f"{run.world.name}: {json.dumps(record[run.world.name])}", file=sys.stderr)
    return record


def summed_up(record):
    """The sums over both."""
    keys = ("kills", "completed_runs", "turns_judged", "turns_lost", "answers_lost", "databases_unsound", "other_failures",
            "wall_s")
    return {key: round(sum(each[key] for each in record.values()), 1) for key in keys}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000, help="of both workloads together")
    parser.add_argument("--judged", type=int, default=150, help="of these, in the workload that starts Python")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit-s", type=float, default=2400)
    parser.add_argument("--json", metavar="F", help="write the record there too")
    parser.add_argument("--kernelwright", default=str(BUILD / "kernelwright"))
    flags = parser.parse_args()
    os.environ["KERNELWRIGHT"] = str(Path(flags.kernelwright).resolve())
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "python"), str(BUILD / "wire" / "python")]
    with tempfile.TemporaryDirectory(prefix="bench-kills-") as folder:
        Path(folder).chmod(0o755)
        record = measure(flags, Path(folder))
    record = {"seed": flags.seed, "cores": os.cpu_count(), "machine": platform.machine(), **summed_up(record), "parts": record}
    text = json.dumps(record, indent=1)
    print(text)
    if flags.json:
        Path(flags.json).write_text(text + "\n", encoding="utf-8")
    good = record["kills"] == flags.kills and not any(
        record[key] for key in ("turns_lost", "answers_lost", "databases_unsound", "other_failures"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
