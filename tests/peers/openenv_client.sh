#!/usr/bin/env bash
# OpenEnv's own client (openenv, formerly openenv-core) with a real service. By hand: with what it imports it is 470 MB.
# The environment is made in $VENV; $PACKAGE is the version.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
python=$("$here/scripts/python.sh" test)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
venv=${VENV:-$folder/venv}
if [ ! -x "$venv/bin/openenv" ]; then
  "$python" -m venv "$venv"
  "$venv/bin/pip" install --quiet "${PACKAGE:-openenv==0.10.0}"
fi
"$python" "$here/tests/peers/openenv_client.py" "$venv/bin/python"
