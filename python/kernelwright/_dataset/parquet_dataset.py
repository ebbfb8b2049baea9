"""Writes rows of a data set, JSON lines with prompt, completion and metadata, as Parquet.

python -I parquet_dataset.py ROWS.jsonl OUT.parquet

Metadata becomes flat columns (source_name, hole_node, ...), the same with the same types in every file, so that files of
all kinds load alike; docs/dataset_outputs.md lists them. ROWS of - is standard input. OUT appears when it is complete; no
rows give no file. The last line of standard output is {"file", "rows"}. An error is one line,
{"error": {"what", "remedy"}}, and exit 2.
"""
import json
import os
import re
import sys

ROWS_A_GROUP = 1000
TEXT_A_GROUP = 32 << 20  # characters of the lines that make a row group
LONE_SURROGATE = re.compile("[\ud800-\udfff]")

PLACE = [("kind", "text"), ("name", "text"), ("version", "text"), ("commit", "text"), ("sha256", "text"), ("url", "text"),
         ("stars", "int"), ("path", "text"), ("begin", "int"), ("end", "int")]
BLOCK = [("index", "int"), ("language", "text"), ("begin", "int"), ("end", "int"), ("verbatim", "truth")]
LABELS = [("compile", "text"), ("compile_reason", "text"), ("compiled_for", "texts"), ("masked_loads", "truth"),
          ("boundary_check", "truth"), ("shared_memory", "truth"), ("atomics", "truth"), ("autotune", "truth"),
          ("self_contained", "truth"), ("clear_argument_shapes", "truth")]
DIFFICULTY = [("operations", "int"), ("lines", "int"), ("tokens", "int"), ("occurrences", "int"), ("autotune", "truth")]
HOLE = [("node", "text"), ("rendering", "text"), ("region_begin", "int"), ("region_end", "int"), ("middle_begin", "int"),
        ("middle_end", "int")]


def named(prefix, columns):
    return [(f"{prefix}_{name}", kind) for name, kind in columns]


COLUMNS = [("prompt", "text"), ("completion", "text"), ("id", "text"), ("kind", "text"), ("unit", "text"),
           *named("source", PLACE), *named("block", BLOCK), ("licence", "text"), ("licence_evidence", "text"),
           ("renamed_sha1", "text"), ("duplicate_of", "text"), ("cluster", "text"), ("leakage", "leaks"), *LABELS,
           ("target", "text"), ("generator", "text"), ("provenance", "texts"), *named("difficulty", DIFFICULTY),
           ("tokens", "int"), ("split", "text"), *named("hole", HOLE), ("pair_confidence", "number"),
           ("pair_reasons", "texts"), *named("pair_other", PLACE), *named("pair_other_block", BLOCK),
           ("pair_other_licence", "text"), ("pair_other_licence_evidence", "text"), ("verdict", "text")]


class BadRow(Exception):
    pass


def schema(pa):
    span = pa.struct([("begin", pa.int64()), ("end", pa.int64())])
    leak = pa.struct([("relation", pa.string()), ("against", pa.string()), ("row", pa.string()), ("jaccard", pa.float64()),
                      ("containment", pa.float64()), ("renamed", pa.bool_()), ("field", pa.string()),
                      ("spans", pa.list_(span))])
    types = {"text": pa.string(), "int": pa.int64(), "number": pa.float64(), "truth": pa.bool_(),
             "texts": pa.list_(pa.string()), "leaks": pa.list_(leak)}
    return pa.schema([(name, types[kind]) for name, kind in COLUMNS])


def span_of(span):
    begin, end = span
    return {"begin": begin, "end": end}


def spread(target, prefix, value):
    """The object's members as columns; a span as two."""
    for name, item in (value or {}).items():
        if name == "span":
            target[f"{prefix}_begin"], target[f"{prefix}_end"] = item
        elif name in ("region", "middle"):
            target[f"{prefix}_{name}_begin"], target[f"{prefix}_{name}_end"] = item
        else:
            target[f"{prefix}_{name}"] = item


