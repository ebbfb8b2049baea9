#!/usr/bin/env python3
"""Submissions and long polls of no-op verdicts: this service beside one of the same contract on FastAPI and Redis.

compare.py --build BUILD --peer-python PYTHON [--clients 1,64,1024] [--seconds 4] [--rounds 3] [--output F]

Both get the same load of the same generator, in turns in one run; the service with all its processes has one core,
the generator the other. Needs the targets noop_service and service_load, redis-server, and a Python with the packages
that peer_service.py names.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import processes

WIDTH = 16
ALWAYS = "always"  # with an fsync before each answer, as in this service


def measure(make, build, clients, seconds):
    """Measures one fresh service under one load."""
    with tempfile.TemporaryDirectory(prefix="bench-service-") as folder, make(Path(folder)) as service:
        before = service.cpu_s()
        command = processes.pinned(processes.LOAD_CORE, build / "service_load", service.url, clients, seconds)
        ended = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=300)
        record = json.loads(ended.stdout)
        # Over all answers, including those of the warm-up.
        record["service_cpu_s"] = service.cpu_s() - before
        record["service_rss_mb"] = service.rss_mb()
        record["disk_mb"] = sum(each.stat().st_size for each in Path(folder).rglob("*") if each.is_file()) / 2**20
    return record


def figures(records):
    """Medians over the rounds."""
    def middle(of):
        return round(statistics.median(map(of, records)), 3)
    return {"requests_a_second": middle(lambda each: each["requests_a_second"]),
            "submit_p50_ms": middle(lambda each: each["submit"]["p50_ms"]),
            "submit_p99_ms": middle(lambda each: each["submit"]["p99_ms"]),
            "poll_p50_ms": middle(lambda each: each["poll"]["p50_ms"]),
            "poll_p99_ms": middle(lambda each: each["poll"]["p99_ms"]),
            "cpu_us_a_request": middle(lambda each: each["service_cpu_s"] / each["answered"] * 1e6),
            "rss_mb": middle(lambda each: each["service_rss_mb"]),
            "generator_busy": middle(lambda each: each["generator_cpu_s"] / (each["seconds"] + 1)),
            "service_busy": middle(lambda each: each["service_cpu_s"] / (each["seconds"] + 1)),
            "failures": sum(sum(each["failures"].values()) for each in records)}


def compare(makers, build, clients, seconds, rounds):
    records = {name: [] for name in makers}
    for _ in range(rounds):
        for name, make in makers.items():
            records[name].append(measure(make, build, clients, seconds))
            print(clients, name, json.dumps(figures(records[name][-1:])), file=sys.stderr)
    row = {"clients": clients, **{name: figures(each) for name, each in records.items()}, "rounds": records}
    mine = row["ours"]
    for name in list(makers)[1:]:
        # Above 1: this service is better.
        row[f"over_{name}"] = {"requests_a_second": round(mine["requests_a_second"] / row[name]["requests_a_second"], 2),
                               **{key: round(row[name][key] / mine[key], 2)
                                  for key in ("submit_p99_ms", "poll_p99_ms", "cpu_us_a_request")
                                  if mine[key]}}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--peer-python", required=True)
    parser.add_argument("--clients", default="1,64,1024")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path)
    flags = parser.parse_args()
    build = flags.build.resolve()
    makers = {"ours": lambda folder: processes.ours(build, folder, WIDTH),
              "everysec": lambda folder: processes.peer(flags.peer_python, folder, "everysec"),
              "always": lambda folder: processes.peer(flags.peer_python, folder, ALWAYS)}
    record = {"machine": processes.machine(), "seconds": flags.seconds, "width": WIDTH,
              "rows": [compare(makers, build, clients, flags.seconds, flags.rounds)
                       for clients in map(int, flags.clients.split(","))]}
    text = json.dumps(record, indent=1)
    print(text)
    if flags.output:
        flags.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
