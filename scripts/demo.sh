#!/usr/bin/env bash
# make demo: installs missing packages, builds, runs the loop with a scripted model, and writes its report.
# demo.sh [--python PYTHON]
. "$(dirname "$0")/lib.sh"
if [ "${1-}" = --python ]; then export KW_PYTHON=${2:?--python needs a path}; fi

needed=$(scripts/packages.sh --needed build && scripts/python.sh --needed run)
if [ -n "$needed" ]; then say "This installs what is missing:" && say "$needed"; fi

scripts/packages.sh build
stage "Python environment" scripts/python.sh run
stage "build" scripts/build.sh kernelwright kwsandbox kw_messages kw_gpu
# The name depends on the tree, so that a second call shows the stored results and a changed tree is run anew.
loop=examples/loop/conversations.json
output=build/demo-$(project_digest)
command=(build/kernelwright run ${KW_PYTHON:+--python "$KW_PYTHON"} --traces "$loop" --model-replay "$loop" --multi-turn
  --evidence all --verbose --output "$output.json")
say "== the loop: ${command[*]}"
"${command[@]}"

command=(build/kernelwright report "$output.run" --output "$output.html")
say "== its report: ${command[*]}"
"${command[@]}"
say "$ROOT/$output.html"

# Opens the page for a person at a desktop: a terminal, and a browser with a display.
if [ -t 1 ]; then
  if [ "$(uname)" = Darwin ] && command -v open >/dev/null; then
    open "$output.html" || true
  elif [ -n "${DISPLAY-}${WAYLAND_DISPLAY-}" ] && command -v xdg-open >/dev/null; then
    xdg-open "$output.html" >/dev/null 2>&1 || true
  fi
fi
