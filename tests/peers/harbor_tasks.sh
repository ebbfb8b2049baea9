#!/usr/bin/env bash
# Has the package harbor read the tasks that `kernelwright export --format harbor` writes. By hand: it needs Python 3.12 and
# downloads 300 MB. harbor_tasks.sh [SOURCE...]; Python is $PYTHON, else python3.12; the environment is made in $VENV.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
program=${KERNELWRIGHT:-$here/build/kernelwright}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
venv=${VENV:-$folder/venv}
if [ ! -x "$venv/bin/harbor" ]; then
  "${PYTHON:-python3.12}" -m venv "$venv"
  "$venv/bin/pip" install --quiet harbor==0.24.0
fi
[ $# -gt 0 ] || set -- "$here/examples/sample" "$here/examples/pair/reference.py" "$here/examples/loop/conversations.json"
number=0
for source in "$@"; do
  number=$((number + 1))
  "$program" export "$source" --format harbor --output "$folder/service$number"
  "$program" export "$source" --format harbor --output "$folder/local$number" --judge local --prompt-style modelnew \
    --verifier-image kernelwright:0.1.0 --image registry.example.org/gpu:1 --gpus 1
done
"$venv/bin/python" - "$folder"/service* "$folder"/local* <<'PYTHON'
import sys
import tomllib
import warnings
from pathlib import Path

from harbor.models.task.config import EnvironmentConfig, TaskConfig
from harbor.models.task.task import Task
from harbor.models.task.verifier_mode import resolve_task_verifier_mode, resolve_verifier_environment_definition

warnings.simplefilter("error")  # deprecated keys, and artifacts that overlap
FREE = {"metadata"}  # and every env


def unknown(values, model, place=""):
    """Harbor ignores unknown keys, so they are looked for here."""
    for key, value in values.items():
        field = model.model_fields.get(key)
        if field is None:
            yield place + key
        elif isinstance(value, dict) and key not in FREE and key != "env":
            inner = EnvironmentConfig if key == "environment" else next(
                each for each in (field.annotation, *getattr(field.annotation, "__args__", ())) if hasattr(each, "model_fields"))
            yield from unknown(value, inner, f"{place}{key}.")


checked = 0
for folder in map(Path, sys.argv[1:]):
    for path in sorted(folder.iterdir()):
        assert Task.is_valid_dir(path), path
        task = Task(path)
        values = tomllib.loads((path / "task.toml").read_text(encoding="utf-8"))
        found = list(unknown(values, TaskConfig))
        assert not found, (path, found)
        assert task.name.split("/")[1] == path.name and task.config.artifacts == ["/app/kernel.py"]
        assert resolve_task_verifier_mode(task.config).value == "separate"
        definition = resolve_verifier_environment_definition(task.config, task.paths)
        assert definition.directory.name == "tests" and definition.bundled_tests, path
        assert not task.config.environment.env and "${KERNELWRIGHT" not in task.instruction
        if task.paths.solution_dir.exists():
            assert task.paths.discovered_solve_path, path
        checked += 1
print(f"harbor takes {checked} tasks")
PYTHON
