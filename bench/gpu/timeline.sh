#!/usr/bin/env bash
# Where the time of verdicts goes on a GPU, from timelines: timeline.sh OUT TARBALL     the tarball is that of `make dist`
# OUT gets, for three tasks one candidate at a time (`warm`), and for copies of the sample twelve at once without and with a
# timeline (`plain`, `timeline`): the verdicts, the record, the timeline and its table. The beginning of a run, in which
# processes start, is left out of the tables. With a default: KW_PYTHON (python3).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?the folder for the results} tarball=${2:?a tarball of make dist}
python=$(command -v "${KW_PYTHON:-python3}")
work=$(mktemp -d "${TMPDIR:-/tmp}/timeline.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -p "$out"
tar -xzf "$tarball" -C "$work" --strip-components=1
sample=$work/examples/sample
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | tee "$out/gpu.txt"
"$python" "$here/copies.py" 600 "$work/copies.jsonl" "$sample/single_turn.json=" "$sample/multi_turn.json="
"$python" - "$work" <<'PYTHON'
import collections, json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
rows = collections.defaultdict(list)
for line in (folder / "copies.jsonl").read_text().splitlines():
    rows[json.loads(line)["reference_code"]].append(line)
most = sorted(rows.values(), key=len, reverse=True)[:3]
(folder / "warm.jsonl").write_text("".join(line + "\n" for lines in most for line in lines[:25]))
PYTHON

# judge NAME SECONDS BATCH FLAGS...
judge() {
  local name=$1 seconds=$2 batch=$3
  shift 3
  "$python" "$here/../judge.py" --name "$name" --kernelwright "$work/bin/kernelwright" --limit-s "$seconds" \
    --verdicts "$out/$name.jsonl" --record "$out/$name.run.json" --log "$out/$name.log" -- --device cuda --python "$python" \
    --batch "$batch" --weights constructor --timeout 40 --quiet "$@"
}
judge warm 70 "$work/warm.jsonl" --jobs 1 --timeline "$out/warm.timeline.json"
judge plain 50 "$work/copies.jsonl" --jobs 12
judge timeline 50 "$work/copies.jsonl" --jobs 12 --timeline "$out/timeline.timeline.json"
"$python" "$here/../timeline.py" "$out/warm.timeline.json" --skip 15 --output "$out/warm.steps.json"
"$python" "$here/../timeline.py" "$out/timeline.timeline.json" --skip 25 --output "$out/timeline.steps.json"
