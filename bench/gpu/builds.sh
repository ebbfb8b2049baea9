#!/usr/bin/env bash
# Compares the throughput of several builds on one GPU, in turns:
#   builds.sh OUT SECONDS ROUNDS NAME=TARBALL...     the tarballs are those of `make dist`
# Rows: copies of the sample's completions in random order, so that many tasks are under way at once. Each run starts
# cold; OUT gets the verdicts, the record and the log of each, and the memory of the device in use, once a second.
# With defaults: KW_PYTHON (python3), KW_JOBS (12), KW_DEVICE (cuda).
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?the folder for the results} seconds=${2:?seconds a run} rounds=${3:?rounds}
shift 3
python=$(command -v "${KW_PYTHON:-python3}")
work=$(mktemp -d "${TMPDIR:-/tmp}/builds.XXXXXX")
chmod 755 "$work"
mkdir -p "$out"

names=()
for build; do
  name=${build%%=*}
  names+=("$name")
  mkdir "$work/$name"
  tar -xzf "${build#*=}" -C "$work/$name" --strip-components=1
done
sample=$work/${names[0]}/examples/sample
"$python" "$here/copies.py" 600 "$work/copies.jsonl" "$sample/single_turn.json=" "$sample/multi_turn.json="

watcher=
if command -v nvidia-smi >/dev/null; then
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | tee "$out/gpu.txt"
  nvidia-smi --query-gpu=timestamp,memory.used --format=csv,noheader,nounits --loop=1 >"$out/memory.csv" &
  watcher=$!
fi
trap 'if [ -n "$watcher" ]; then kill "$watcher"; fi; rm -rf "$work"' EXIT

for round in $(seq "$rounds"); do
  for name in "${names[@]}"; do
    "$python" "$here/../judge.py" --name "$name.$round" --kernelwright "$work/$name/bin/kernelwright" --limit-s "$seconds" \
      --verdicts "$out/$name.$round.jsonl" --record "$out/$name.$round.run.json" --log "$out/$name.$round.log" -- \
      --device "${KW_DEVICE:-cuda}" --python "$python" --batch "$work/copies.jsonl" --limit 600 --weights constructor \
      --timeout 40 --quiet --jobs "${KW_JOBS:-12}"
  done
done
