#!/usr/bin/env bash
# Fetches the C sources of tree-sitter and of its Python and CUDA grammars into third_party/, once, checked by
# SHA-256.
#   scripts/fetch-sources.sh            with .venv's Python, else python3
#   PYTHON=/path/to/python scripts/fetch-sources.sh
# They are source packages of the Python package index, fetched by pip, so that a mirror or an index in pip's
# configuration works too. Python's newest package lacks scanner.c, which is taken from the previous one, whose list of
# external tokens is the same.
set -euo pipefail
cd "$(dirname "$0")/.."

target=third_party
stamp=$target/.fetched
want="tree-sitter 0.25.1, tree-sitter-python 0.25.0 and 0.23.6, tree-sitter-cuda 0.21.2"
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ]; then exit 0; fi

python=${PYTHON:-}
if [ -z "$python" ]; then
  if [ -x .venv/bin/python ]; then python=.venv/bin/python; else python=python3; fi
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# fetch NAME VERSION SHA256: checks the hash before any code of the package runs.
fetch() {
  echo "$1==$2 --hash=sha256:$3" > "$work/wanted.txt"
  if ! "$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary "$1" \
    --require-hashes -r "$work/wanted.txt" -d "$work"; then
    echo "fetch-sources: cannot get $1 $2: pip needs a reachable package index (pip config list shows which)" >&2
    exit 1
  fi
  tar -xzf "$work/${1/-python/_python}-$2.tar.gz" -C "$work" 2>/dev/null ||
    tar -xzf "$work/${1//-/_}-$2.tar.gz" -C "$work"
}

fetch tree-sitter 0.25.1 cd761ad0e4d1fc88a4b1b8083bae06d4f973acf6f5f29bbf13ea9609c1dec9c1
fetch tree-sitter-python 0.25.0 b13e090f725f5b9c86aa455a268553c65cadf325471ad5b65cd29cac8a1a68ac
fetch tree-sitter-python 0.23.6 354bfa0a2f9217431764a631516f85173e9711af2c13dbd796a8815acfe505d9
fetch tree-sitter-cuda 0.21.2 40a5025e82819d351ffcf3daee5d11d1918147a2091d201685a391aa6f7442c4

rm -rf "$target"
mkdir -p "$target/tree-sitter" "$target/tree-sitter-python" "$target/tree-sitter-cuda"
cp -r "$work"/tree[-_]sitter-0.25.1/tree_sitter/core/lib/{include,src} "$target/tree-sitter/"
cp "$work"/tree[-_]sitter-0.25.1/LICENSE "$target/tree-sitter/"
cp -r "$work"/tree_sitter_python-0.25.0/{src,LICENSE} "$target/tree-sitter-python/"
cp "$work"/tree_sitter_python-0.23.6/src/scanner.c "$target/tree-sitter-python/src/"
cp -r "$work"/tree_sitter_cuda-0.21.2/{src,LICENSE} "$target/tree-sitter-cuda/"
echo "$want" > "$stamp"
echo "fetch-sources: $want are in $target/"
