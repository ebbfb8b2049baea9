#!/usr/bin/env python3
"""Outcomes and cost of varied inputs: varied_table.py FOLDER, of verdicts named INSTRUMENT-given.jsonl and -varied.jsonl."""
import json
import sys
from collections import Counter
from pathlib import Path


def read(path):
    """Verdicts by id."""
    return {each["id"]: each for each in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


def middle_ms(verdicts):
    """The middle one of the times of verdicts, without the static stage."""
    times = sorted(sum(each["stages_ms"].values()) for each in verdicts.values())
    return times[len(times) // 2]


def main():
    for varied in sorted(Path(sys.argv[1]).glob("*-varied.jsonl")):
        found, plain = read(varied), read(varied.with_name(varied.name.replace("-varied", "-given")))
        outcomes = Counter(family["outcome"] for each in found.values()
                           for family in (each.get("generality") or {"families": []})["families"])
        print(f"{varied.stem}: {len(found)} verdicts, {middle_ms(plain):.0f} ms without, {middle_ms(found):.0f} ms with; "
              f"families {dict(outcomes)}; trust {dict(Counter(each['trust'] for each in found.values()))}; "
              f"counts {dict(Counter(str(each['counts_reason'] or each['counts']) for each in found.values()))}")
        for name, each in found.items():
            for family in (each.get("generality") or {"families": []})["families"]:
                if family["outcome"] == "untried":
                    print(f"  untried: {name} {family['family']}: {family['why']}")


if __name__ == "__main__":
    main()
