#!/usr/bin/env bash
# Rollouts of the package verifiers with examples/trainers/kernel_tasks.py, a scripted model and a real service. By hand:
# its pins exclude those of .venv-peers, and with what it imports it is 600 MB. The environment is made in $VENV.
. "$(dirname "$0")/own_environment.sh"
own_environment "$python" vf-eval verifiers==0.4.0 uv==0.13.9
"$python" "$here/tests/peers/verifiers_rollout.py" "$venv"
