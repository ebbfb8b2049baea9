#!/usr/bin/env python3
"""Builds a data set from SOURCES, and searches its training rows for code of the validation split.

split.py [--kernelwright PROGRAM] [--work DIR] [--validation 0.02,0.1] [--seeds 0,1] SOURCE ...

The search is independent of the program's: it looks for the bytes of each validation kernel in the training prompts,
and for the bytes of each long validation answer in the training rows. It also parses the code of every row with
Python's own parser.
"""
import argparse
import ast
import itertools
import json
import subprocess
import tempfile
from pathlib import Path

LONG_ANSWER = 200  # characters
PREFIX, SUFFIX, MIDDLE = "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def code_of(row):
    """The code of a row: of a hole the function as it was before."""
    prompt, completion = row["prompt"], row["completion"]
    if row["kind"] != "fim":
        return completion
    if not prompt.endswith(MIDDLE):
        return prompt + completion
    first, second = prompt.removesuffix(MIDDLE).split(SUFFIX if prompt.startswith(PREFIX) else PREFIX)
    if prompt.startswith(PREFIX):
        return first.removeprefix(PREFIX) + completion + second
    return second + completion + first.removeprefix(SUFFIX)


def parses(code):
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True


def build(args, folder, share, seed):
    out = folder / f"set-{share}-{seed}"
    subprocess.run([args.kernelwright, "dataset", "build", *args.sources, "--output", out, "--state", folder / "state",
                    "--validation", share, "--seed", seed, "--no-compile", "--no-tokens", "--no-figures"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return out


def measured(out, state):
    texts = {unit["id"]: unit["text"].strip()
             for path in state.glob("sources/*.units.jsonl") for unit in lines(path)}
    rows = [row for kind in ("fim", "torch2triton") for row in lines(out / f"{kind}.jsonl")]
    train = [row for row in rows if row["split"] == "train"]
    held = [row for row in rows if row["split"] != "train"]
    prompts = "\0".join(row["prompt"] for row in train)
    whole = "\0".join(row["prompt"] + "\0" + code_of(row) for row in train)
    kernels = {row["unit"] for row in held}
    answers = [row["completion"].strip() for row in held if len(row["completion"].strip()) >= LONG_ANSWER]
    return {"rows": len(rows), "for validation": len(held), "kernels of validation": len(kernels),
            "of these in a training prompt": sum(texts[kernel] in prompts for kernel in kernels),
            "long answers of validation": len(answers),
            "of these in a training row": sum(answer in whole for answer in answers),
            "rows that do not parse": sum(not parses(code_of(row)) for row in rows)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", metavar="SOURCE")
    parser.add_argument("--kernelwright", default="build/kernelwright")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--validation", default="0.02,0.1")
    parser.add_argument("--seeds", default="0,1")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.work or Path(temporary)
        for share, seed in itertools.product(args.validation.split(","), args.seeds.split(",")):
            out = build(args, folder, share, seed)
            print(json.dumps({"validation": share, "seed": seed, **measured(out, folder / "state")}), flush=True)


if __name__ == "__main__":
    main()
