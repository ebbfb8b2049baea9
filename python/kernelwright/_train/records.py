"""Reads records of files, one at a time: CSV, JSON lines, JSON, Parquet."""
import csv
import gzip
import json
from pathlib import Path

from .columns import BadRow
from .events import TrainError

ROW_BYTES = 64 << 20
LIST_BYTES = 512 << 20
BATCH_ROWS = 64
ENDINGS = (".csv", ".jsonl", ".ndjson", ".jsonl.gz", ".json", ".parquet")
MARK = b"\xef\xbb\xbf"


class Place:
    """The file that is being read, and the position in it."""

    def __init__(self, path):
        self.path = str(path)
        self.line = 0

    def error(self, why):
        where = f"{self.path}, row {self.line}" if self.line else self.path
        return TrainError(f"{where}: {why}", "mend or remove it, and start again")


def lines_of(stream, place):
    """Lines as text, with their ends. One that is too long is never held in memory."""
    first = True
    while line := stream.readline(ROW_BYTES + 1):
        if len(line) > ROW_BYTES:
            place.line += 1
            raise BadRow(f"it is longer than {ROW_BYTES >> 20} MiB")
        if first:
            line, first = line.removeprefix(MARK), False
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            place.line += 1
            raise BadRow(f"it is not UTF-8 (byte {error.start + 1} of the line)") from None
        yield text


def parsed(text):
    try:
        return json.loads(text)
    except RecursionError:
        raise BadRow("its JSON is nested too deeply") from None
    except ValueError as error:
        raise BadRow(f"it is not JSON ({error})") from None


def json_lines(stream, place):
    for number, text in enumerate(lines_of(stream, place), 1):
        place.line = number
        if text.strip():
            yield parsed(text)


def json_list(stream, place):
    """The objects of one list, or of JSON lines: the first character decides."""
    head = stream.read(4096).removeprefix(MARK).lstrip()
    stream.seek(0)
    if not head.startswith(b"["):
        yield from json_lines(stream, place)
        return
    whole = stream.read(LIST_BYTES + 1)
    if len(whole) > LIST_BYTES:
        raise BadRow(f"a list of more than {LIST_BYTES >> 20} MiB: JSON lines may be longer")
    try:
        listed = parsed(whole.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadRow(f"it is not UTF-8 (byte {error.start + 1})") from None
    del whole
    for place.line, record in enumerate(listed, 1):
        yield record


def csv_records(stream, place):
    """Strictly RFC 4180: an unclosed quote would otherwise make one row of all that follow."""
    csv.field_size_limit(ROW_BYTES)
    reader = csv.reader(lines_of(stream, place), strict=True)
    names = None
    try:
        for fields in reader:
            if not fields:
                continue
            if names is None:
                names = fields
                if len(set(names)) < len(names):
                    raise BadRow("two columns have one name")
                continue
            place.line += 1
            if len(fields) != len(names):
                raise BadRow(f"it has {len(fields)} fields and the first line {len(names)}")
            yield dict(zip(names, fields))
    except csv.Error as error:
        place.line += 1
        raise BadRow(f"it is not CSV ({error}; about line {reader.line_num} of the file)") from None


def parquet_records(path, place):
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise TrainError(f"{path}: pyarrow is missing from this Python", "install pyarrow, or give JSON lines") from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS):
                for record in batch.to_pylist():
                    place.line += 1
                    yield record
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        first = (str(error).splitlines() or [repr(error)])[0]
        raise BadRow(f"it is no readable Parquet file ({first})") from None


def ending_of(path):
    """The suffix that selects the reader of a file. Raises events.TrainError for other files."""
    ending = next((each for each in ENDINGS if Path(path).name.lower().endswith(each)), None)
    if ending is None:
        raise TrainError(f"{path}: its ending is none of {', '.join(ENDINGS)}", "convert it, or rename it")
    if Path(path).exists() and not Path(path).is_file():
        raise TrainError(f"{path} is no regular file", "give a file: it is read more than once")
    return ending


def look(files):
    """Check the files before any is read."""
    for number, path in enumerate(files):
        ending_of(path)
        if path in files[:number]:
            raise TrainError(f"{path} is given twice", "give it once; training.epochs says how often it is learnt from")


def records(path, place):
    ending = ending_of(path)
    if ending == ".parquet":
        yield from parquet_records(path, place)
        return
    reader = {".csv": csv_records, ".json": json_list}.get(ending, json_lines)
    with gzip.open(path) if ending.endswith(".gz") else open(path, "rb") as stream:
        yield from reader(stream, place)
