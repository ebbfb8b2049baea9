"""Reads training rows from CSV, JSON lines, JSON and Parquet, one at a time.

`read(files)` yields a columns.Row for each record, in order. A row that cannot be read is an error that names the file
and the row, because training on less data than asked for must not go unnoticed. A data set has `X.meta.jsonl` beside
`X.csv`, with a line for each row: ids, tasks and licences are read from there.
"""
import contextlib
import zlib
from pathlib import Path

from .columns import BadRow, Row, describe, row_of
from .events import TrainError
from .records import Place, json_lines, look, records

__all__ = ["Row", "look", "read"]


def beside(path):
    """The lines of `X.meta.jsonl` for an `X.csv`, or None."""
    meta = Path(path).with_suffix(".meta.jsonl")
    if Path(path).suffix.lower() != ".csv" or not meta.is_file():
        return None
    return meta


def with_metadata(rows, place):
    """Rows with the metadata of the file beside them. Unequal numbers of rows mean that it belongs to other rows."""
    remedy = "the two files belong together: take both from one build, or move the metadata away"
    meta = place.path
    with open(meta, "rb") as stream:
        known = json_lines(stream, place)
        for row in rows:
            record = next(known, None)
            if not isinstance(record, dict):
                raise TrainError(f"{meta} has no line for row {row.line} of {row.file}", remedy)
            yield describe(row, record)
        if next(known, None) is not None:
            raise TrainError(f"{meta} has more lines than {Path(meta).name.removesuffix('.meta.jsonl')}.csv has rows", remedy)


@contextlib.contextmanager
def named(place):
    """Turns errors of reading into errors with a remedy."""
    try:
        yield
    except BadRow as error:
        raise place.error(error) from None
    except (EOFError, zlib.error) as error:
        raise place.error(f"the file ends early or is damaged ({error})") from None
    except OSError as error:
        raise TrainError(f"cannot read {place.path}: {error.strerror or error}", "give a file that can be read") from None


def rows_of(path):
    place, some = Place(path), False
    with named(place):
        for record in records(path, place):
            try:
                row = row_of(record)
            except TrainError as error:
                raise TrainError(f"{place.path}, row {place.line}: {error.what}", error.remedy) from None
            row.file, row.line = place.path, place.line
            some = True
            yield row
    if not some:
        raise TrainError(f"{path} has no rows", "give a file with at least one row to learn from")


def read(files):
    """All rows of all files, in order. Raises events.TrainError, which names the file and the row."""
    for path in files:
        rows, meta = rows_of(path), beside(path)
        if meta is None:
            yield from rows
            continue
        place = Place(meta)
        with named(place):
            yield from with_metadata(rows, place)
