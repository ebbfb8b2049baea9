#!/usr/bin/env bash
# Runs all measurements on a GPU until a deadline; bench/README.md describes each part.
#
# Environment: KW_DIST (folder of the tarballs that `make dist` and `make dist-tests` made), RECORDED (folder of the
# recorded completions), KERNELBENCH (a checkout), OUT (for the results). With defaults: KW_DEVICE (cuda),
# KW_PYTHON (python3), KW_SECONDS (560), KW_PARTS (all), KW_ROWS (300), KW_JOBS ("12 8 16"), KW_THROUGHPUT_S (38),
# KW_TIMING_PRECISION (0.01), KW_TIMING_TRIALS (100), KW_PORT (8931), KW_WEIGHTS ("constructor moved"),
# KW_LEVELS ("1 2"), KW_REPEATS (10), KW_SURVEY_JOBS (6).
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$(dirname "$here")")
ALL_PARTS="unpack sample recorded survey timing exploits served loop kernelbench throughput latency tests overhead"

absolute() { (cd "$1" && pwd); }

# --- setup, once; a part is this script again, under timeout

if [ "${1-}" != --part ]; then
  : "${KW_DIST:?}" "${RECORDED:?}" "${KERNELBENCH:?}" "${OUT:?}"
  mkdir -p "$OUT"
  KW_DIST=$(absolute "$KW_DIST") RECORDED=$(absolute "$RECORDED") OUT=$(absolute "$OUT")
  KERNELBENCH=$(absolute "$KERNELBENCH")
  export KW_DIST RECORDED KERNELBENCH OUT
  export KW_DEVICE=${KW_DEVICE:-cuda} KW_ROWS=${KW_ROWS:-300} KW_JOBS=${KW_JOBS:-12 8 16}
  KW_PYTHON=$(command -v "${KW_PYTHON:-python3}") || { echo "no ${KW_PYTHON:-python3}" >&2; exit 1; }
  KW_END=$(($(date +%s) + ${KW_SECONDS:-560}))
  WORK=$(mktemp -d "${TMPDIR:-/tmp}/bench.XXXXXX")
  chmod 755 "$WORK"
  trap 'rm -rf "$WORK"' EXIT
  mkdir "$WORK/raw"
  export KW_PYTHON KW_END WORK PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
fi
kw=$WORK/program/bin/kernelwright
raw=$WORK/raw
parts=${KW_PARTS:-$ALL_PARTS}

left() { echo $((KW_END - $(date +%s))); }

# judge NAME SECONDS ARGUMENTS... : verify, with verdicts, record and log under raw/; stops before the part's end.
judge() {
  local name=$1 seconds=$2 room=$((PART_END - $(date +%s) - 13))
  shift 2
  if [ "$room" -lt "$seconds" ]; then seconds=$room; fi
  if [ "$seconds" -lt 10 ]; then
    echo "$name: no time left"
    return 1
  fi
  "$KW_PYTHON" "$root/bench/judge.py" --name "$name" --kernelwright "$kw" --limit-s "$seconds" \
    --verdicts "$raw/$name.jsonl" --record "$raw/$name.run.json" --log "$raw/$name.log" \
    -- --device "$KW_DEVICE" --python "$KW_PYTHON" "$@"
}
compare() { "$KW_PYTHON" "$here/compare.py" "$@"; }

# --- the parts

part_unpack() {
  mkdir -p "$WORK/program" "$WORK/tests"
  local tarball
  for tarball in "$KW_DIST"/kernelwright-*.tar.gz; do
    case $(basename "$tarball") in
      kernelwright-tests-*) tar -xzf "$tarball" -C "$WORK/tests" --strip-components=1 ;;
      *) tar -xzf "$tarball" -C "$WORK/program" --strip-components=1 ;;
    esac || return 1
  done
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,temperature.gpu --format=csv,noheader || true
  "$kw" --version
  "$kw" doctor --json --python "$KW_PYTHON" >"$OUT/doctor.json"
  local status=$?
  "$KW_PYTHON" -c 'import json, sys
