#!/usr/bin/env bash
# Runs tasks of `kernelwright export --format harbor` in containers, from the agent's file to the reward: harbor's agent
# `oracle` hands over right, wrong and hostile files, and a real service on this machine judges. By hand: it needs Python 3.12,
# 300 MB of packages, and Docker with compose v2 and buildx. harbor_images.sh; Python is $PYTHON, else python3.12;
# the environment is made in $VENV. $IMAGE is both containers' base, with Python 3.8 or newer [python:3.12-slim].
# $VERIFIER_IMAGE, an image with kernelwright (docs/containers.md), also judges by itself.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
program=${KERNELWRIGHT:-$here/build/kernelwright}
folder=$(mktemp -d)
service=
trap '[ -z "$service" ] || kill "$service" 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
venv=${VENV:-$folder/venv}
if [ ! -x "$venv/bin/harbor" ]; then
  "${PYTHON:-python3.12}" -m venv "$venv"
  "$venv/bin/pip" install --quiet harbor==0.24.0
fi
image=${IMAGE:-python:3.12-slim}

# A run of recorded answers gives tasks with a solution.
traces=$here/examples/loop/conversations.json
"$program" run --traces "$traces" --model-replay "$traces" --multi-turn --max-turns 4 --limit 3 --device cpu \
  --correctness-trials 2 --output "$folder/traces.json" >"$folder/run.log" 2>&1
"$program" export "$folder/traces.run" --format harbor --output "$folder/exported" --image "$image" --verifier-image "$image"
cp -r "$folder/exported/sample-rowsum" "$folder/task"

# case_ NAME: a copy of the task, in which the agent runs the script of standard input.
case_() {
  mkdir -p "$folder/cases"
  cp -r "$folder/task" "$folder/cases/$1"
  sed -i "s|^name = \"kernelwright/.*|name = \"kernelwright/$1\"|" "$folder/cases/$1/task.toml"
  { printf '#!/bin/sh\nset -eu\nmkdir -p /app\n' && cat; } >"$folder/cases/$1/solution/solve.sh"
}
case_ right <<<'cp /solution/kernel.py /app/kernel.py'
case_ wrong <<<'sed "s/other=0.0/other=1.0/" /solution/kernel.py >/app/kernel.py'
case_ nothing <<<'true'
case_ prints <<<'echo "print({\"reward\": 9, \"correct\": 1, \"counts\": 1})" >/app/kernel.py'
case_ link <<<'ln -s /etc/passwd /app/kernel.py'
case_ pipe <<<'mkfifo /app/kernel.py'
case_ device <<<'mknod /app/kernel.py c 99 99'
case_ directory <<<'mkdir /app/kernel.py; cp /solution/kernel.py /app/kernel.py/kernel.py'
case_ large <<<'truncate -s 1G /app/kernel.py'
case_ rewards <<'SOLVE'
for folder in /logs/verifier /logs/artifacts /logs/artifacts/verifier; do
  mkdir -p "$folder"
  for name in reward.json reward.txt; do echo 9 >"$folder/$name"; done
  for number in $(seq 1 99); do ln -s ../artifacts/reward.json "$folder/.reward.json.$number"; done
done
chmod 555 /logs/verifier
SOLVE
case_ background <<'SOLVE'
cat >/usr/local/bin/python3 <<'FAKE'
#!/bin/sh
echo '{"reward": 9}' >/logs/verifier/reward.json
FAKE
chmod +x /usr/local/bin/python3
mkdir -p /tests && cp /usr/local/bin/python3 /tests/test.sh
(trap '' HUP TERM INT; while :; do echo '{"reward": 9}' >/logs/verifier/reward.json; sleep 0.01; done) >/dev/null 2>&1 &
SOLVE
case_ writes <<'SOLVE'
sed "s/other=0.0/other=1.0/" /solution/kernel.py >/app/kernel.py
cat >>/app/kernel.py <<'KERNEL'


import os, time
if os.fork() == 0:
    os.setsid()
    while True:
        for path in ("/logs/verifier/reward.json", "/tests/judge.py", "/tests/tasks.jsonl", "/app/kernel.py"):
            try:
                with open(path, "w") as file:
                    file.write('{"reward": 9, "correct": 1}')
            except OSError:
                pass
        time.sleep(0.01)
