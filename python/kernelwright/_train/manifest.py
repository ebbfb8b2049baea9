"""The manifest of an adapter's training data: every row with its hash, and the source files."""
import datetime
import hashlib
import json

from . import json_file
from .events import TrainError

SCHEMA = "kernelwright.training/1"
NAME = "training_manifest.json"


def canonical(value):
    """JSON with sorted keys and without spaces."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def row_hash(row):
    """SHA-256 in hex: of a pair over prompt, NUL and completion; of messages over their canonical JSON, nulls left out;
    of a text over the text."""
    if row.kind == "pair":
        text = f"{row.prompt}\0{row.completion}"
    else:
        text = row.text if row.kind == "text" else canonical(row.messages)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def entry(row):
    """The row's line in the manifest. Facts that the row lacks are null."""
    return {"id": row.id, "task_id": row.task_id, "licence": row.licence, "sha256": row_hash(row)}


def file_hash(path):
    """SHA-256 of a file's bytes."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise TrainError(f"cannot read {path}: {error.strerror or error}", "give a file that can be read") from None


def files(paths, rows_by_file):
    """The files' part of a manifest."""
    return [{"path": str(path), "sha256": file_hash(path), "rows": rows_by_file.get(str(path), 0)} for path in paths]


def make(*, program, base_model, recipe, files, rows, counts, validation=None):
    """The manifest. `rows`: entry() of each learnt row, in the order of the data. `validation`: files and rows of those by
    which the step was chosen."""
    created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {"schema": SCHEMA, "program": program, "base_model": base_model, "created": created, "recipe": recipe,
            "files": files, "rows": rows, "counts": counts} | ({"validation": validation} if validation else {})


def write(path, manifest):
    """Writes the manifest; the file appears when it is complete."""
    try:
        json_file.write(path, manifest)
    except OSError as error:
        raise TrainError(f"cannot write {path}: {error.strerror or error}", "make room, or give another --output") from None
