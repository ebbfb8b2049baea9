#!/usr/bin/env python3
"""Compares verdicts with the known results of the rows.

compare.py expected EXPECTED.json VERDICTS.jsonl     the sample, against its expected verdicts
compare.py recorded TRACES.json VERDICTS.jsonl       recorded completions, against their recorded verdicts
"""
import json
import sys

from traces import rows_of, verdicts_of

# Rows that a GPU judges differently from a CPU: it uses the given shape, and it runs inline assembly.
WITH_GPU = {
    "sample_log_softmax~2": ("correct", None),
    "sample_log_softmax~3": ("incorrect", "wrong_value"),
    "sample_swish_gate~5": ("correct", None),
}


def told(verdict):
    words = f"{verdict['status']} ({verdict['error_class']})" if verdict["error_class"] else verdict["status"]
    return f"{words}: {(verdict['error'] or '')[:200]}" if verdict["error"] else words


def expected(path, verdicts):
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)
    on_gpu = any(verdict["environment"]["gpu"] for verdict in verdicts.values())
    agreed, differences, missing = 0, [], []
    for row, entry in rows.items():
        wanted = (entry["status"], entry["error_class"])
        if on_gpu:
            wanted = WITH_GPU.get(row, wanted)
        verdict = verdicts.get(row)
        if verdict is None:
            missing.append(row)
            continue
        same = (verdict["status"], verdict["error_class"]) == wanted
        counts = wanted != (entry["status"], entry["error_class"]) or entry["counts"] is None or (
            verdict["counts"], verdict["counts_reason"]) == (entry["counts"], entry["counts_reason"])
        # A GPU detects only accesses outside mapped memory, and wrong results.
        loose = on_gpu and wanted[1] == "out_of_bounds" and verdict["status"] in ("failed", "incorrect")
        if (same and counts) or loose:
            agreed += 1
        else:
            why = "" if counts else f", counts {verdict['counts']} ({verdict['counts_reason']})"
            differences.append(f"  {row}: expected {wanted[0]} ({wanted[1]}), found {told(verdict)}{why}")
    return agreed, len(rows), differences, missing


def recorded(path, verdicts):
    agreed, total, differences, missing = 0, 0, [], []
    for row, _, completion in rows_of(path):
        total += 1
        verdict, said = verdicts.get(row), completion["result"]["correctness"]
        if verdict is None:
            missing.append(row)
        elif verdict["correctness"] is said:
            agreed += 1
        else:
            differences.append(f"  {row}: recorded {'correct' if said else 'wrong'}, found {told(verdict)}")
    return agreed, total, differences, missing


def main(kind, known, found):
    verdicts = {verdict["id"]: verdict for verdict in verdicts_of(found)}
    agreed, total, differences, missing = {"expected": expected, "recorded": recorded}[kind](known, verdicts)
    speeds = sum(verdict["speedup"] is not None for verdict in verdicts.values())
    print(f"agreement: {agreed} of {total}; {len(missing)} without a verdict; {speeds} with a speed-up")
    print("\n".join(differences + ([f"  no verdict: {' '.join(missing[:20])}"] if missing else [])))


if __name__ == "__main__":
    main(*sys.argv[1:])
