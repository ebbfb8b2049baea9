#!/usr/bin/env bash
# What CUDA contexts cost the driver: bench/gpu/contexts.sh OUT [PROGRAM]. PROGRAM is build/contexts (`ninja -C build
# contexts`). Writes OUT/contexts.jsonl: by number of processes, with the default number of connections, with other
# settings, and the driver calls of one process and of twelve.
set -euo pipefail
out=${1:?usage: bench/gpu/contexts.sh OUT [PROGRAM]}
contexts=${2:-build/contexts}
mkdir -p "$out"
one=CUDA_DEVICE_MAX_CONNECTIONS=1
{
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | sed 's/.*/{"device":"&"}/'
  for processes in 1 2 4 8 12 16; do env $one "$contexts" $processes 5; done
  echo '{"setting":"the default number of connections"}'
  "$contexts" 12 5
  for setting in CUDA_MODULE_LOADING=EAGER CUDA_MODULE_LOADING=LAZY CUDA_SCALE_LAUNCH_QUEUES=0.25x \
    CUDA_DEVICE_MAX_COPY_CONNECTIONS=1 CUDA_CACHE_DISABLE=1; do
    echo "{\"setting\":\"$setting\"}"
    env $one $setting "$contexts" 12 5
  done
  echo '{"setting":"none, three times"}'
  for _ in 1 2 3; do env $one "$contexts" 12 5; done
  for processes in 1 12; do env $one "$contexts" $processes 5 table; done
} >"$out/contexts.jsonl"
grep -v '"call"' "$out/contexts.jsonl"
