#!/usr/bin/env python3
"""Makes a batch for measuring throughput: copies of kernels that were judged correct or incorrect, each with unique bytes.

copies.py ROWS BATCH.jsonl TRACES.json=VERDICTS.jsonl...     without verdicts, every row of a file is taken
"""
import json
import random
import sys

from traces import rows_of, verdicts_of

SEED = 1


def distinct(pairs):
    """Rows of different kernels that ran and gave a result."""
    found = {}
    for pair in pairs:
        traces, _, verdicts = pair.rpartition("=")
        status = {verdict["id"]: verdict["status"] for verdict in verdicts_of(verdicts)}
        for row, trace, completion in rows_of(traces):
            code = completion.get("triton_code")
            if code and (not status or status.get(row) in ("correct", "incorrect")):
                kept = {"id": row, "reference_code": trace["pytorch_code"], "kernel_code": code}
                if trace.get("input_shapes"):
                    kept["input_shapes"] = trace["input_shapes"]
                found.setdefault((trace["pytorch_code"], code), kept)
    return list(found.values())


def main(count, path, *pairs):
    rows, order = distinct(pairs), random.Random(SEED)
    with open(path, "w", encoding="utf-8") as file:
        written, copy = 0, 0
        while rows and written < int(count):
            order.shuffle(rows)
            for row in rows[:int(count) - written]:
                file.write(json.dumps({**row, "id": f"{row['id']}/{copy}",
                                       "kernel_code": f"{row['kernel_code'].rstrip()}\n# copy {copy}\n"}) + "\n")
                written += 1
            copy += 1
    print(f"{written} rows of {len(rows)} distinct kernels")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
