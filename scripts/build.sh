#!/usr/bin/env bash
# Configures and builds build/, and installs the build's packages. build.sh [TARGET...]: all targets by default.
# KW_TEST_PYTHON is the Python for which tests are registered; the build itself needs none.
. "$(dirname "$0")/lib.sh"

scripts/packages.sh build
python=${KW_TEST_PYTHON-}

# Sources are fetched by pip, which a bare Debian and some environments lack.
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

# A build folder that was copied with its tree would write into the original.
if [ -f build/CMakeCache.txt ] && ! grep -qx "CMAKE_HOME_DIRECTORY:INTERNAL=$ROOT" build/CMakeCache.txt; then
  rm -rf build
fi
# PyTorch's CUDA headers may have been installed since: recorder and replayer need them.
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
