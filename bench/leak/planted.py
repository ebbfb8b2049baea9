#!/usr/bin/env python3
"""Plants copies of benchmark problems among innocent kernels and counts which of them the program flags.

bench/leak/planted.py --kernelwright build/kernelwright --checkout KERNELBENCH --innocent KERNELS.jsonl

Recall by kind of copy, and false flags among the innocent rows and among look-alikes, modules of this benchmark in the
frame of a problem. A copy is found where its row is flagged; "named" counts the flags that name the right problem. The
innocent rows have `prompt` and `completion`.
"""

import argparse
import collections
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import copies
import lookalikes


def row_id(prompt, completion):
    """The key of a row, as the dataset has it."""
    return hashlib.sha1(f"{normalise(prompt)}|||{normalise(completion)}".encode()).hexdigest()


def normalise(text):
    """The normalised text from which keys are made."""
    text = re.sub(r"[ \t]+", " ", text.replace("\r\n", "\n").strip())
    return re.sub(r"\n{3,}", "\n\n", text)


def problems(checkout):
    """Row names and sources of the problems."""
    found = sorted(pathlib.Path(checkout).rglob("level*/[0-9]*_*.py"))
    return {f"{path.parent.name}/{path.name}": path.read_text() for path in found}


def planted(name, source):
    """Kind and text of each copy of one problem."""
    chance = copies.chance(name)
    yield "exact", source
    yield "reformatted (ast.unparse)", copies.reformatted(source)
    yield "reformatted (respaced, CRLF)", copies.respaced(source)
    yield "renamed", copies.renamed(source, chance)
    yield "renamed, modules too", copies.aliased(copies.renamed(source, chance))
    yield "renamed and reformatted", copies.reformatted(copies.renamed(source, chance))
    for part, text in copies.pieces(source):
        yield f"partial ({part})", text
    for part, text in copies.pieces(copies.renamed(source, chance)):
        yield f"partial, renamed ({part})", text


def rows_of(checkout, innocent):
    """All rows: the copies, each in one of the hosts, and the innocent ones."""
    for number, (name, source) in enumerate(problems(checkout).items()):
        for turn, (kind, text) in enumerate(planted(name, source)):
            host = copies.HOSTS[(number + turn) % len(copies.HOSTS)]
            around = [innocent[(7 * number + turn + i) % len(innocent)]["completion"] for i in (0, 1)]
            prompt, completion = copies.hosted(text, host, around)
            yield {"prompt": prompt, "completion": completion, "kind": kind, "problem": name, "host": host}
    for kind, rows in (("", innocent), ("look-alike", lookalikes.rows())):
        for row in rows:
            yield {"prompt": row["prompt"], "completion": row["completion"], "kind": kind, "problem": "", "host": ""}


def flags(program, rows, checkout, folder):
    """The program's flags: row id → benchmark rows."""
    file = pathlib.Path(folder) / "rows.jsonl"
    with file.open("w") as out:
        for row in rows:
            out.write(json.dumps(row) + "\n")
    command = [program, "dataset", "audit", str(file), "--against", checkout, "--no-rows", "--out", folder]
    subprocess.run(command, check=True, stdout=sys.stderr)
    found = collections.defaultdict(set)
    with (pathlib.Path(folder) / "flags.jsonl").open() as lines:
        for line in map(json.loads, lines):
            found[line["id"]] |= {leak["row"] for leak in line["leakage"] if leak["relation"] == "benchmark"}
    return found


def count(rows, found):
    """The figures: copies and finds by kind, the misses, and the false flags."""
    kinds = collections.defaultdict(lambda: {"planted": 0, "found": 0, "named": 0})
    others = {"": {"rows": 0, "flagged": []}, "look-alike": {"rows": 0, "flagged": []}}
    missed = []
    for row in rows:
        hits = found.get(row_id(row["prompt"], row["completion"]), set())
        if not row["problem"]:
            others[row["kind"]]["rows"] += 1
            if hits:
                others[row["kind"]]["flagged"].append({"begins": row["completion"][:200], "flags": sorted(hits)})
            continue
        kind = kinds[row["kind"]]
        kind["planted"] += 1
        kind["found"] += bool(hits)
        kind["named"] += row["problem"] in hits
        if not hits:
            missed.append({key: row[key] for key in ("kind", "problem", "host")})
    return {"copies": dict(kinds), "missed": missed, "innocent": others[""], "look_alikes": others["look-alike"]}


def main():
    """Reads the arguments, runs the program and writes the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelwright", default="build/kernelwright")
    parser.add_argument("--checkout", required=True, help="of KernelBench")
    parser.add_argument("--innocent", required=True, help="JSON lines with prompt and completion")
    parser.add_argument("--rows", help="only write the rows there")
    parser.add_argument("--json", help="where the figures go")
    arguments = parser.parse_args()
    innocent = [json.loads(line) for line in pathlib.Path(arguments.innocent).read_text().splitlines()]
    rows = list(rows_of(arguments.checkout, innocent))
    if arguments.rows:
        with open(arguments.rows, "w") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = count(rows, flags(arguments.kernelwright, rows, arguments.checkout, folder))
    for kind, seen in figures["copies"].items():
        print(f"{kind:40} {seen['found']:5} of {seen['planted']}, named {seen['named']}")
    for who in ("innocent", "look_alikes"):
        print(f"{who + ' flagged':40} {len(figures[who]['flagged']):5} of {figures[who]['rows']}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
