#!/usr/bin/env bash
# make dist: packs the program for another x86-64 Linux, which needs glibc and a Python with PyTorch and Triton.
# make dist-tests (--tests): the same with the tests and run-tests.sh. Equal builds give equal bytes.
. "$(dirname "$0")/lib.sh"

tests=no
name=kernelwright-$VERSION-linux-x86_64
if [ "${1-}" = --tests ]; then tests=yes && name=kernelwright-tests-$VERSION-linux-x86_64; fi

scripts/python.sh run >/dev/null
python=$(scripts/python.sh run)
if [ "$tests" = yes ]; then scripts/build.sh; else scripts/build.sh kernelwright kwsandbox kw_messages kw_gpu; fi

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
top=$out/$name
mkdir -p "$top"

# copy FOLDER TO: without compiled Python files.
copy() {
  mkdir -p "$2"
  tar -C "$(dirname "$1")" -c --exclude=__pycache__ --exclude='*.pyc' "$(basename "$1")" | tar -C "$2" -x
}

KW_BUNDLED_FROM=$python cmake --install build --component program --prefix "$top" --strip >/dev/null
if [ ! -f "$top/bin/kernelwright-replayer" ]; then
  say "without recorder and replayer: PyTorch's CUDA headers were not found"
fi
copy examples "$top"
copy docs "$top"
if [ -f README.md ]; then cp README.md "$top"; fi
cp LICENSE "$top"
echo "$VERSION" >"$top/VERSION"
python3 scripts/release_pages.py "$top"

if [ "$tests" = yes ]; then
  copy tests "$top"
  find "$top/tests" -type f '(' -name '*.cpp' -o -name '*.h' -o -name CMakeLists.txt ')' -delete
  find "$top/tests" -type d -empty -delete
  mkdir -p "$top/tests/bin"
  cp python/pyproject.toml "$top/python"
  cp scripts/run-tests.sh "$top"
  # The program tests that ctest knows: one line each, label and name.
  ctest --test-dir build --show-only=json-v1 | python3 -c '
import json, os, sys
build = os.path.realpath("build")
for test in json.load(sys.stdin)["tests"]:
    program = os.path.realpath(test.get("command", ["-"])[0])
    labels = [label for p in test["properties"] if p["name"] == "LABELS" for label in p["value"]]
    if program.startswith(build + "/") and labels and labels[0] in ("unit", "gpu"):
        print(labels[0], program)' | sort -u >"$out/programs"
  while read -r label program; do
    strip -o "$top/tests/bin/$(basename "$program")" "$program"
    echo "$label $(basename "$program")" >>"$top/tests/programs"
  done <"$out/programs"
fi

# The binaries may depend only on glibc.
binaries=("$top/bin" "$top/lib")
if [ "$tests" = yes ]; then binaries+=("$top/tests/bin"); fi
find "${binaries[@]}" -type f | while read -r file; do
  objdump -p "$file" | awk '$1 == "NEEDED" { print $2 }' | { grep -vxE 'lib(c|m)\.so\.6|ld-linux-x86-64\.so\.2' || true; } |
    while read -r library; do echo "$(basename "$file") needs $library"; done
done >"$out/needed"
if [ -s "$out/needed" ]; then fail "not portable: $(xargs <"$out/needed")"; fi
glibc=$(find "${binaries[@]}" -type f -exec objdump -T {} + 2>/dev/null |
  grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
if [ "$tests" = no ] && [ "$(printf '%s\n' "$glibc" GLIBC_2.35 | sort -V | tail -n 1)" != GLIBC_2.35 ]; then
  fail "the program needs $glibc, Ubuntu 22.04 has GLIBC_2.35"
fi

mkdir -p dist
tar -C "$out" -c --sort=name --mtime=@1735689600 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX "$name" |
  gzip -n -9 >"dist/$name.tar.gz"
say "dist/$name.tar.gz: $(du -h "dist/$name.tar.gz" | cut -f1), needs only glibc ($glibc or newer)" \
  "sha256 $(sha256sum "dist/$name.tar.gz" | cut -d' ' -f1)"
