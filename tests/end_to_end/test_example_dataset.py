"""examples/dataset: the committed rows are those that the program makes, and have the documented form."""
import json
import subprocess
import sys

import jsonschema
import pytest

from . import program

FOLDER = program.ROOT / "examples/dataset"
KINDS = ("fim", "cu2triton", "torch2triton", "trace")


def test_the_committed_files_are_what_the_program_writes(scratch):
    pytest.importorskip("tokenizers", reason="the rows state token counts")
    command = [sys.executable, FOLDER / "build.py", "--check", "--program", program.binary(), "--python", sys.executable]
    process = program.start(command, scratch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    code, stdout, stderr = program.finish(process)
    assert code == 0, stdout + stderr


@pytest.mark.parametrize("kind", KINDS)
def test_rows_have_the_documented_fields_and_our_licence(kind):
    schema = json.loads((program.ROOT / "docs/dataset_row.schema.json").read_text(encoding="utf-8"))
    rows = [json.loads(line) for line in (FOLDER / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()]
    assert rows
    for row in rows:
        jsonschema.validate({key: row[key] for key in row if key not in ("prompt", "completion")}, schema)
        assert row["kind"] == kind and row["licence"]["spdx"] == "Apache-2.0"
        assert row["prompt"] and row["completion"]
