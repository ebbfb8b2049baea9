#!/usr/bin/env python3
"""Measures the engine's time for a kernel that does almost no work, by stage, and the time of --help.

overhead.py --kernelwright PROGRAM [--device cpu] [--python P] [--rows 20] [--output bench/results/cpu_overhead.json]
"""
import argparse
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from judge import judge

NOOP = Path(__file__).resolve().parent / "noop"
SHAPES = {"x": {"shape": [1], "dtype": "float32"}}


def noop_rows(count):
    """Copies of one small pair, each with unique bytes, so that no verdict is shared."""
    reference, kernel = ((NOOP / f"{name}.py").read_text(encoding="utf-8") for name in ("reference", "kernel"))
    return [{"id": f"noop_{k}", "reference_code": reference, "kernel_code": f"{kernel}# copy {k}\n",
             "input_shapes": SHAPES} for k in range(count)]


def help_ms(program, runs=50):
    """The median time of whole processes."""
    command = [program, "--help"]
    if shutil.which("hyperfine"):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            subprocess.run(["hyperfine", "-N", "--warmup", "5", "--runs", str(runs), "--export-json", file.name,
                            shlex.join(command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            return round(json.load(file)["results"][0]["median"] * 1e3, 2)
    spent = []
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        spent.append((time.perf_counter() - began) * 1e3)
    return round(statistics.median(spent), 2)


def processor():
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernelwright", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--python")
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--limit-s", type=float)
    parser.add_argument("--note", help="what else is to be known of the machine")
    parser.add_argument("--output", required=True)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        batch = Path(folder) / "noop.jsonl"
        batch.write_text("".join(json.dumps(row) + "\n" for row in noop_rows(flags.rows)), encoding="utf-8")
        words = ["--batch", str(batch), "--device", flags.device, "--jobs", "1", "--quiet"]
        verdicts, record = judge(flags.kernelwright, words + (["--python", flags.python] if flags.python else []),
                                 flags.limit_s)
    sums = [sum(verdict["stages_ms"].values()) for verdict in verdicts]
    kept = ("kernels", "status", "wall_s", "first_verdict_s", "kernels_a_minute_second_half", "median_stage_ms")
    found = {"what": "one element copied, one candidate at a time; medians over the rows",
             "note": flags.note, "device": flags.device, "processor": processor(), "cores": len(os.sched_getaffinity(0)),
             "load_average": os.getloadavg(), "help_ms": help_ms(flags.kernelwright),
             "median_sum_of_stages_ms": round(statistics.median(sums), 3) if sums else None,
             **{key: record[key] for key in kept}}
    Path(flags.output).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"--help {found['help_ms']} ms; around a no-op kernel {found['median_sum_of_stages_ms']} ms: "
          f"{found['median_stage_ms']}")
    return 0 if found["status"] == {"correct": flags.rows} else 1


if __name__ == "__main__":
    sys.exit(main())
