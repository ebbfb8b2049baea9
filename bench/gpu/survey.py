#!/usr/bin/env python3
"""KernelBench's reference modules as candidates at full size: which can be replayed, and why others cannot.

survey.py rows KERNELBENCH BATCH.jsonl [LEVEL...]     survey.py table VERDICTS.jsonl [SUMMARY.json]
"""
import json
import sys
from collections import Counter
from pathlib import Path


def problems(kernelbench, levels):
    for level in levels:
        files = (Path(kernelbench) / "KernelBench" / f"level{level}").glob("*.py")
        for path in sorted(files, key=lambda each: int(each.name.split("_")[0])):
            yield f"{level}/{path.name.split('_')[0]}", path.read_text(encoding="utf-8")


def rows(kernelbench, batch, *levels):
    with open(batch, "w", encoding="utf-8") as out:
        for name, code in problems(kernelbench, levels or ("1", "2")):
            out.write(json.dumps({"id": name, "reference_code": code,
                                  "kernel_code": f"{code}\n\nModelNew = Model\n"}) + "\n")


def table(verdicts, summary=None):
    found = [json.loads(line) for line in open(verdicts, encoding="utf-8") if line.strip()]
    replayed = [each for each in found if each["trust"] == "replay" and each["status"] == "correct"]
    status = Counter(each["status"] for each in found)
    why = {each["id"]: each["replay"]["why_not"] for each in found if each.get("replay") and each["replay"]["why_not"]}
    other = {each["id"]: f"{each['status']}: {each['error']}" for each in found if each["status"] != "correct"}
    ratios = sorted(each["speedup"] for each in replayed if each["speedup"])
    sums = {"modules": len(found), "status": dict(status), "replayed_and_right": len(replayed),
            "not_replayed": why, "not_correct": other,
            "speedup_against_itself": {"median": ratios[len(ratios) // 2], "least": ratios[0], "most": ratios[-1]}
            if ratios else None,
            "launches": {each["id"]: len(each["launches"] or []) for each in replayed}}
    print(f"survey: {len(replayed)} of {len(found)} modules replayed and right; status {dict(status)}; "
          f"against themselves {sums['speedup_against_itself']}")
    for words, names in Counter(why.values()).most_common(12):
        print(f"  not replayed {names} x: {words[:150]}  ({', '.join(k for k, v in why.items() if v == words)[:80]})")
    for name, words in list(other.items())[:12]:
        print(f"  {name}: {words[:200]}")
    if summary:
        Path(summary).write_text(json.dumps(sums, indent=1), encoding="utf-8")


if __name__ == "__main__":
    {"rows": rows, "table": table}[sys.argv[1]](*sys.argv[2:])
