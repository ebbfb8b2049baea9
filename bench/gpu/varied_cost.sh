#!/usr/bin/env bash
# What --inputs varied costs on a GPU, in turns with --inputs given: varied_cost.sh OUT SECONDS ROUNDS TARBALL
# The tarball is that of `make dist`. Rows: of the sample's tasks with most completions twelve, 24 copies of each task's in
# turn, as in training, where many candidates of one task arrive together. Each run starts cold. OUT gets the verdicts, the
# record and the log of each. With defaults: KW_PYTHON (python3), KW_JOBS (12), KW_DEVICE (cuda).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?the folder for the results} seconds=${2:?seconds a run} rounds=${3:?rounds} tarball=${4:?a tarball of make dist}
python=$(command -v "${KW_PYTHON:-python3}")
work=$(mktemp -d "${TMPDIR:-/tmp}/varied_cost.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -p "$out"
tar -xzf "$tarball" -C "$work" --strip-components=1
sample=$work/examples/sample
"$python" "$here/copies.py" 600 "$work/copies.jsonl" "$sample/single_turn.json=" "$sample/multi_turn.json="
"$python" - "$work" <<'PYTHON'
import collections, itertools, json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
tasks = collections.defaultdict(list)
for line in (folder / "copies.jsonl").read_text().splitlines():
    tasks[json.loads(line)["reference_code"]].append(line)
most = sorted(tasks.values(), key=len, reverse=True)[:12]
rows = [row for turn in itertools.zip_longest(*(lines[:24] for lines in most)) for row in turn if row]
(folder / "rows.jsonl").write_text("".join(row + "\n" for row in rows))
PYTHON
for round in $(seq "$rounds"); do
  for inputs in given varied; do
    "$python" "$here/../judge.py" --name "$inputs.$round" --kernelwright "$work/bin/kernelwright" --limit-s "$seconds" \
      --verdicts "$out/$inputs.$round.jsonl" --record "$out/$inputs.$round.run.json" --log "$out/$inputs.$round.log" -- \
      --device "${KW_DEVICE:-cuda}" --python "$python" --batch "$work/rows.jsonl" --weights constructor --timeout 60 --quiet \
      --jobs "${KW_JOBS:-12}" --inputs "$inputs"
  done
done