for each in json.load(open(sys.argv[1]))["findings"]: print("  {grade}: {what}".format(**each))' "$OUT/doctor.json"
  return "$status"
}

part_sample() {
  judge sample 75 "$WORK/program/examples/sample" --timeout 60 || return 1
  cp "$raw/sample.jsonl" "$OUT/sample.jsonl"
  compare expected "$WORK/program/examples/sample/expected.json" "$raw/sample.jsonl" | tee "$raw/sample.agreement.txt"
}

part_recorded() {
  local weights file name status=0
  for weights in ${KW_WEIGHTS:-constructor moved}; do
    for file in "$RECORDED"/recorded_*.json; do
      name=$(basename "$file" .json).$weights
      judge "$name" 75 --traces "$file" --weights "$weights" --timeout 40 || { status=1; continue; }
      compare recorded "$file" "$raw/$name.jsonl" | tee "$raw/$name.agreement.txt"
    done
  done
  return "$status"
}

# KernelBench's own references as candidates: which can be replayed, and why others cannot.
part_survey() {
  "$KW_PYTHON" "$here/survey.py" rows "$KERNELBENCH" "$WORK/survey.jsonl" ${KW_LEVELS:-1 2} || return 1
  judge survey "$((PART_END - $(date +%s) - 15))" --batch "$WORK/survey.jsonl" --timeout 90 --timing-trials 1 \
    --correctness-trials 2 --audit 0 --memory 24G --jobs "${KW_SURVEY_JOBS:-6}"
  "$KW_PYTHON" "$here/survey.py" table "$raw/survey.jsonl" "$OUT/survey.json"
}

# Twenty kernels, each judged several times; ncu and do_bench on the same ones.
part_timing() {
  local seconds=$(((PART_END - $(date +%s)) * 2 / 3))
  "$KW_PYTHON" "$here/timing.py" rows "$WORK/timing.jsonl" "${KW_REPEATS:-10}" || return 1
  judge timing "$seconds" --batch "$WORK/timing.jsonl" --timeout 60 --audit 0 --correctness-trials 2 \
    --jobs "${KW_TIMING_JOBS:-2}" --timing-precision "${KW_TIMING_PRECISION:-0.01}" \
    --timing-trials "${KW_TIMING_TRIALS:-100}"
  timeout -k 5 "$((PART_END - $(date +%s) - 8))" "$KW_PYTHON" "$here/timing.py" others "$raw/timing.others.json" ncu
  "$KW_PYTHON" "$here/timing.py" table "$raw/timing.jsonl" "$raw/timing.others.json" "$OUT/timing.json"
}

part_exploits() {
  cd "$WORK/tests" && [ -x run-tests.sh ] || { echo "no tests in $KW_DIST"; return 1; }
  export KERNELWRIGHT=$WORK/tests/bin/kernelwright KERNELWRIGHT_NATIVE=$WORK/tests/lib KERNELWRIGHT_TEST_DEVICE=$KW_DEVICE
  PYTHONPATH=$WORK/tests/python timeout -k 5 "$((PART_END - $(date +%s)))" "$KW_PYTHON" -m pytest -c python/pyproject.toml \
    --rootdir . -rfE --tb=short -q -m gpu tests/end_to_end/test_exploits.py 2>&1 | tee "$raw/exploits.log" | tail -n 40
}

