#!/usr/bin/env bash
# make wheel: builds a wheel into dist/, with the manylinux tag of the oldest glibc that its programs start with.
. "$(dirname "$0")/lib.sh"

scripts/packages.sh build
tools=build/wheel-tools
if [ ! -x "$tools/bin/auditwheel" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install -q auditwheel==6.8.2 wheel==0.48.0
fi

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
stage "wheel" "$tools/bin/pip" wheel -q --no-deps -w "$out" .
made=$(ls "$out"/*.whl)

# auditwheel reads the versions of all symbols and names the oldest platform that has them.
platform=$("$tools/bin/auditwheel" show "$made" | tr -s ' \n' ' ' | grep -o 'manylinux_[0-9]*_[0-9]*_x86_64' | head -n 1)
case $platform in
  manylinux_2_[0-9]_* | manylinux_2_[12][0-9]_* | manylinux_2_3[0-5]_*) ;;
  *) fail "the wheel needs ${platform:-an unknown platform}; manylinux_2_35_x86_64 (Ubuntu 22.04) must be enough" ;;
esac
"$tools/bin/wheel" tags --remove --platform-tag "$platform" "$made" >/dev/null
mkdir -p dist
mv "$out"/*.whl dist/
say "$(ls -t dist/*.whl | head -n 1): $(du -h "$(ls -t dist/*.whl | head -n 1)" | cut -f1)"
