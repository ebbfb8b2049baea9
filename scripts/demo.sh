#!/usr/bin/env bash
# make demo: installs missing packages, builds, and runs the loop with a scripted model. demo.sh [--python PYTHON]
. "$(dirname "$0")/lib.sh"
if [ "${1-}" = --python ]; then export KW_PYTHON=${2:?--python needs a path}; fi

needed=$(scripts/packages.sh --needed build && scripts/python.sh --needed run)
if [ -n "$needed" ]; then say "This installs what is missing:" && say "$needed"; fi

scripts/packages.sh build
stage "Python environment" scripts/python.sh run
stage "build" scripts/build.sh kernelwright kwsandbox kw_messages kw_gpu
# The name depends on the tree, so that a second call shows the stored results and a changed tree is run anew.
loop=examples/loop/conversations.json
command=(build/kernelwright run ${KW_PYTHON:+--python "$KW_PYTHON"} --traces "$loop" --model-replay "$loop" --multi-turn
  --verbose --output "build/demo-$(project_digest).json")
say "== the loop: ${command[*]}"
exec "${command[@]}"
