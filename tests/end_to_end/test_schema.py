"""Outputs against docs/verdict.schema.json."""
import json

import jsonschema
import pytest

from . import program, victims


@pytest.fixture(scope="module")
def validator():
    schema = json.loads((program.ROOT / "docs/verdict.schema.json").read_text(encoding="utf-8"))
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def complaints(validator, verdicts):
    return [f"{verdict.get('id')}: {error.json_path}: {error.message[:200]}"
            for verdict in verdicts for error in validator.iter_errors(verdict)]


def test_the_schema_is_not_idle(validator, sample_run):
    verdict = dict(sample_run.verdicts[0], status="splendid")
    assert complaints(validator, [verdict])
    assert complaints(validator, [{key: value for key, value in verdict.items() if key != "correctness"}])


def test_sample(validator, sample_run):
    assert complaints(validator, sample_run.verdicts) == []


def test_victims(validator, victims_run):
    assert complaints(validator, victims_run.verdicts.values()) == []


def test_verdicts_recorded_on_a_gpu(validator):
    lines = (program.ROOT / "examples/recorded_gpu/verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    verdicts = {verdict["id"]: verdict for verdict in map(json.loads, lines)}
    assert complaints(validator, verdicts.values()) == []
    assert verdicts["pair"]["trust"] == "replay" and verdicts["pair"]["speedup"] > 1


def test_errors_of_the_task(validator, verify, batch):
    row = {"id": "no-model", "reference_code": "import torch\n", "kernel_code": victims.code_of("honest")}
    verdicts = verify("--batch", batch([row])).verdicts
    assert [verdict["status"] for verdict in verdicts] == ["error"]
    assert complaints(validator, verdicts) == []
