#!/usr/bin/env bash
# make test, make retest, make test-gpu: installs missing packages, builds, and runs the tests.
# test.sh [--again] LABEL... ; runs nothing when no file has changed since these labels last passed.
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

# Peers need an environment of their own on top of the tests'. A user's Python may not be able to hold one.
with_peers=no
case " ${labels[*]} " in *" peers "* | *" capabilities "*) with_peers=yes ;; esac

packages=(build)
case " ${labels[*]} " in *" browser "*) packages+=(web) ;; esac
needed=$(scripts/packages.sh --needed "${packages[@]}" && scripts/python.sh --needed test &&
  { [ "$with_peers" = no ] || scripts/python-peers.sh --needed; })
if [ -n "$needed" ]; then say "This installs what is missing:" && say "$needed"; fi
scripts/packages.sh "${packages[@]}"

# Downloads wait for the network; the cores compile meanwhile. download NAME COMMAND... starts one, arrived NAME waits for it.
declare -A downloads=()
logs=$(mktemp -d)
trap 'kill "${downloads[@]}" 2>/dev/null || true; rm -rf "$logs"' EXIT
download() {
  local name=$1
  shift
  "$@" >"$logs/$name" 2>&1 </dev/null &
  downloads[$name]=$!
}
arrived() {
  local process=${downloads[$1]}
  unset "downloads[$1]"
  wait "$process" || { cat "$logs/$1" >&2 && return 1; }
}

if [ -n "$(scripts/python.sh --needed test)" ]; then
  download python scripts/python.sh test
  stage "build of the program" scripts/build.sh kernelwright
  stage "Python environment" arrived python
fi
KW_TEST_PYTHON=$(scripts/python.sh test)
export KW_TEST_PYTHON
if [ "$with_peers" = yes ]; then download peers scripts/python-peers.sh; fi
stage "build" scripts/build.sh
if [ "$with_peers" = yes ] && ! stage "Python environment for peers" arrived peers; then
  if [ "$KW_TEST_PYTHON" = "$ROOT/.venv/bin/python" ]; then
    fail 'the tests labelled capabilities and peers lack their environment; make test KW_LABELS="unit end_to_end" does without'
  fi
  say "The tests labelled capabilities and peers are left out: their packages cannot be added to $KW_TEST_PYTHON"
  kept=() && for label in "${labels[@]}"; do [[ "$label" =~ ^(peers|capabilities)$ ]] || kept+=("$label"); done
  labels=(${kept[@]+"${kept[@]}"})
fi
case " ${labels[*]} " in *" browser "*) stage "packages of the page" scripts/web.sh packages ;; esac
# folder_of LABEL: the build folder of its tests.
folder_of() { case $1 in sanitizers | fuzz) echo build-sanitizers ;; *) echo build ;; esac; }
build_with_sanitizers() {
  cmake --preset sanitizers >build/configure-sanitizers.log 2>&1 || { cat build/configure-sanitizers.log >&2 && return 1; }
  cmake --build build-sanitizers --target sanitizer_tests fuzzers
}
case " ${labels[*]} " in *" sanitizers "* | *" fuzz "*) stage "build with sanitizers" build_with_sanitizers ;; esac

count=0 skipped=0
failed=()
for label in "${labels[@]}"; do
  if ! stage "$label tests" ctest --test-dir "$(folder_of "$label")" -L "^$label\$" --no-tests=error --output-on-failure -j"$(nproc)" \
    --output-log "build/tests-$label.log" --output-junit "$ROOT/build/tests-$label.xml"; then
    failed+=("$label") && continue
  fi
  ran=$(sed -n 's/^[0-9]*% tests passed, .* tests failed out of \([0-9]*\)$/\1/p' "build/tests-$label.log")
  idle=$(grep -c '^[[:space:]]*[0-9]* - .* (Skipped)$' "build/tests-$label.log" || true)
  count=$((count + ran - idle))
  skipped=$((skipped + idle))
done
"$KW_TEST_PYTHON" scripts/slowest_tests.py "${labels[@]/#/build/tests-}"
if [ ${#failed[@]} != 0 ]; then fail "failed: ${failed[*]} tests; what they said is also in build/tests-LABEL.log"; fi
printf '%s\n' "$state" "$count tests passed, $skipped skipped" >"$passed"
say "$(tail -n 1 "$passed")"
