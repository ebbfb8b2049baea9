#!/usr/bin/env bash
# make test, make retest, make test-gpu: installs what is missing, builds, and runs the tests.
# test.sh [--again] LABEL... ; nothing is run when all files are as they were when these labels last passed.
. "$(dirname "$0")/lib.sh"

again=no
if [ "${1-}" = --again ]; then again=yes && shift; fi
labels=("$@")

state=$(printf '%s\n' "$(project_digest)" "${labels[*]}" "${KW_PYTHON-}" "${VIRTUAL_ENV-}" | digest)
passed=build/.passed-$(IFS=- && echo "${labels[*]}")
if [ "$again" = no ] && [ "$(head -n 1 "$passed" 2>/dev/null)" = "$state" ]; then
  say "$(tail -n 1 "$passed"); nothing has changed since: make retest runs them again"
  exit 0
fi

# Peers have a Python of their own on top of the tests'. Where that is a user's, it need not bear them.
with_peers=no
case " ${labels[*]} " in *" peers "*) with_peers=yes ;; esac

needed=$(scripts/packages.sh --needed build && scripts/python.sh --needed test &&
  { [ "$with_peers" = no ] || scripts/python-peers.sh --needed; })
if [ -n "$needed" ]; then say "This installs what is missing:" && say "$needed"; fi
scripts/packages.sh build
stage "Python environment" scripts/python.sh test
KW_TEST_PYTHON=$(scripts/python.sh test)
export KW_TEST_PYTHON
# That of the peers comes over the network while the cores compile.
if [ "$with_peers" = yes ]; then
  peers_log=$(mktemp)
  scripts/python-peers.sh >"$peers_log" 2>&1 </dev/null &
  peers=$!
  trap 'kill "$peers" 2>/dev/null || true; rm -f "$peers_log"' EXIT
fi
stage "build" scripts/build.sh
peers_came() { wait "$peers" || { cat "$peers_log" >&2 && return 1; }; }
if [ "$with_peers" = yes ] && ! stage "Python environment for peers" peers_came; then
  if [ "$KW_TEST_PYTHON" = "$ROOT/.venv/bin/python" ]; then
    fail 'the tests labelled peers lack their environment; make test KW_LABELS="unit engine" does without'
  fi
  say "The tests labelled peers are left out: they cannot be added to $KW_TEST_PYTHON"
  kept=() && for label in "${labels[@]}"; do [ "$label" = peers ] || kept+=("$label"); done
  labels=(${kept[@]+"${kept[@]}"})
fi
case " ${labels[*]} " in *" fuzz "*) stage "fuzzers" cmake --build build --target fuzzers ;; esac

count=0 skipped=0
failed=()
for label in "${labels[@]}"; do
  if ! stage "$label tests" ctest --test-dir build -L "^$label\$" --no-tests=error --output-on-failure -j"$(nproc)" \
    --output-log "build/tests-$label.log"; then
    failed+=("$label") && continue
  fi
  ran=$(sed -n 's/^[0-9]*% tests passed, .* tests failed out of \([0-9]*\)$/\1/p' "build/tests-$label.log")
  idle=$(grep -c '^[[:space:]]*[0-9]* - .* (Skipped)$' "build/tests-$label.log" || true)
  count=$((count + ran - idle))
  skipped=$((skipped + idle))
done
if [ ${#failed[@]} != 0 ]; then fail "failed: ${failed[*]} tests; what they said is also in build/tests-LABEL.log"; fi
printf '%s\n' "$state" "$count tests passed, $skipped skipped" >"$passed"
say "$(tail -n 1 "$passed")"
