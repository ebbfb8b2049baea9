#!/usr/bin/env python3
"""Measure `kernelwright report` over made traces: bytes, seconds, memory.

    bench/report/size.py --kernelwright build/kernelwright --traces 10000 --output bench/results/report.json
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from tests.end_to_end import report_file  # noqa: E402


def measured(command):
    """Runs a command: its wall time, processor time and peak memory."""
    begin = time.monotonic()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{command[0]} failed: {status}")
    return {"wall_s": round(time.monotonic() - begin, 2), "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
            "peak_mib": round(usage.ru_maxrss / 1024, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernelwright", type=Path, required=True)
    parser.add_argument("--traces", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--input", type=Path, help="traces that were made before")
    parser.add_argument("--output", type=Path, help="a JSON file for the figures")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        traces, page = options.input or Path(name, "traces.json"), Path(name, "report.html")
        if not options.input:
            subprocess.run([sys.executable, HERE / "traces.py", "--traces", str(options.traces), "--turns",
                            str(options.turns), "--output", traces], check=True)
        figures = measured([options.kernelwright, "report", traces, "--output", page, "--quiet"])
        data = page.with_suffix(".kwdata")
        report = report_file.Report(page)
        figures.update(rows=report.count, turns=report.index["turns"]["count"], input_bytes=traces.stat().st_size,
                       html_bytes=page.stat().st_size, data_bytes=data.stat().st_size if data.exists() else 0,
                       raw_bytes=sum(each["raw_bytes"] for each in report.index["chunks"]),
                       chunks=len(report.index["chunks"]), load_average=round(os.getloadavg()[0], 1))
        if len(report.details()) != report.count:
            raise SystemExit("details are missing")
    print(json.dumps(figures, indent=1))
    if options.output:
        options.output.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
