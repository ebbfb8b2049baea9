#!/usr/bin/env bash
# The reward code of slime and of miles asks a real service. By hand: neither is a package that a test could install.
# $SLIME and $MILES are checkouts of the two, one or both: SLIME=~/slime MILES=~/miles tests/peers/slime_reward.sh
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
if [ -z "${SLIME-}${MILES-}" ]; then
  echo "SLIME and MILES name no checkout: git clone https://github.com/THUDM/slime, https://github.com/radixark/miles" >&2
  exit 2
fi
KERNELWRIGHT_TEST_PYTHON=$("$here/scripts/python.sh" test)
export KERNELWRIGHT_TEST_PYTHON
python=$("$here/scripts/python-peers.sh")
if [ -n "${SLIME-}" ]; then "$python" "$here/tests/peers/slime_reward.py" slime "$SLIME"; fi
if [ -n "${MILES-}" ]; then "$python" "$here/tests/peers/slime_reward.py" miles "$MILES"; fi
