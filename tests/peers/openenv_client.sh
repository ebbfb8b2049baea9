#!/usr/bin/env bash
# OpenEnv's own client (openenv, formerly openenv-core) with a real service. By hand: with what it imports it is 470 MB.
# The environment is made in $VENV; $PACKAGE is the version.
. "$(dirname "$0")/own_environment.sh"
own_environment "$python" openenv "${PACKAGE:-openenv==0.10.0}"
"$python" "$here/tests/peers/openenv_client.py" "$venv/bin/python"
