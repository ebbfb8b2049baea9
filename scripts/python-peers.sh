#!/usr/bin/env bash
# Makes .venv-peers, in which the tests labelled `peers` run, and prints its Python. python-peers.sh [--needed]
# It sees the packages of the Python that runs the other tests and adds those of python/requirements-peers.txt, so
# that PyTorch is not installed twice and .venv is unchanged. With --needed it only prints the missing packages.
. "$(dirname "$0")/lib.sh"

requirements=python/requirements-peers.txt
training=python/requirements-train.txt # the other file includes it
own=.venv-peers/bin/python
stamp=.venv-peers/.filled

# The package folder of an existing Python.
packages_of() {
  "$1" -c 'import sys; print(*(each for each in sys.path if each.endswith("-packages")), sep="\n")'
}

if [ "${1-}" = --needed ]; then
  if [ ! -x "$own" ] || ! "$own" scripts/check_python.py "$requirements" >/dev/null 2>&1; then
    say "Python packages into .venv-peers: $(sed -n 's/[;#].*//; /^\(transformers\|trl\|datasets\|accelerate\|peft\|bitsandbytes\|liger-kernel\|ray\|modal\|schemathesis\|kubernetes-validate\|check-jsonschema\|inspect_ai\|tensorboard\|trackio\|mcp\|verl\|openrlhf\|tinker-cookbook\)=/p' "$training" "$requirements" | xargs)"
    say "  (with what they need: 310 MB to download, 1.1 GB on disk; make test KW_LABELS=\"unit end_to_end\" does without)"
  fi
  exit 0
fi

base=$(scripts/python.sh test)
wanted=$({ echo "$base" && packages_of "$base" && cat "$requirements" "$training"; } | digest)
check() { "$own" scripts/check_python.py "$requirements"; }
# Compared every time: a user may have changed a package, in this environment or in the Python below it.
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || [ ! -x "$own" ] || ! check >/dev/null; then
  "$base" -m pip --version >/dev/null 2>&1 || fail "$base has no pip: $base -m ensurepip"
  "$base" -m venv --clear --without-pip .venv-peers >&2 || fail "$base cannot make environments: venv is missing"
  packages_of "$base" >"$(packages_of "$ROOT/$own" | tail -n 1)/base.pth"
  "$base" -m pip --python "$own" install --disable-pip-version-check --progress-bar off --no-deps -r "$requirements" \
    </dev/null | sed -u -n -E 's/^ *(Downloading .* \([0-9.]+ [MG]B\).*)/  \1/p' >&2 || fail "pip could not install $requirements"
  found=$(check) || fail ".venv-peers differs from $requirements although pip has filled it:"$'\n'"$found"
  echo "$wanted" >"$stamp"
fi
echo "$ROOT/$own"
