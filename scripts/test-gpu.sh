#!/usr/bin/env bash
# make test-gpu: the tests that need a GPU.
. "$(dirname "$0")/lib.sh"
has_gpu || fail "no GPU here: nvidia-smi lists none, so the GPU tests cannot run"
exec scripts/test.sh --again gpu
