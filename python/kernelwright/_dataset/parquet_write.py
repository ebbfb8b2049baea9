"""Writes the rows of a file of JSON lines as Parquet.

python parquet_write.py ROWS.jsonl OUT.parquet

Rows are read twice, in batches: first for the types of all columns, because a column that begins with nulls may hold
text later, then for the rows. OUT appears when it is complete. Exit 2: an error; the last line on standard error gives
the reason.
"""
import json
import os
import sys

ROWS_A_BATCH = 256


def batches(path):
    batch = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                batch.append(json.loads(line))
            if len(batch) == ROWS_A_BATCH:
                yield batch
                batch = []
    if batch:
        yield batch


# Numeric and boolean columns in which every row may be null; all other columns that may be null hold text.
NUMBERS = {"speedup", "rejected_speedup"}
TRUTHS = {"correctness", "counts", "rejected_correctness"}


def filled(name, kind, pa):
    """The type, also where all values are null: two files whose types differ cannot be loaded together."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, filled(each.name, each.type, pa)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(filled(name, kind.value_type, pa))
    if not pa.types.is_null(kind):
        return kind
    return pa.float64() if name in NUMBERS else pa.bool_() if name in TRUTHS else pa.string()


def schema_of(path, pa):
    schema = None
    for batch in batches(path):
        found = pa.Table.from_pylist(batch).schema
        # from_pylist takes its columns from the first row, and every row has all of them.
        schema = found if schema is None else pa.unify_schemas([schema, found], promote_options="permissive")
    if schema is None:
        raise ValueError(f"{path} has no rows")
    return pa.schema([pa.field(each.name, filled(each.name, each.type, pa)) for each in schema])


def convert(source, target, pa, parquet):
    schema = schema_of(source, pa)
    neighbour = f"{target}.{os.getpid()}.tmp"
    try:
        with parquet.ParquetWriter(neighbour, schema, compression="zstd") as writer:
            for batch in batches(source):
                writer.write_table(pa.Table.from_pylist(batch, schema=schema))
        os.replace(neighbour, target)
    finally:
        if os.path.exists(neighbour):
            os.remove(neighbour)


def main():
    if len(sys.argv) != 3:
        print("usage: parquet_write.py ROWS.jsonl OUT.parquet", file=sys.stderr)
        return 2
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        print("pyarrow is missing from this Python: install pyarrow, or write JSONL", file=sys.stderr)
        return 2
    try:
        convert(sys.argv[1], sys.argv[2], pyarrow, pyarrow.parquet)
    except (OSError, ValueError, TypeError, pyarrow.ArrowException) as error:
        print(f"cannot write {sys.argv[2]}: {error}".replace("\n", " "), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
