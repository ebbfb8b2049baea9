#!/usr/bin/env bash
# Gathers the inputs of run_all.sh in one folder: KERNELBENCH=checkout RECORDED=folder prepare.sh [FOLDER]
# KERNELBENCH may also be a bare repository. `make dist` and `make dist-tests` come first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
to=${1:-.carry}
: "${KERNELBENCH:?a KernelBench checkout or bare repository}" "${RECORDED:?the folder of the recorded completions}"

rm -rf "$to/dist" "$to/data" "$to/kernelbench"
mkdir -p "$to/dist" "$to/data" "$to/kernelbench"
cp dist/kernelwright-*.tar.gz "$to/dist"
cp "$RECORDED"/recorded_*.json "$to/data"
chmod -R u+w "$to/data"

wanted=(LICENSE KernelBench/level1 KernelBench/level2)
for module in __init__ dataset eval profile timing utils; do wanted+=("src/kernelbench/$module.py"); done
if [ -e "$KERNELBENCH/KernelBench" ]; then
  tar -C "$KERNELBENCH" -c "${wanted[@]}" | tar -C "$to/kernelbench" -x
else
  git -C "$KERNELBENCH" archive HEAD "${wanted[@]}" | tar -C "$to/kernelbench" -x
  git -C "$KERNELBENCH" rev-parse HEAD >"$to/kernelbench/COMMIT"
fi
du -sh "$to"/*
