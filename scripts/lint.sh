#!/usr/bin/env bash
# make lint: formatting and static analysis of C++ and Python. lint.sh --fix: formats in place instead.
# lint.sh --alone: also compiles each source without the neighbours of its unity build.
. "$(dirname "$0")/lib.sh"

scripts/packages.sh build lint
python=$(scripts/python.sh test)

format() {
  project_files | grep -zE '^(\./)?(src|app|native|tests)/.*\.(h|c|cpp)$' | while IFS= read -r -d '' file; do
    if [ -f "$file" ]; then printf '%s\0' "$file"; fi
  done | xargs -0 -r clang-format-19 "$@"
}
# Users import these modules; py.typed states that they have types.
mypy() { "$python" -m mypy --config-file python/pyproject.toml --cache-dir build/mypy; }
ruff() { "$python" -m ruff check --config python/pyproject.toml --cache-dir build/ruff "$@" .; }

if [ "${1-}" = --fix ]; then
  format -i
  ruff --quiet --fix
  exit 0
fi

failed=()
stage "clang-format" format --dry-run -Werror || failed+=(clang-format)
stage "ruff" ruff || failed+=(ruff)
stage "mypy" mypy || failed+=(mypy)
stage "build" scripts/build.sh || fail "clang-tidy needs a build"
stage "clang-tidy" python3 scripts/tidy.py ${1:+"$1"} || failed+=(clang-tidy)
if [ ${#failed[@]} != 0 ]; then fail "complaints of: ${failed[*]}"; fi