# The same kernels, judged by a service on this machine.
part_served() {
  cd "$WORK/tests" && [ -x run-tests.sh ] || { echo "no tests in $KW_DIST"; return 1; }
  local service status=0 url=http://127.0.0.1:${KW_PORT:-8931}
  "$kw" serve --device "$KW_DEVICE" --python "$KW_PYTHON" --audit 1 --port "${KW_PORT:-8931}" --store "$WORK/service.db" \
    --quiet >/dev/null 2>"$raw/served.service.log" &
  service=$!
  export KERNELWRIGHT=$here/through_service.py KW_PROGRAM=$WORK/tests/bin/kernelwright KERNELWRIGHT_EVALUATOR=$url
  export KERNELWRIGHT_NATIVE=$WORK/tests/lib KERNELWRIGHT_TEST_DEVICE=$KW_DEVICE
  for _ in $(seq 90); do curl -sf "$url/health" >/dev/null && break; sleep 1; done
  PYTHONPATH=$WORK/tests/python timeout -k 5 "$((PART_END - $(date +%s) - 20))" "$KW_PYTHON" -m pytest -c python/pyproject.toml \
    --rootdir . -rfE --tb=short -q -m gpu tests/end_to_end/test_exploits.py >"$raw/served.log" 2>&1 || status=$?
  tail -n 40 "$raw/served.log"
  kill -INT "$service" && wait "$service"
  return "$status"
}

# loop NAME TRACES: runs the loop on recorded conversations and judges their answers.
loop() {
  local status=0
  "$kw" run --device "$KW_DEVICE" --python "$KW_PYTHON" --traces "$2" --model-replay "$2" --multi-turn --verbose --json \
    --timeout 40 --output "$OUT/$1.json" >"$raw/$1.summary.json" 2>"$raw/$1.log" || status=$?
  echo "$1: exit code $status; $(cat "$raw/$1.summary.json")"
  rm -rf "$OUT/$1.run"
  return "$status"
}

part_loop() {
  local status=0
  loop loop.sample "$WORK/program/examples/loop/conversations.json" || status=1
  loop loop.recorded "$RECORDED/recorded_qwen3_multi_turn.json" || status=1
  return "$status"
}

part_kernelbench() {
  local status=0 kernel problem source=$WORK/kernelbench_run
  mkdir -p "$source"
  cp "$root"/bench/kernelbench/runs/ours/level_1_problem_*_kernel.py "$source"
  judge kernelbench.ours 100 --kernelbench "$KERNELBENCH" --kernelbench-run "$source" --timeout 90 || status=1
  if [ -f "$source/eval_results.json" ]; then cp "$source/eval_results.json" "$raw/kernelbench.eval_results.json"; fi
  for problem in 19 88 26; do
    kernel=$root/bench/kernelbench/runs/ours/level_1_problem_${problem}_sample_0_kernel.py
    timeout -k 5 150 "$KW_PYTHON" "$here/kernelbench_eval.py" "$KERNELBENCH" \
      "$KERNELBENCH"/KernelBench/level1/"$problem"_*.py "$kernel" "$raw/kernelbench.own_$problem.json" \
      2>"$raw/kernelbench.own_$problem.log" || { echo "KernelBench's own, problem $problem: exit code $?"; status=1; }
  done
  return "$status"
}

part_throughput() {
  local jobs status=0 sources=() file
  for file in "$WORK"/program/examples/sample/{single,multi}_turn.json; do sources+=("$file=$raw/sample.jsonl"); done
  for file in "$RECORDED"/recorded_*.json; do
    sources+=("$file=$raw/$(basename "$file" .json).constructor.jsonl")
  done
  "$KW_PYTHON" "$here/copies.py" "$KW_ROWS" "$WORK/copies.jsonl" "${sources[@]}" || return 1
  local common=(--batch "$WORK/copies.jsonl" --limit "$KW_ROWS" --weights constructor --timeout 40 --quiet)
  local seconds=${KW_THROUGHPUT_S:-38}
  for jobs in $KW_JOBS; do
    judge "throughput.jobs_$jobs" "$seconds" "${common[@]}" --jobs "$jobs" || status=1
  done
  jobs=${KW_JOBS%% *}
  judge "throughput.jobs_$jobs.timed_once" "$seconds" "${common[@]}" --jobs "$jobs" --timing-trials 1 || status=1
  return "$status"
}

