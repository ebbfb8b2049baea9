#!/usr/bin/env bash
# What a GPU must show of --inputs varied, in one go: bench/varied_gpu.sh FOLDER. The program is $KERNELWRIGHT.
# 1 the specialised and general files of tests/exploits: no false accepts, no false rejects
# 2 the same by replay and in-process, and their cost: milliseconds of a verdict with and without
# 3 all honest files: no false rejects
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:?usage: bench/varied_gpu.sh FOLDER}
python=${PYTHON:-.venv/bin/python}
program=${KERNELWRIGHT:-build/kernelwright}
mkdir -p "$out"
export KERNELWRIGHT="$program"
"$python" bench/exploits.py --device cuda --family generality --python "$python" --output "$out/generality.json" | tail -8
"$python" - "$out/rows.jsonl" <<'ROWS'
import json, sys
sys.path.insert(0, "tests")
from end_to_end.exploits import CORPUS
with open(sys.argv[1], "w") as rows:
    for each in CORPUS.values():
        if each.family == "generality":
            rows.write(json.dumps(each.row()) + "\n")
ROWS
for instrument in replay in-process; do
  for inputs in given varied; do
    "$program" verify --batch "$out/rows.jsonl" --device cuda --python "$python" --instrument "$instrument" \
      --inputs "$inputs" --output "$out/$instrument-$inputs.jsonl" > /dev/null || true
  done
done
"$python" bench/varied_table.py "$out"
"$python" bench/exploits.py --device cuda --honest --python "$python" --output "$out/honest.json" | tail -16
