"""The states of the static checks over real sources.

    bench/checks/run.py PROGRAM [--list FILE] ARCHIVE|FOLDER|TRACES.json...

PROGRAM is build/static_checks (`ninja -C build static_checks`). Files of wheels, archives and folders that contain a
kernel are parts; those that launch one of their kernels are once more whole answers without an entry, whose every
function counts as called. The answers of recorded traces are whole answers. Prints the number of sources by state and by
check; --list FILE gets every reason as a JSON line.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import tarfile
import zipfile

JITTED = re.compile(r"^\s*@(\w+\.)*jit\b|\bjit\(", re.MULTILINE)
STATES = ("pass", "unproven", "fail")


def files_of(path):
    """Name and bytes of each Python file."""
    if path.is_dir():
        yield from ((str(each.relative_to(path)), each.read_bytes()) for each in sorted(path.rglob("*.py")))
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield from ((name, archive.read(name)) for name in sorted(archive.namelist()) if name.endswith(".py"))
    else:
        with tarfile.open(path) as archive:
            for member in sorted(archive.getmembers(), key=lambda each: each.name):
                if member.isfile() and member.name.endswith(".py"):
                    yield member.name, archive.extractfile(member).read()


def answers_of(path):
    """Name and code of each recorded answer."""
    traces = json.loads(path.read_text(encoding="utf-8"))
    for trace in traces if isinstance(traces, list) else traces["traces"]:
        turns = trace.get("turns") or [trace]
        for number, turn in enumerate(turns, 1):
            if turn.get("triton_code"):
                correct = (turn.get("result") or {}).get("correctness")
                yield f"{trace['sample_key']}#{number} correct={correct}", turn["triton_code"]


def sources_of(path):
    """The group and the source of each line for the program."""
    if path.suffix == ".json":
        for name, text in answers_of(path):
            yield f"{path.stem}, answers", {"name": name, "text": text, "whole": True}
        return
    for name, data in files_of(path):
        text = data.decode("utf-8", errors="replace")
        if "triton" in text and JITTED.search(text):
            for whole in (False, True):
                yield f"{path.name}, {'whole' if whole else 'parts'}", {"name": name, "text": text, "whole": whole}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    parser.add_argument("--list", type=pathlib.Path)
    options = parser.parse_args()
    sources = [each for path in options.paths for each in sources_of(path)]
    lines = "".join(json.dumps(source) + "\n" for _, source in sources)
    answer = subprocess.run([options.program], input=lines, capture_output=True, text=True, check=True)
    groups = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
    kernels, left_out = collections.Counter(), collections.Counter()
    listed = []
    for (group, source), line in zip(sources, answer.stdout.splitlines(), strict=True):
        found = json.loads(line)
        if group.endswith("parts") and not found["kernels"] or group.endswith("whole") and not found["launches"]:
            left_out[group] += 1
            continue
        kernels[group] += found["kernels"]
        for check, state in {"all": found["state"], **found["checks"]}.items():
            groups[group][check][state] += 1
        listed += [{"group": group, "name": source["name"], **reason} for reason in found["reasons"]]
    for group, checks in groups.items():
        print(f"{group}: {sum(checks['all'].values())} sources, {kernels[group]} kernels; "
              f"without {'launches' if group.endswith('whole') else 'kernels'} and left out: {left_out[group]}")
        for check, counts in checks.items():
            print(f"  {check:12}" + "".join(f" {counts[state]:6} {state}" for state in STATES))
    if options.list:
        options.list.write_text("".join(json.dumps(each) + "\n" for each in listed), encoding="utf-8")


if __name__ == "__main__":
    main()
