#!/usr/bin/env bash
# Configures and builds build/, and installs what that needs. build.sh [TARGET...]: everything without a target.
# KW_TEST_PYTHON is the Python that tests are registered with; the build itself needs none.
. "$(dirname "$0")/lib.sh"

scripts/packages.sh build
python=${KW_TEST_PYTHON-}

# Sources come through pip, which a bare Debian and some environments lack.
python_with_pip() {
  local candidate
  for candidate in "$python" .venv/bin/python python3; do
    if [ -n "$candidate" ] && "$candidate" -m pip --version >/dev/null 2>&1; then echo "$candidate" && return; fi
  done
  python3 -m venv build/pip && echo build/pip/bin/python
}
if [ ! third_party/.fetched -nt scripts/fetch-sources.sh ]; then
  fetch_with=$(python_with_pip)
  PYTHON=$fetch_with scripts/fetch-sources.sh
  touch third_party/.fetched
fi

# A build folder that was copied along with its tree would write into the old place.
if [ -f build/CMakeCache.txt ] && ! grep -qx "CMAKE_HOME_DIRECTORY:INTERNAL=$ROOT" build/CMakeCache.txt; then
  rm -rf build
fi
# PyTorch's CUDA headers may have come since: without them there is no recorder and no replayer.
headers_came() {
  grep -q '^KW_CUDA_INCLUDE:[A-Z]*=$' build/CMakeCache.txt && ls .venv/lib/python3*/site-packages/nvidia/cu13/include/cupti.h
}
if [ ! -f build/build.ninja ] || headers_came >/dev/null 2>&1 || [ CMakePresets.json -nt build/build.ninja ] ||
  { [ -n "$python" ] && ! grep -q "^KW_PYTHON:[A-Z]*=$python\$" build/CMakeCache.txt; }; then
  mkdir -p build
  cmake --preset release ${python:+-DKW_PYTHON="$python"} >build/configure.log 2>&1 || {
    cat build/configure.log >&2
    fail "cmake could not configure"
  }
fi
cmake --build build ${1:+--target} "$@"
