# Sourced by scripts that run by hand, since the pins of their packages exclude those of .venv-peers.
# own_environment PYTHON PROGRAM PACKAGE...: $venv is $VENV, else a temporary environment, with PROGRAM of these packages in it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=$("$here/scripts/python.sh" test)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
venv=${VENV:-$folder/venv}

own_environment() {
  local base=$1 program=$2
  shift 2
  [ ! -x "$venv/bin/$program" ] || return 0
  "$base" -m venv "$venv"
  "$venv/bin/pip" install --quiet "$@"
}
