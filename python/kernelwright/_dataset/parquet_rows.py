"""Streams the rows of a Parquet file as JSON lines on standard output.

python parquet_rows.py FILE [--columns a,b] [--count] [--schema] [--head]

Bytes become text (invalid UTF-8 becomes U+FFFD), NaN and infinities become null, dates become ISO text.
--count prints {"rows": N} before the rows. Columns that the file lacks are skipped.
--schema prints one line, {"columns": [...], "rows": N}, and stops; --head prints it before the rows. Exit 2: the
file cannot be read; the last line on standard error gives the reason.
"""
import argparse
import datetime
import decimal
import json
import math
import os
import sys

ROWS_A_BATCH = 64  # KernelBench code columns are small, KernelBook's reach a megabyte a row


def plain(value):
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", errors="replace")
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return plain(float(value))
    return str(value)


def stream(file, columns, out):
    for batch in file.iter_batches(batch_size=ROWS_A_BATCH, columns=columns):
        for row in batch.to_pylist():
            out.write(json.dumps(plain(row), ensure_ascii=True, allow_nan=False))
            out.write("\n")
        out.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--columns")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--schema", action="store_true")
    parser.add_argument("--head", action="store_true")
    options = parser.parse_args()
    try:
        import pyarrow.parquet
    except ImportError:
        print("pyarrow is missing from this Python: install pyarrow, or give JSONL", file=sys.stderr)
        return 2
    try:
        file = pyarrow.parquet.ParquetFile(options.file)
        if options.schema or options.head:
            names = file.schema_arrow.names
            print(json.dumps({"columns": names, "rows": file.metadata.num_rows}))
        if not options.schema:
            if options.count:
                print(json.dumps({"rows": file.metadata.num_rows}))
            stream(file, options.columns.split(",") if options.columns else None, sys.stdout)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has closed its end
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        print(f"not a readable Parquet file: {str(error).splitlines()[0] if str(error) else error!r}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
