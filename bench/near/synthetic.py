#!/usr/bin/env python3
"""A corpus of any size with near duplicates whose places are known, as JSON lines with prompt and completion.

synthetic.py --gigabytes G --output FILE.jsonl [--share S] [--truth FILE] [--seed N]

A row is about 110 lines that resemble code, drawn from a pool; a share of the rows (default 0.1) is an earlier row of which
at most eight lines were replaced, anywhere in the file, so that their Jaccard index is about 0.85 or more. The truth has
"row source" a line, counted from 0. Equal arguments give equal bytes.
"""
import argparse
import random
import sys
import time
from pathlib import Path

POOL = 1 << 18
LINES = 110
PROMPT_LINES = 30
CHANGES = 8
ROWS_AT_ONCE = 256
NAMES = ["acc", "offs", "mask", "ptr", "stride", "block", "tile", "scale", "bias", "grad", "row", "col", "lo", "hi", "q", "v"]
SHAPES = [
    "    {a}_{n} = tl.load({b}_ptr + {c}_{m} * stride_{d}, mask={e}_{m} < {k}, other=0.0)",
    "    {a}_{n} = tl.dot({b}_{m}, {c}_{k}) + {d}_{n} * {e}",
    "    if {a}_{n} >= {b}_{m} and {c} != {k}:",
    "    for {a}_{n} in range({k}, {b}_{m}, BLOCK_{n}):",
    "        tl.store({a}_ptr + {b}_{n}, {c}_{m}.to(tl.float16), mask={d}_{k})",
    "    {a}_{n}[{b}, {c}_{m}] = {d}_{k} * ({e} + {m})",
    "    # {a} of {b} {n}, then {c} {m} by {d} {k}",
]


def pool(seed):
    """Lines in the form of a JSON string's content."""
    draw = random.Random(seed)
    lines = []
    for _ in range(POOL):
        names = dict(zip("abcde", draw.choices(NAMES, k=5), strict=True))
        numbers = {key: draw.randrange(10000) for key in "nmk"}
        lines.append(draw.choice(SHAPES).format(**names, **numbers) + "\\n")
    return lines


class Corpus:
    """Rows by number: each can be made without the others."""

    def __init__(self, seed, share):
        self.seed, self.share, self.lines = seed, share, pool(seed)

    def source(self, number):
        """The row of which this one is a near duplicate, or None."""
        draw = random.Random(self.seed << 40 | number << 1)
        if number == 0 or draw.random() >= self.share:
            return None
        source = draw.randrange(number)
        above = self.source(source)
        return source if above is None else above

    def row(self, number):
        """(the row's line of JSON, its source)."""
        source = self.source(number)
        draw = random.Random(self.seed << 40 | (number if source is None else source) << 1 | 1)
        lines = draw.choices(self.lines, k=LINES)
        if source is not None:
            change = random.Random(self.seed << 40 | number << 1 | 1)
            for _ in range(change.randrange(CHANGES + 1)):
                lines[change.randrange(LINES)] = change.choice(self.lines)
        prompt, completion = "".join(lines[:PROMPT_LINES]), "".join(lines[PROMPT_LINES:])
        return f'{{"prompt": "{prompt}", "completion": "{completion}"}}\n', source


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--truth", type=Path, default=Path("/dev/null"))
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    began = time.monotonic()
    corpus = Corpus(words.seed, words.share)
    wanted, written, number = int(words.gigabytes * 1e9), 0, 0
    with words.output.open("w") as out, words.truth.open("w") as truth:
        while written < wanted:
            rows = [corpus.row(n) for n in range(number, number + ROWS_AT_ONCE)]
            written += out.write("".join(row for row, _ in rows))
            truth.writelines(f"{number + i} {source}\n" for i, (_, source) in enumerate(rows) if source is not None)
            number += ROWS_AT_ONCE
    print(f"{number} rows, {written} bytes, {time.monotonic() - began:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
