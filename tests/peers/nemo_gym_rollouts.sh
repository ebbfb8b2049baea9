#!/usr/bin/env bash
# NeMo Gym's own rollouts with a scripted model and a real service. By hand: it needs Python 3.12, and with what it imports it
# is 1.4 GB. The environment is made in $VENV; $PACKAGE is the version, or a checkout's path; $PYTHON312 makes it.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
python=$("$here/scripts/python.sh" test)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
venv=${VENV:-$folder/venv}
if [ ! -x "$venv/bin/gym" ]; then
  "${PYTHON312:-python3.12}" -m venv "$venv"
  "$venv/bin/pip" install --quiet "${PACKAGE:-nemo_gym==0.4.0}"
fi
"$python" "$here/tests/peers/nemo_gym_rollouts.py" "$venv/bin/python"
