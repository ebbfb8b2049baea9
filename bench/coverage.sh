#!/usr/bin/env bash
# Branch coverage of src/verify/judge and src/verify/workers by the tests that need no GPU (tests/verify). coverage.sh [FOLDER]
# Needs llvm-profdata-19 and llvm-cov-19 (Debian: llvm-19). FOLDER is the build folder, build-coverage by default.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build-coverage}
cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_C_COMPILER=clang-19 \
  -DKW_PCH=OFF -DCMAKE_CXX_FLAGS="-fprofile-instr-generate -fcoverage-mapping" >/dev/null
cmake --build "$folder" --target verdict_test
LLVM_PROFILE_FILE=$folder/verdict.profraw "$folder/tests/verdict_test" --gtest_brief=1
llvm-profdata-19 merge -sparse "$folder/verdict.profraw" -o "$folder/verdict.profdata"
llvm-cov-19 report "$folder/tests/verdict_test" -instr-profile="$folder/verdict.profdata" |
  grep -E "^(Filename|src/verify/(judge|workers)/)"