def put_place(target, prefix, block_prefix, place):
    spread(target, prefix, {name: item for name, item in place.items() if name != "block"})
    spread(target, block_prefix, place.get("block"))


def put_licence(target, prefix, licence):
    target[prefix], target[f"{prefix}_evidence"] = licence["spdx"], licence["evidence"]


def flat(row):
    """The row's columns. A member without a column in the schema is an error, so that no data is lost."""
    out = dict(row)
    put_place(out, "source", "block", out.pop("source"))
    put_licence(out, "licence", out.pop("licence"))
    hashes = out.pop("hashes")
    out["renamed_sha1"] = hashes["renamed_sha1"]
    out.update(out.pop("labels"))
    spread(out, "difficulty", out.pop("difficulty"))
    spread(out, "hole", out.pop("hole"))
    if pair := out.pop("pair"):
        out |= {"pair_confidence": pair["confidence"], "pair_reasons": pair["reasons"]}
        put_place(out, "pair_other", "pair_other_block", pair["other"])
        put_licence(out, "pair_other_licence", pair["other_licence"])
    out["leakage"] = [leak | {"spans": [span_of(span) for span in leak["spans"]]} for leak in out["leakage"]]
    if out["verdict"] is not None:
        out["verdict"] = json.dumps(out["verdict"], ensure_ascii=False, sort_keys=True)
    unknown = out.keys() - {name for name, _ in COLUMNS}
    if unknown:
        raise BadRow(f"there is no column for {', '.join(sorted(unknown))}")
    return out


def whole(value):
    """The value with each lone surrogate, which JSON can express and UTF-8 cannot, replaced by U+FFFD."""
    if isinstance(value, str):
        return LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [whole(item) for item in value]
    if isinstance(value, dict):
        return {name: whole(item) for name, item in value.items()}
    return value


def groups(lines):
    """Rows as row groups."""
    group, size = [], 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            group.append(whole(flat(json.loads(line))))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, BadRow) as error:
            raise BadRow(f"row {number} is no row of a data set: {error!r}") from None
        size += len(line)
        if len(group) >= ROWS_A_GROUP or size >= TEXT_A_GROUP:
            yield group
            group, size = [], 0
    if group:
        yield group


def convert(lines, target, pa, parquet):
    """The number of rows written; no rows give no file."""
    columns, rows, writer = schema(pa), 0, None
    neighbour = f"{target}.{os.getpid()}.tmp"
    try:
        for group in groups(lines):
            table = pa.Table.from_pylist(group, schema=columns)
            if writer is None:
                writer = parquet.ParquetWriter(neighbour, columns, compression="zstd")
            writer.write_table(table)
            rows += len(group)
        if writer is not None:
            writer.close()
            os.replace(neighbour, target)
    finally:
        if writer is not None:
            writer.close()
        if os.path.exists(neighbour):
            os.remove(neighbour)
    return rows


def fail(what, remedy):
    print(json.dumps({"error": {"what": what.replace("\n", " "), "remedy": remedy}}))
    return 2


def main():
    if len(sys.argv) != 3:
        print("usage: parquet_dataset.py ROWS.jsonl OUT.parquet", file=sys.stderr)
        return 2
    source, target = sys.argv[1:]
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        return fail(f"pyarrow is missing from {sys.executable} ({error})", "install pyarrow, or do without Parquet files")
    try:
        with sys.stdin if source == "-" else open(source, encoding="utf-8", newline="\n") as lines:
            rows = convert(lines, target, pyarrow, pyarrow.parquet)
    except (OSError, ValueError, BadRow, pyarrow.ArrowException) as error:
        return fail(f"cannot write {target}: {error}", "the CSV and JSON lines files have the same rows")
    print(json.dumps({"file": target if rows else None, "rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
