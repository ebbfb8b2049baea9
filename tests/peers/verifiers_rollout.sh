#!/usr/bin/env bash
# Rollouts of the package verifiers with examples/trainers/kernel_tasks.py, a scripted model and a real service. By hand:
# its pins exclude those of .venv-peers, and with what it imports it is 600 MB. The environment is made in $VENV.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
python=$("$here/scripts/python.sh" test)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
venv=${VENV:-$folder/venv}
if [ ! -x "$venv/bin/vf-eval" ] || [ ! -x "$venv/bin/uv" ]; then
  "$python" -m venv "$venv"
  "$venv/bin/pip" install --quiet verifiers==0.4.0 uv==0.13.9
fi
"$python" "$here/tests/peers/verifiers_rollout.py" "$venv"
