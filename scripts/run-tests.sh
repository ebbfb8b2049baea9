#!/usr/bin/env bash
# Runs the packed tests, without CMake. run-tests.sh [unit|end_to_end|gpu ...]
# By default unit and end_to_end, and gpu where there is a GPU. The Python (with PyTorch, Triton and pytest) is
# KW_PYTHON, else that of VIRTUAL_ENV, else python3.
set -uo pipefail
cd "$(dirname "$0")"

python=${KW_PYTHON:-${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python}}
python=${python:-python3}
export PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1
export KERNELWRIGHT=$PWD/bin/kernelwright KERNELWRIGHT_NATIVE=$PWD/lib

if [ $# = 0 ]; then
  set -- unit end_to_end
  if nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then set -- "$@" gpu; fi
fi

failed=()
# judge NAME COMMAND... : pytest's 5 means that no test has the label.
judge() {
  local name=$1 started=$SECONDS status=0
  shift
  echo "== $name"
  "$@" || status=$?
  if [ "$status" != 0 ] && [ "$status" != 5 ]; then failed+=("$name"); fi
  echo "== $name: exit code $status, $((SECONDS - started)) s"
}
programs() {
  local label program
  while read -r label program; do
    if [ "$label" = "$1" ]; then judge "$program" "tests/bin/$program" --gtest_brief=1; fi
  done <tests/programs
}
# A file of tests/python is a separate session; those of tests/end_to_end share their runs.
pytests() {
  local file files=("tests/$1")
  if [ "$1" = python ]; then files=(tests/python/test_*.py); fi
  for file in "${files[@]}"; do
    if [ -e "$file" ]; then
      judge "$file ($2)" "$python" -m pytest -c python/pyproject.toml --rootdir . -m "$2" "$file"
    fi
  done
}

for label in "$@"; do
  case $label in
    unit) programs unit; pytests python "not gpu" ;;
    end_to_end) pytests end_to_end "not gpu" ;;
    gpu) programs gpu; pytests python gpu; pytests end_to_end gpu ;;
    *) echo "no such label: $label (unit, end_to_end, gpu)" >&2 && exit 2 ;;
  esac
done
if [ ${#failed[@]} != 0 ]; then
  echo "failed: ${failed[*]}"
  exit 1
fi
echo "all passed"
