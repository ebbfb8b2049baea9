#!/usr/bin/env python3
"""Prints the short table at the end of run_all.sh, and writes all of its data as JSON: table.py RAW_FOLDER SUMMARY.json"""
import json
import sys
from pathlib import Path


def read(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def first_line(path):
    try:
        return path.read_text(encoding="utf-8").splitlines()[0]
    except (OSError, IndexError):
        return ""


def collect(raw):
    runs = {path.name.removesuffix(".run.json"): read(path) for path in sorted(raw.glob("*.run.json"))}
    lines = (raw / "parts.tsv").read_text(encoding="utf-8").splitlines() if (raw / "parts.tsv").exists() else []
    parts = [dict(zip(("part", "exit_code", "seconds"), line.split("\t"))) for line in lines]
    ours = {}
    path = raw / "kernelbench.ours.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        verdict = json.loads(line)
        ours[str(verdict.get("problem_id"))] = {
            "status": verdict["status"], "seconds": round(sum(verdict["stages_ms"].values()) / 1e3, 2),
            **{key: verdict[key] for key in ("speedup", "reference_time_ms", "kernel_time_ms", "error", "stages_ms")}}
    theirs = {path.stem.rpartition("_")[2]: read(path) for path in sorted(raw.glob("kernelbench.own_*.json"))}
    return {"parts": parts, "runs": runs, "agreement": {path.name.removesuffix(".agreement.txt"): first_line(path)
                                                        for path in sorted(raw.glob("*.agreement.txt"))},
            "kernelbench": {"ours": ours, "theirs": theirs}, "overhead": read(raw / "overhead.json")}


def show(found):
    print("\n== in short")
    for part in found["parts"]:
        print(f"  {part['part']:<12} exit code {part['exit_code']}, {part['seconds']} s")
    print(f"{'run':<38} {'kernels':>7} {'wall s':>7} {'first s':>7} {'a minute':>8} {'2nd half':>8}")
    for name, run in found["runs"].items():
        if run:
            cells = [run[key] if run[key] is not None else "-" for key in
                     ("kernels", "wall_s", "first_verdict_s", "kernels_a_minute", "kernels_a_minute_second_half")]
            print(f"{name:<38} {cells[0]:>7} {cells[1]:>7} {cells[2]:>7} {cells[3]:>8} {cells[4]:>8}"
                  f"{'  cut short' if run['cut_short'] else ''}")
    for name, line in found["agreement"].items():
        print(f"{name}: {line}")
    own, theirs = found["kernelbench"]["ours"], found["kernelbench"]["theirs"]
    for problem in sorted({*own, *theirs}):
        a, b = own.get(problem, {}), theirs.get(problem) or {}
        print(f"KernelBench 1/{problem}: ours {a.get('status')} in {a.get('seconds')} s, kernel {a.get('kernel_time_ms')} ms, "
              f"speed-up {a.get('speedup')}; its own {b.get('correctness', b.get('error'))} in {b.get('eval_s')} s "
              f"(process {b.get('process_s')} s), kernel {b.get('runtime')} ms, reference {b.get('ref_runtime')} ms")
    for name, run in found["runs"].items():
        if run and name.startswith(("throughput", "sample")):
            print(f"{name}: median ms a stage {run['median_stage_ms']}; total s {run['total_stage_s']}")
    if found["overhead"]:
        seen = found["overhead"]
        print(f"overhead: --help {seen['help_ms']} ms, no-op {seen['median_sum_of_stages_ms']} ms {seen['median_stage_ms']}")


def main(raw, summary):
    found = collect(Path(raw))
    Path(summary).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    show(found)


if __name__ == "__main__":
    main(*sys.argv[1:])