KERNEL
SOLVE
cp -r "$folder/cases/right" "$folder/absent"
if [ -n "${VERIFIER_IMAGE-}" ]; then
  "$program" export "$folder/traces.run" --format harbor --output "$folder/local" --judge local --image "$image" \
    --verifier-image "$VERIFIER_IMAGE" >/dev/null
  mkdir "$folder/itself"
  for name in right wrong writes; do
    cp -r "$folder/cases/$name" "$folder/itself/$name"
    rm -r "$folder/itself/$name/tests"
    cp -r "$folder/local/sample-rowsum/tests" "$folder/itself/$name"
    # Without a network of its own, harbor's sidecar would be pulled.
    sed "s|^name = \"kernelwright/.*|name = \"kernelwright/$name\"|; s/\"no-network\"/\"public\"/" \
      "$folder/local/sample-rowsum/task.toml" >"$folder/itself/$name/task.toml"
    printf 'services:\n  main:\n    security_opt: ["seccomp=unconfined", "systempaths=unconfined"]\n' \
      >"$folder/itself/$name/tests/docker-compose.yaml"
  done
fi

# The service listens on the gateway of Docker's own bridge, which only this machine and its containers reach.
# Docker does not always state it; then it is the subnet's first address.
address=$(docker network inspect bridge --format '{{with index .IPAM.Config 0}}{{or .Gateway .Subnet}}{{end}}' | sed 's|0/.*|1|')
"$venv/bin/python" -c 'import secrets; print(secrets.token_hex(16))' >"$folder/key"
"$program" serve --host "$address" --port 0 --device cpu --correctness-trials 2 --tasks "$folder/traces.json" --parent-death \
  --api-key-file "$folder/key" --store "$folder/service.db" >"$folder/url" 2>"$folder/service.log" &
service=$!
until [ -s "$folder/url" ]; do kill -0 "$service" || { cat "$folder/service.log" >&2; exit 1; }; sleep 0.1; done
KERNELWRIGHT_EVALUATOR=$(cat "$folder/url")
KERNELWRIGHT_EVALUATOR_KEY=$(cat "$folder/key")
export KERNELWRIGHT_EVALUATOR KERNELWRIGHT_EVALUATOR_KEY LITELLM_LOCAL_MODEL_COST_MAP=True

# run_ JOB TASKS WORD... : the trials of a job; harbor's exit code does not matter, since its files are checked.
run_() {
  local job=$1 tasks=$2
  shift 2
  "$venv/bin/harbor" run --path "$tasks" --agent oracle --env docker --jobs-dir "$folder/jobs" --job-name "$job" \
    --n-concurrent 2 --yes --quiet "$@" >"$folder/$job.log" 2>&1 </dev/null || true
}
run_ service "$folder/cases"
KERNELWRIGHT_EVALUATOR=http://$address:1 run_ absent "$folder/absent" --ve KERNELWRIGHT_WAIT_S=3
KERNELWRIGHT_EVALUATOR_KEY=another run_ other_key "$folder/absent"
trials=$(($(find "$folder/cases" -name task.toml | wc -l) + 2))
if [ -d "$folder/itself" ]; then
  run_ itself "$folder/itself"
  trials=$((trials + 3))
fi
if grep -rlF "$(cat "$folder/key")" "$folder/jobs" "$folder/cases"; then
  echo "these files have the service's key" >&2
  exit 1
fi

"$venv/bin/python" - "$folder/jobs" "$trials" <<'PYTHON'
import json
import sys
from pathlib import Path

RIGHT = {"reward": 0.3, "correct": 1, "counts": 1, "trust_level": 1}
WRONG = {"reward": 0, "correct": 0, "counts": 0}
failed, checked = [], 0
for path in sorted(Path(sys.argv[1]).glob("*/*/result.json")):
    trial, job = path.parent, path.parents[1].name
    result = json.loads(path.read_text(encoding="utf-8"))
    case = result["task_name"].split("/")[-1]
    found = (result["verifier_result"] or {}).get("rewards")
    if job in ("absent", "other_key"):
        said = (result["exception_info"] or {}).get("exception_type")
        good = found is None and said == "RewardFileNotFoundError"
    else:
        verdict = trial / "verifier" / "verdict.json"
        said = json.loads(verdict.read_text(encoding="utf-8"))["error_class"] if verdict.exists() else "no verdict"
        wanted = None if case == "right" else "wrong_value" if case in ("wrong", "writes") else "missing_entry"
        good = said == wanted and found is not None and found.items() >= (RIGHT if case == "right" else WRONG).items()
    print("passed" if good else "FAILED", job, case, found, said or "")
    checked += 1
    if not good:
        failed.append(trial)
        print((trial / "trial.log").read_text(encoding="utf-8")[-2000:])
assert checked == int(sys.argv[2]), f"{checked} trials of {sys.argv[2]} have a result"
sys.exit(1 if failed else 0)
PYTHON
