#!/usr/bin/env python3
"""Extracts every function of the Python files in wheels, sdists and folders, a JSON line each: {"text": ...}.

corpus.py SOURCE... --output FILE.jsonl     Equal texts count once. No code is imported or run.
"""
import argparse
import ast
import json
import tarfile
import zipfile
from pathlib import Path


def python_files(source):
    """(name, bytes) of each Python file in an archive or a folder."""
    if source.is_dir():
        for path in sorted(source.rglob("*.py")):
            yield str(path), path.read_bytes()
    elif zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(".py"):
                    yield name, archive.read(name)
    else:
        with tarfile.open(source) as archive:
            for member in archive:
                if member.isfile() and member.name.endswith(".py"):
                    yield member.name, archive.extractfile(member).read()


def functions(source):
    """The source of each function, with its decorators; none of a file that does not parse."""
    try:
        text = source.decode()
        tree = ast.parse(text)
    except (SyntaxError, UnicodeDecodeError, ValueError, RecursionError):
        return
    lines = text.splitlines(keepends=True)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            yield "".join(lines[first - 1:node.end_lineno])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", type=Path)
    parser.add_argument("--output", required=True, type=Path)
    words = parser.parse_args()
    seen = set()
    with words.output.open("w") as out:
        for source in words.sources:
            for _, content in python_files(source):
                for text in functions(content):
                    if text not in seen:
                        seen.add(text)
                        out.write(json.dumps({"text": text}) + "\n")
    print(f"{len(seen)} functions")


if __name__ == "__main__":
    main()
