#!/usr/bin/env bash
# make closed-loop: installs missing packages, builds, and runs the closed loop. closed_loop.sh [ARGUMENTS of closed_loop.py]
. "$(dirname "$0")/lib.sh"

needed=$(scripts/packages.sh --needed build && scripts/python.sh --needed run && scripts/python-peers.sh --needed)
if [ -n "$needed" ]; then say "This installs what is missing:" && say "$needed"; fi

scripts/packages.sh build
stage "Python environment" scripts/python.sh run
stage "Python environment of the trainer" scripts/python-peers.sh
stage "build" scripts/build.sh kernelwright kwsandbox kw_messages kw_gpu
if [ $# = 0 ]; then set -- "build/closed_loop-$(project_digest)" && rm -rf "$1"; fi
exec .venv-peers/bin/python examples/closed_loop/closed_loop.py "$@"
