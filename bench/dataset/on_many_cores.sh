#!/usr/bin/env bash
# Builds a training set from archives with an unpacked tarball of the program, on a machine without a build:
#   PROGRAM=.../bin/kernelwright ARCHIVES=DIR AGAINST=DIR OUT=DIR bench/dataset/on_many_cores.sh
# One build with compilation on all cores; then bench/dataset/build.py with one and two threads, without compilation.
# OUT keeps the results except the rows; of these it keeps a sample of kernels with their labels.
set -uo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=$(command -v python3)

# LABELS=F.jsonl.gz: labels of an earlier run, so that a second run asks only for the missing ones.
mkdir -p "$work/set/.state"
if [ -n "${LABELS-}" ]; then gzip -dc "$LABELS" >"$work/set/.state/labels.jsonl"; fi
started=$SECONDS
timeout "${COMPILE_LIMIT_S:-330}" "$PROGRAM" dataset build "$ARCHIVES"/* --out "$work/set" --against "$AGAINST" --python "$python" \
  --no-figures --no-tokens >"$OUT/build.log" 2>&1
echo "with compilation: exit $?, $((SECONDS - started)) s" | tee -a "$OUT/build.log"
cp "$work"/set/{ANALYSIS.json,ANALYSIS.md,PROVENANCE.md} "$OUT/" 2>/dev/null
gzip -9c "$work/set/.state/labels.jsonl" >"$OUT/labels.jsonl.gz" 2>/dev/null
"$python" - "$work/set/fim.jsonl" >"$OUT/sample.jsonl" <<'PYTHON'
import json
import random
import sys

kernels = {}
for line in open(sys.argv[1], encoding="utf-8"):
    row = json.loads(line)
    if row["hole"]["rendering"] == "plain":
        kernels[row["unit"]] = {key: row[key] for key in ("unit", "labels", "source", "prompt", "completion")}
draw = random.Random(5)
for unit in draw.sample(sorted(kernels), min(100, len(kernels))):
    print(json.dumps(kernels[unit]))
PYTHON
if [ "${ONLY_COMPILE-}" = yes ]; then exit; fi
"$python" bench/dataset/build.py --out "$OUT/build.json" --kernelwright "$PROGRAM" --work "$work/bench" --threads 1,2 \
  --against "$AGAINST" --options "--no-compile --no-figures --no-tokens --python $python" "$ARCHIVES"/*
