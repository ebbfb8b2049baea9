#!/usr/bin/env bash
# Chooses the Python that runs references and candidates, and prints its path. python.sh [--needed] run|test
# A Python named by KW_PYTHON or VIRTUAL_ENV is checked and never changed; so is python3 on PATH, which is taken
# when it has every pinned package. Otherwise .venv is made and filled.
# With --needed it only prints the missing packages.
. "$(dirname "$0")/lib.sh"

only_say=no
if [ "${1-}" = --needed ]; then only_say=yes && shift; fi
case ${1-} in
  run) requirements=python/requirements.txt ;;
  test) requirements=python/requirements-test.txt ;;
  *) fail "usage: scripts/python.sh [--needed] run|test" ;;
esac

own=.venv/bin/python

check() { "$1" scripts/check_python.py "$requirements"; }

# A Python of the user's: a missing package is an error, another version a warning.
take() {
  local path status=0 found
  path=$(command -v "$1") || fail "$2 names $1, which is not there"
  if [ "$only_say" = yes ]; then exit 0; fi
  found=$(check "$path") || status=$?
  case $status in
    0) ;;
    2) printf '%s\n' "warning: $path differs from $requirements:" "$found" >&2 ;;
    *) fail "$path, named by $2, cannot be used:"$'\n'"$found"$'\n'"remedy: $path -m pip install -r $requirements" ;;
  esac
  echo "$path"
  exit 0
}

# The first Python that is new enough, has PyTorch wheels, and can make environments.
base_python() {
  local candidate
  for candidate in python3 python3.12 python3.11 /usr/bin/python3 python3.13; do
    "$candidate" -c '
import ensurepip, sys, venv
if not (3, 11) <= sys.version_info[:2] <= (3, 13): sys.exit(1)
print(sys.executable)' 2>/dev/null && return
  done
  fail "no Python from 3.11 to 3.13 with venv: apt-get install python3-venv, or name one with KW_PYTHON"
}

if [ -n "${KW_PYTHON-}" ]; then take "$KW_PYTHON" KW_PYTHON; fi
if [ -n "${VIRTUAL_ENV-}" ] && [ "$(realpath -m "$VIRTUAL_ENV")" != "$(realpath -m .venv)" ]; then
  take "$VIRTUAL_ENV/bin/python" VIRTUAL_ENV
fi
if [ ! -e .venv ] && on_path=$(command -v python3) && check "$on_path" >/dev/null 2>&1; then
  [ "$only_say" = yes ] || echo "$on_path"
  exit 0
fi

# Compared every time: the pins or a package may have changed since the environment was filled.
if "$own" -c '' 2>/dev/null && check "$own" >/dev/null; then
  :
elif [ "$only_say" = yes ]; then
  say "Python packages into .venv: $(grep -hv -e '^#' -e '^-r' python/requirements.txt "$requirements" | sort -u | xargs)"
  say "  (with what they need: 2.8 GB to download, 4.9 GB on disk)"
  say "  (to use a Python of your own instead: make ... KW_PYTHON=/path/to/python)"
  exit 0
else
  "$own" -c '' 2>/dev/null || "$(base_python)" -m venv --clear .venv
  free_mb=$(df -Pm .venv | awk 'NR == 2 { print $4 }')
  [ "$free_mb" -gt 8000 ] || printf '%s\n' "warning: only $free_mb MB are free here; about 8,000 are needed" >&2
  "$own" -m pip install --disable-pip-version-check --progress-bar off -r "$requirements" </dev/null |
    sed -u -n -E 's/^ *(Downloading .* \([0-9.]+ [MG]B\).*)/  \1/p' >&2 || fail "pip could not install $requirements"
  found=$(check "$own") || fail ".venv differs from $requirements although pip has filled it:"$'\n'"$found"
fi
if [ "$only_say" = no ]; then echo "$ROOT/$own"; fi
