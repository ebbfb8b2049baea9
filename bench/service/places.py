#!/usr/bin/env python3
"""Whether eight logical GPUs are kept busy: the share of the time in which all eight places of a verifier are taken.

places.py --build BUILD [--clients 8,9,12,16,64] [--seconds 20] [--output F]

Verdicts take 50 to 500 ms each, drawn anew. Clients submit over HTTP, wait for their verdict, and submit the next.
"direct": they ask the service that has the verifier. "behind": they ask a `kernelwright serve --evaluator` in front of
it, as in a fleet, which keeps as many evaluations in flight as there are places, or a quarter more. With eight clients a
place is empty while its client submits the next evaluation, so the missing share is this delay.
"""
import argparse
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import processes

PLACES = 8
FROM_MS, TO_MS = 50, 500
WARM_S = 3
MARGIN_S = 1  # at both ends of the load, outside the measured time


def taken(url):
    """The milliseconds for which each number of places was taken."""
    with urllib.request.urlopen(f"{url}/bench/places", timeout=20) as answer:
        return json.load(answer)["ms_with_so_many_taken"]


def look(judging, asked, build, clients, seconds):
    """The shares over a time in the middle of a load."""
    command = processes.pinned(processes.LOAD_CORE, build / "service_load", asked, clients, WARM_S + seconds + MARGIN_S, 0)
    with subprocess.Popen(command, stdout=subprocess.PIPE) as load:
        time.sleep(WARM_S)
        before = taken(judging)
        time.sleep(seconds)
        after = taken(judging)
        ended = json.load(load.stdout)
    spent = [now - then for now, then in zip(after, before, strict=True)]
    return {"clients": clients, "all_taken": round(spent[-1] / sum(spent), 4),
            "mean_taken": round(sum(count * ms for count, ms in enumerate(spent)) / sum(spent) / PLACES, 4),
            "verdicts_a_second": round(ended["submit"]["count"] / ended["seconds"], 1), "failures": ended["failures"]}


def front(program, folder, evaluator, at_once):
    """The program itself, with another service as its evaluator and this limit of evaluations in flight."""
    service = processes.Service()
    service.start(program, "serve", "--port", 0, "--store", folder / f"front-{at_once}.db", "--evaluator", evaluator, "--quiet",
                  "--jobs", at_once, "--parent-death", stderr=subprocess.DEVNULL)
    return service.read_url("/health")


def measure(build, clients, seconds):
    rows = []
    with tempfile.TemporaryDirectory(prefix="bench-places-") as temporary:
        folder = Path(temporary)
        with processes.ours(build, folder, PLACES, FROM_MS, TO_MS) as judging:
            for count in clients:
                rows.append({"way": "direct", **look(judging.url, judging.url, build, count, seconds)})
                print(json.dumps(rows[-1]), file=sys.stderr)
            for at_once in (PLACES, PLACES + PLACES // 4):
                with front(build / "kernelwright", folder, judging.url, at_once) as before:
                    rows.append({"way": "behind", "at_once": at_once,
                                 **look(judging.url, before.url, build, clients[-1], seconds)})
                    print(json.dumps(rows[-1]), file=sys.stderr)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--clients", default="8,9,12,16,64")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--output", type=Path)
    flags = parser.parse_args()
    rows = measure(flags.build.resolve(), [int(each) for each in flags.clients.split(",")], flags.seconds)
    result = {"machine": processes.machine(), "places": PLACES, "verdict_ms": [FROM_MS, TO_MS], "rows": rows}
    text = json.dumps(result, indent=1)
    print(text)
    if flags.output:
        flags.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