# Warm verdicts one after another, on the first rows of the throughput part.
part_latency() {
  head -n 45 "$WORK/copies.jsonl" >"$WORK/latency.jsonl" || return 1
  judge latency 75 --batch "$WORK/latency.jsonl" --weights constructor --timeout 40 --audit 0 --jobs 1
}

# run_test NAME SECONDS COMMAND... in the unpacked tests.
run_test() {
  local name=$1 seconds=$2 status=0
  shift 2
  timeout -k 5 "$seconds" "$@" >"$raw/tests.$name.log" 2>&1 || status=$?
  echo "$name: exit code $status; $(tail -n 1 "$raw/tests.$name.log")"
  return "$status"
}

part_tests() {
  cd "$WORK/tests" && [ -x run-tests.sh ] || { echo "no tests in $KW_DIST"; return 1; }
  export KERNELWRIGHT=$WORK/tests/bin/kernelwright KERNELWRIGHT_NATIVE=$WORK/tests/lib KERNELWRIGHT_RECORDED=$RECORDED
  export KERNELWRIGHT_TEST_DEVICE=$KW_DEVICE PYTHONPATH=$WORK/tests/python
  local pytest=("$KW_PYTHON" -m pytest -c python/pyproject.toml --rootdir . -rfE --tb=short) status=0
  local label=gpu label_files=() program kind
  if [ "$KW_DEVICE" = cpu ]; then label="not gpu"; fi
  mapfile -t label_files < <(grep -l 'mark\.gpu' tests/python/test_*.py)
  run_test runner 60 "${pytest[@]}" -m "$label" "${label_files[@]}" || status=1
  run_test four_turns 90 "${pytest[@]}" -m "$label" tests/end_to_end/test_loop_four_turns.py || status=1
  run_test victims 120 "${pytest[@]}" tests/end_to_end/test_victims.py || status=1
  while read -r kind program; do
    run_test "$kind.$program" 30 "tests/bin/$program" --gtest_brief=1 || status=1
  done < <(cat tests/programs 2>/dev/null)
  return "$status"
}

part_overhead() {
  "$KW_PYTHON" "$root/bench/overhead.py" --kernelwright "$kw" --device "$KW_DEVICE" --python "$KW_PYTHON" --limit-s 40 \
    --output "$raw/overhead.json"
}

if [ "${1-}" = --part ]; then
  PART_END=$(($(date +%s) + $3))
  "part_$2"
  exit
fi

# --- the parts one after another, until the deadline

# run NAME MOST KEPT: takes at most MOST seconds and leaves KEPT seconds for later parts.
run() {
  local name=$1 seconds=$2 room=$(($(left) - $3)) began status=0
  case " $parts " in *" $name "*) ;; *) return ;; esac
  if [ "$room" -lt "$seconds" ]; then seconds=$room; fi
  if [ "$seconds" -lt 15 ]; then
    printf '%s\t%s\t%s\n' "$name" "not started" 0 >>"$raw/parts.tsv"
    return
  fi
  echo "== $name (at most $seconds s)"
  began=$(date +%s)
  timeout -k 10 "$seconds" bash "$here/run_all.sh" --part "$name" "$seconds" || status=$?
  printf '%s\t%s\t%s\n' "$name" "$status" $(($(date +%s) - began)) >>"$raw/parts.tsv"
  tar -czf "$OUT/raw.tar.gz" -C "$WORK" raw
}

{
  run unpack 60 0
  run sample 90 0
  run recorded 240 0
  run survey 480 0
  run timing 240 0
  run exploits 150 0
  run served 180 0
  run loop 150 0
  run kernelbench 330 0
  run throughput 175 60
  run latency 90 35
  run tests 220 35
  run overhead 60 0
  "$KW_PYTHON" "$here/table.py" "$raw" "$OUT/summary.json"
} 2>&1 | tee "$OUT/run.log"
tar -czf "$OUT/raw.tar.gz" -C "$WORK" raw
