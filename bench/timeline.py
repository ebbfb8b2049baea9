#!/usr/bin/env python3
"""Prints the steps of a timeline as a table, and the processes that were started for each verdict.

timeline.py FILE [--skip S] [--output FILE.json]     FILE is that of `--timeline`; S seconds of its beginning are left out
"""
import argparse
import json
from collections import defaultdict
from pathlib import Path


def events_of(text: str):
    """The events of a file that may lack its last bracket."""
    text = text.rstrip().rstrip(",")
    return json.loads(text if text.endswith("]") else text + "]")


def quantile(ordered, share):
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def steps(events, skip_ms):
    """{(group, step): durations in ms, ascending}; attempts are one step, `attempt`."""
    groups = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    found = defaultdict(list)
    for event in events:
        if event["ph"] == "X" and event["ts"] / 1e3 >= skip_ms:
            step = "attempt" if "status" in event["args"] else event["name"]
            found[groups[event["pid"]], step].append(event["dur"] / 1e3)
    return {key: sorted(times) for key, times in found.items()}


def table(found):
    return [{"group": group, "step": step, "count": len(times), "sum_ms": round(sum(times), 1),
             "median_ms": round(quantile(times, 0.5), 2), "p95_ms": round(quantile(times, 0.95), 2)}
            for (group, step), times in sorted(found.items(), key=lambda item: (item[0][0], -sum(item[1])))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--skip", type=float, default=0.0, metavar="S")
    parser.add_argument("--output", type=Path)
    words = parser.parse_args()
    found = steps(events_of(words.file.read_text()), words.skip * 1e3)
    rows = table(found)
    verdicts = len(found.get(("verdicts", "attempt"), ()))
    started = {group: len(times) for (group, step), times in found.items() if step == "start"}
    print(f"{'group':20} {'step':24} {'count':>6} {'sum s':>8} {'median ms':>10} {'p95 ms':>10}")
    for row in rows:
        print(f"{row['group']:20} {row['step']:24} {row['count']:6} {row['sum_ms'] / 1e3:8.2f} "
              f"{row['median_ms']:10.2f} {row['p95_ms']:10.2f}")
    print(f"{verdicts} attempts; processes started for each: " +
          ", ".join(f"{group} {count / max(1, verdicts):.2f}" for group, count in sorted(started.items())))
    if words.output:
        words.output.write_text(json.dumps({"attempts": verdicts, "started": started, "steps": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
