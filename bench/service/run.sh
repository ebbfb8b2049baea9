#!/bin/sh
# Runs all measurements of the service: run.sh [SOAK_SECONDS] > results.json
# PEER_PYTHON: has fastapi, uvicorn, uvloop, httptools, redis, hiredis and orjson. PYTHON: has PyTorch and Triton, for
# the soak test. RAY_PYTHON (optional, for on_ray.py): has ray[serve] and psutil. BUILD: the build folder, with the
# targets kernelwright, noop_service and service_load.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${BUILD:-$root/build}
python=${PYTHON:-$root/.venv/bin/python}
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
ulimit -n 16384

"$python" "$here/compare.py" --build "$build" --peer-python "${PEER_PYTHON:-python3}" --output "$results/compare.json" >&2
"$python" "$here/places.py" --build "$build" --output "$results/places.json" >&2
"$python" "$here/by_task.py" --build "$build" --output "$results/by_task.json" >&2
"$python" "$here/steady.py" --build "$build" --output "$results/steady.json" >&2
# Runs only where RAY_PYTHON is set.
[ -z "${RAY_PYTHON:-}" ] || KERNELWRIGHT_TEST_PYTHON=$python "$RAY_PYTHON" "$here/on_ray.py" --build "$build" \
  --output "$results/on_ray.json" >&2
code=0
"$python" "$here/soak.py" --kernelwright "$build/kernelwright" --seconds "${1:-600}" --output "$results/soak.json" >&2 || code=$?
"$python" - "$results" <<'END'
import json
import pathlib
import sys
print(json.dumps({each.stem: json.loads(each.read_text()) for each in sorted(pathlib.Path(sys.argv[1]).glob("*.json"))}, indent=1))
END
exit $code
