# Sourced by every script here: paths, and the output of stages and errors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ROOT=$PWD
VERSION=$(sed -n 's/^project(kernelwright VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
export LC_ALL=C.UTF-8

say() { printf '%s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# stage TITLE COMMAND... : runs the command, prints its duration, and returns 1 on failure.
stage() {
  local words=$1 started=$SECONDS
  shift
  say "== $words"
  "$@" || {
    say "== $words: failed after $((SECONDS - started)) s"
    return 1
  }
  say "== $words: $((SECONDS - started)) s"
}

# The hash of standard input, in 16 digits.
digest() { sha256sum | cut -c1-16; }

# Every file of the project, with or without git, NUL-separated.
project_files() {
  if ! git -c safe.directory="$ROOT" ls-files -z -co --exclude-standard 2>/dev/null; then
    find . -type f -not -path './.git/*' -not -path './.venv*/*' -not -path './build*/*' -not -path './dist/*' \
      -not -path './third_party/*' -not -path './web/node_modules/*' -not -name '*.pyc' -print0
  fi
}

# One hash over names and contents of all of them; deleted files are left out.
project_digest() {
  project_files | LC_ALL=C sort -z | while IFS= read -r -d '' file; do
    if [ -f "$file" ]; then printf '%s\0' "$file"; fi
  done | xargs -0 sha256sum | digest
}

has_gpu() { command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU'; }
