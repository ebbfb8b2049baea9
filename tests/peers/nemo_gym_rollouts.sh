#!/usr/bin/env bash
# NeMo Gym's own rollouts with a scripted model and a real service. By hand: it needs Python 3.12, and with what it imports it
# is 1.4 GB. The environment is made in $VENV; $PACKAGE is the version, or a checkout's path; $PYTHON312 makes it.
. "$(dirname "$0")/own_environment.sh"
own_environment "${PYTHON312:-python3.12}" gym "${PACKAGE:-nemo_gym==0.4.0}"
"$python" "$here/tests/peers/nemo_gym_rollouts.py" "$venv/bin/python"
