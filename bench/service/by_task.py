#!/usr/bin/env python3
"""Submissions that name a task of the service by its id, against submissions that contain the reference.

by_task.py --build BUILD [--clients 1024] [--seconds 10] [--rounds 3] [--output F]

The verifier answers at once (`noop_service.cpp`), so that the service alone is measured. Both ways take turns on the same
service; each client submits an evaluation of its own, waits for it in one long poll, and repeats.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import processes

WIDTH = 64
WARM_S = 2
WAYS = {"reference": [], "task_id": ["bench"]}


def measure(build, clients, seconds, rounds):
    rows = []
    with tempfile.TemporaryDirectory(prefix="bench-by-task-") as folder, processes.ours(build, Path(folder), WIDTH) as service:
        for _ in range(rounds):
            for way, more in WAYS.items():
                words = [build / "service_load", service.url, clients, seconds, WARM_S, *more]
                command = processes.pinned(processes.LOAD_CORE, *words)
                ended = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
                rows.append({"way": way, **{name: ended[name] for name in ("clients", "requests_a_second", "bytes_a_submission",
                                                                            "submit", "poll", "failures")}})
                print(json.dumps(rows[-1]), file=sys.stderr)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--clients", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path)
    flags = parser.parse_args()
    rows = measure(flags.build.resolve(), flags.clients, flags.seconds, flags.rounds)
    text = json.dumps(rows, indent=1)
    flags.output.write_text(text + "\n", encoding="utf-8") if flags.output else print(text)


if __name__ == "__main__":
    sys.exit(main())
