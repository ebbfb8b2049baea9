#!/usr/bin/env python3
"""Memory, descriptors and disk of the service over very many no-op verdicts.

steady.py --build BUILD [--clients 64] [--seconds 120] [--output F]
"""
import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import processes

WIDTH = 16


def measure(build, clients, seconds):
    samples = []
    with tempfile.TemporaryDirectory(prefix="bench-steady-") as temporary:
        folder = Path(temporary)
        with processes.ours(build, folder, WIDTH) as service:
            pid = service.processes[0].pid
            command = processes.pinned(processes.LOAD_CORE, build / "service_load", service.url, clients, seconds, 0)
            with subprocess.Popen(command, stdout=subprocess.PIPE) as load:
                while load.poll() is None:
                    samples.append((processes.rss_mb(pid), len(os.listdir(f"/proc/{pid}/fd"))))
                    time.sleep(0.5)
                ended = json.load(load.stdout)
        size = sum(each.stat().st_size for each in folder.iterdir())
    quarter = max(1, len(samples) // 4)

    def middle(part, column):
        return round(sorted(row[column] for row in part)[len(part) // 2], 1)
    verdicts = ended["submit"]["count"]
    return {"clients": clients, "seconds": seconds, "verdicts": verdicts, "failures": ended["failures"],
            "bytes_a_verdict": round(size / max(1, verdicts)),
            "quarters": [{"rss_mb": middle(part, 0), "descriptors": middle(part, 1)}
                         for part in (samples[at * quarter:(at + 1) * quarter] for at in range(4)) if part]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--output", type=Path)
    flags = parser.parse_args()
    result = {"machine": processes.machine(), **measure(flags.build.resolve(), flags.clients, flags.seconds)}
    text = json.dumps(result, indent=1)
    print(text)
    if flags.output:
        flags.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
