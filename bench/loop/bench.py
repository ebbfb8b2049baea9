#!/usr/bin/env python3
"""Compares the program's loop with a batch loop with a barrier, against one mock server, in one run.

bench.py --build BUILD [--tasks 1000] [--in-flight 64,256,1024,4096] [--earlier RUN_LOOP] [--no-peer] [--output F].
Needs the targets mock_model and run_loop (ninja -C BUILD mock_model run_loop) and, for the peer, a Python with aiohttp.
RUN_LOOP is that program of an earlier revision, measured in turns with the build's.

The ideal makespan is a lower bound: no schedule can end before the longest chain of one task has, nor before the server
has given all answers with so many at once, nor before all are judged with so many at once. With few more tasks than
requests in flight no schedule reaches it, since the last chains end one by one. So the makespan of the program's rule
(conversations that continue come first) without any overhead is given too.
"""
import argparse
import heapq
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def make_plan(tasks, median_ms, seed):
    """Answers of log-normal length (a few take many times the median), judgements of a few hundred ms."""
    draw = random.Random(seed)
    plan = {"reasoning_bytes": 20_000, "content_bytes": 6_000, "pieces": 20, "max_turns": 4, "verifications": 16,
            "tasks": {}}
    for number in range(tasks):
        count = draw.choices([1, 2, 3, 4], weights=[45, 20, 12, 23])[0]
        turns = [{"generation_ms": median_ms * draw.lognormvariate(0, 0.7),
                  "verification_ms": draw.uniform(20, 80)} for _ in range(count)]
        plan["tasks"][f"task-{number:05}"] = {"turns": turns, "solved": count < 4 or draw.random() < 0.4}
    return plan


def ideal_s(plan, in_flight):
    """The bounds below which no schedule can end."""
    chains = [sum(turn["generation_ms"] + turn["verification_ms"] for turn in task["turns"])
              for task in plan["tasks"].values()]
    generation = sum(turn["generation_ms"] for task in plan["tasks"].values() for turn in task["turns"])
    verification = sum(turn["verification_ms"] for task in plan["tasks"].values() for turn in task["turns"])
    return {"longest_chain_s": max(chains) / 1000, "generation_s": generation / in_flight / 1000,
            "verification_s": verification / plan["verifications"] / 1000}


def schedule_s(plan, in_flight):
    """The makespan of the rule itself: continuing conversations first, and only answers and judgements take time."""
    fresh, waiting, to_judge = [(name, 0) for name in sorted(plan["tasks"])][::-1], [], []
    free, desks, events, now = in_flight, plan["verifications"], [], 0.0
    while fresh or waiting or to_judge or events:
        while free and (waiting or fresh):
            name, turn = waiting.pop(0) if waiting else fresh.pop()
            heapq.heappush(events, (now + plan["tasks"][name]["turns"][turn]["generation_ms"], "answer", name, turn))
            free -= 1
        while desks and to_judge:
            name, turn = to_judge.pop(0)
            heapq.heappush(events, (now + plan["tasks"][name]["turns"][turn]["verification_ms"], "verdict", name, turn))
            desks -= 1
        now, what, name, turn = heapq.heappop(events)
        if what == "answer":
            free += 1
            to_judge.append((name, turn))
        else:
            desks += 1
            if turn + 1 < len(plan["tasks"][name]["turns"]):
                waiting.append((name, turn + 1))
    return now / 1000


def texts_mb(plan, in_flight):
    """Texts of the conversations that can be open at once, at most: prompt, and the answers of four turns."""
    per_task = 7_000 + plan["max_turns"] * (plan["reasoning_bytes"] + plan["content_bytes"])
    return min(in_flight + 2 * plan["verifications"], len(plan["tasks"])) * per_task / 2**20


def call(*command):
    ended = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=True, timeout=900)
    return json.loads(ended.stdout)


def measure(flags, plan_file, plan, in_flight, folder):
    build = flags.build.resolve()
    with subprocess.Popen([build / "mock_model", plan_file], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        try:
            url = server.stdout.readline().decode().strip()
            earlier = flags.earlier and call(flags.earlier, plan_file, url, in_flight, folder / f"earlier-{in_flight}")
            ours = call(build / "run_loop", plan_file, url, in_flight, folder / f"run-{in_flight}")
            peer = None if flags.no_peer else call(sys.executable, HERE / "barrier_peer.py", plan_file, url, in_flight)
        finally:
            server.stdin.close()
    bounds = ideal_s(plan, in_flight)
    ideal, schedule = max(bounds.values()), schedule_s(plan, in_flight)
    row = {"in_flight": in_flight, "ideal_s": ideal, "schedule_s": schedule, **bounds,
           "texts_in_flight_mb": texts_mb(plan, in_flight)}
    for name, run in (("earlier", earlier), ("ours", ours), ("peer", peer)):
        if run:
            row[name] = {**run, "over_ideal": run["wall_s"] / ideal}
            if name != "peer":  # another rule
                row[name]["over_schedule"] = run["wall_s"] / schedule
    return row


def in_words(row):
    """One line about a row."""
    parts = [f"{row['in_flight']:5} in flight: ideal {row['ideal_s']:6.1f} s"]
    for name in ("earlier", "ours", "peer"):
        if run := row.get(name):
            schedule = f" (of its schedule {run['over_schedule']:.3f} x)" if "over_schedule" in run else ""
            parts.append(f"{name} {run['over_ideal']:.3f} x{schedule}, {run['peak_rss_mb']:.0f} MB,"
                         f" {run['cpu_s']:.1f} s CPU")
    return "; ".join(parts)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--build", type=Path, required=True)
    arguments.add_argument("--tasks", type=int, default=1000)
    arguments.add_argument("--median-ms", type=float, default=1500)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--in-flight", default="64,256,1024,4096")
    arguments.add_argument("--earlier", type=Path)
    arguments.add_argument("--no-peer", action="store_true")
    arguments.add_argument("--output", type=Path)
    flags = arguments.parse_args()
    plan = make_plan(flags.tasks, flags.median_ms, flags.seed)
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        plan_file = Path(temporary) / "plan.json"
        plan_file.write_text(json.dumps(plan), encoding="utf-8")
        for in_flight in map(int, flags.in_flight.split(",")):
            row = measure(flags, plan_file, plan, in_flight, Path(temporary))
            rows.append(row)
            print(in_words(row), flush=True)
    result = {"tasks": flags.tasks, "turns": sum(len(task["turns"]) for task in plan["tasks"].values()),
              "median_ms": flags.median_ms, "cores": os.cpu_count(), "machine": platform.machine(),
              "load": os.getloadavg()[0], "rows": rows}
    if flags.output:
        flags.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
