#!/usr/bin/env python3
"""Marks of a benchmark's tasks: certify_table.py CERTIFICATES.jsonl [--json FILE], of the file of `certify --output`.

Prints each mark with its count and its tasks; --json writes the marks of each task, with what they are about.
"""
import argparse
import json
from collections import defaultdict
from pathlib import Path

ABOUT = {"proves_nothing": lambda task: task["empty_answers"], "weak": lambda task: task["weak_answers"],
         "ignores_input": lambda task: [each["input"] for each in task["inputs"] if each["ignored"]],
         "constant_input": lambda task: [each["input"] for each in task["inputs"] if not each["varies"]],
         "ill_conditioned": lambda task: [each["output"] for each in task["outputs"] if each["ill_conditioned"]]}


def read(path):
    """Certificates by task: the last one of each."""
    return {each["task_id"]: each for each in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


def words(task, mark):
    subjects = ABOUT.get(mark, lambda _: [])(task)
    return f"{mark} ({', '.join(subjects)})" if subjects else mark


def row(task):
    """What the table keeps of a certificate."""
    found = {"marks": [words(task, mark) for mark in task["marks"]],
             "shapes": [each["version"] for each in task["shapes"] if each["sizes"]]}
    if task["error"]:
        found |= {"fault": task["fault"], "error": task["error"][:200]}
    return found | {"reduced": task["reduced_sizes"] is not None, "seconds": round(task["seconds"], 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("certificates", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tasks = read(options.certificates)
    by_words = defaultdict(list)
    for name, task in tasks.items():
        for mark in task["marks"]:
            by_words[words(task, mark)].append(name)
        if task["error"] and not task["marks"]:
            by_words[f"not examined ({task['fault'] or 'too large'})"].append(name)
    for mark, names in sorted(by_words.items(), key=lambda each: -len(each[1])):
        print(f"{len(names):4}  {mark}: {' '.join(names)}")
    examined = [task for task in tasks.values() if not task["error"]]
    print(f"{len(tasks)} tasks, {len(examined)} examined, {sum(not task['marks'] for task in examined)} without a mark; "
          f"shapes vary in {sum(any(each['sizes'] for each in task['shapes'][:3]) for task in examined)}")
    if options.json:
        rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row(tasks[name]))}" for name in sorted(tasks))
        options.json.write_text("{\n" + rows + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
