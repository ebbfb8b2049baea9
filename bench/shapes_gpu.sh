#!/usr/bin/env bash
# What a GPU must show of --varied-shapes, in one go: bench/shapes_gpu.sh FOLDER. The program is $KERNELWRIGHT.
# 1 the files of tests/exploits that are right at one shape, and general ones: no false accepts, no false rejects
# 2 the sample completions with and without other shapes: the same verdicts, and milliseconds of each
# 3 all honest files at other shapes: which are general
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:?usage: bench/shapes_gpu.sh FOLDER}
python=${PYTHON:-.venv/bin/python}
export KERNELWRIGHT=${KERNELWRIGHT:-build/kernelwright}
mkdir -p "$out"
"$python" bench/exploits.py --device cuda --family shape --python "$python" --output "$out/shape.json" | tail -8
for whether in off report off report; do
  "$KERNELWRIGHT" verify examples/sample --device cuda --python "$python" --varied-shapes "$whether" --evidence none \
    --output "$out/sample-$whether.jsonl" | tail -2
  mv "$out/sample-$whether.jsonl" "$out/sample-$whether-last.jsonl"
done
"$python" bench/exploits.py --device cuda --shapes --honest --python "$python" --output "$out/honest.json" | tail -8
"$python" - "$out" <<'TABLE'
import collections, json, statistics, sys
out = sys.argv[1]
honest = json.load(open(f"{out}/honest.json"))["verdicts"]
counts, kinds = collections.Counter(), collections.Counter()
for verdict in honest:
    generality = verdict.get("generality") or {}
    counts[generality.get("shapes")] += 1
    kinds.update(f"{trial['family']}: {trial['outcome']}" for trial in generality.get("shape_trials", []))
stages = {}
for whether in ("off", "report"):
    rows = [json.loads(line) for line in open(f"{out}/sample-{whether}-last.jsonl")]
    right = [row for row in rows if row["status"] == "correct"]
    stages[whether] = statistics.mean(sum(row["stages_ms"].values()) for row in right)
print(json.dumps({"honest": counts, "trials": kinds, "right_sample_ms": stages,
                  "given_only": sorted(row["id"] for row in honest
                                       if (row.get("generality") or {}).get("shapes") == "given_only")}, indent=1))
TABLE
