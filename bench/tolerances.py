#!/usr/bin/env python3
"""Compares rules for right results: the flat tolerance, the strict one, and varied inputs.

tolerances.py [--device cpu|cuda] [--python PYTHON] [--jobs N] [--output FILE.json]     the program is $KERNELWRIGHT

false accepts   wrong kernels that are right and count: seeded bugs (bench/tolerances/bugs.toml), and the cheats of
                tests/exploits that compute another function (families generality and precision)
false rejects   honest kernels that do not: those of the same families and of `values`, which sum in other orders, by parts,
                by atomic additions, in one pass or with compensation
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from end_to_end import exploits, program  # noqa: E402

RULES = {"flat": ("--tolerance", "kernelbench", "--inputs", "given"),
         "strict": ("--tolerance", "strict", "--inputs", "given"),
         "varied": ("--tolerance", "kernelbench", "--inputs", "varied")}
WRONG_FAMILIES, HONEST_FAMILIES = ("generality", "precision"), ("generality", "precision", "values")


def bugs():
    """Rows of honest kernels with one replacement each."""
    found = []
    for bug in tomllib.loads((ROOT / "bench/tolerances/bugs.toml").read_text(encoding="utf-8"))["bug"]:
        row = exploits.CORPUS[bug["file"]].row()
        if row["kernel_code"].count(bug["old"]) != 1:
            raise SystemExit(f"bugs.toml: {bug['file']}: {bug['what']}: `old` occurs "
                             f"{row['kernel_code'].count(bug['old'])} times, not once")
        found.append({**row, "id": f"{bug['file']}: {bug['what']}",
                      "kernel_code": row["kernel_code"].replace(bug["old"], bug["new"])})
    return found


def corpus(kind, families, device):
    """Rows of tests/exploits that are judged on this device by the default rule."""
    return [each.row() for each in exploits.CORPUS.values()
            if each.kind == kind and each.family in families and not each.strict and not each.shapes
            and (each.on_gpu if device == "cuda" else each.on_cpu or each.on_gpu)]


def judged(rows, words, flags):
    """Verdicts by id."""
    with tempfile.TemporaryDirectory() as folder:
        batch, output = Path(folder, "rows.jsonl"), Path(folder, "verdicts.jsonl")
        batch.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        subprocess.run([os.environ.get("KERNELWRIGHT", str(ROOT / "build/kernelwright")), "verify", "--batch", str(batch),
                        "--output", str(output), "--device", flags.device, "--python", flags.python, "--require", "any",
                        "--timing-trials", "1", "--evidence", "none", "--quiet",
                        *(("--jobs", str(flags.jobs)) if flags.jobs else ()), *words],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
        return {each["id"]: each for each in program.read_verdicts(output.read_text(encoding="utf-8"))}


def counts(verdict):
    """Whether a rule takes the kernel for right; None: it was not judged."""
    if verdict is None or verdict["status"] in ("error", "skipped", "task_invalid"):
        return None
    # An empty answer passes the task: a mark of the task, and no word on the kernel.
    return verdict["status"] == "correct" and (verdict["counts"] or verdict["counts_reason"] == "proves_nothing")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--output", type=Path)
    flags = parser.parse_args()
    groups = {"seeded bugs": bugs(), "semantic cheats": corpus("cheats", WRONG_FAMILIES, flags.device),
              "honest": corpus("honest", HONEST_FAMILIES, flags.device)}
    table, named = {}, {}
    for rule, words in RULES.items():
        verdicts = judged([row for rows in groups.values() for row in rows], words, flags)
        for group, rows in groups.items():
            found = {row["id"]: counts(verdicts.get(row["id"])) for row in rows}
            wrong = [name for name, taken in found.items() if taken is (group != "honest")]
            left_out = [name for name, taken in found.items() if taken is None]
            table.setdefault(group, {})[rule] = {"kernels": len(rows), "wrong": len(wrong), "not judged": len(left_out)}
            named.setdefault(group, {})[rule] = {"wrong": wrong, "not judged": left_out}
    print(f"{'':18}{'kernels':>8}" + "".join(f"{rule:>10}" for rule in RULES) + "   (taken wrongly; not judged)")
    for group, row in table.items():
        cells = "".join(f"{each['wrong']:>6} ({each['not judged']})" for each in row.values())
        print(f"{group:18}{row['flat']['kernels']:>8}{cells}")
    for group, row in named.items():
        for rule, names in row.items():
            print(f"{group}, {rule}: {'; '.join(names['wrong']) or '-'}")
    if flags.output:
        flags.output.write_text(json.dumps({"device": flags.device, "table": table, "named": named}, indent=1) + "\n",
                                encoding="utf-8")


if __name__ == "__main__":
    main()
