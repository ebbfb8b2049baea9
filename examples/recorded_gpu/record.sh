#!/usr/bin/env bash
# Records verdicts.jsonl, table.txt and trace.json on a machine with a GPU: record.sh PROGRAM OUT [PYTHON]
#
# PROGRAM is build/kernelwright, or bin/kernelwright of an unpacked `make dist`. OUT is the folder for the files. PYTHON has
# PyTorch and Triton; without it, PROGRAM searches for one. DEVICE=cpu in the environment tests the script without a GPU.
set -euo pipefail

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
  echo "usage: record.sh PROGRAM OUT [PYTHON]" >&2
  exit 2
fi
program=$1 out=$2 python=(${3:+--python "$3"})
device=${DEVICE:-cuda}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
conversation=$here/../four_turns/gpu.json
if [ "$device" = cpu ]; then conversation=$here/../four_turns/cpu.json; fi

work=$(mktemp -d "${TMPDIR:-/tmp}/record.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# One candidate at a time keeps the order of the rows. --audit 1 also measures the call_speedup of every candidate.
common=(--device "$device" --audit 1 --timeout 60 "${python[@]}")
verify() { "$program" verify "$@" "${common[@]}" --jobs 1 --output "$work/verdicts.jsonl" >>"$work/table.txt" 2>>"$work/log"; }
failed() {
  cat "$work/log" >&2
  exit 1
}

verify --batch "$here/rows.jsonl" || failed
echo >>"$work/table.txt"
verify --traces "$conversation" || failed
"$program" run --traces "$conversation" --model-replay "$conversation" --multi-turn --max-turns 4 --require-speed always \
  "${common[@]}" --output "$work/trace.json" >>"$work/log" 2>&1 || failed

cp "$work/verdicts.jsonl" "$work/table.txt" "$work/trace.json" "$out"
cat "$out/table.txt"
