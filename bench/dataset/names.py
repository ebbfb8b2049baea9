#!/usr/bin/env python3
"""Measures the rows of a data set that `kernelwright dataset build` wrote: their texts, names and lengths.

names.py [--list N] [--limit TOKENS] FOLDER ...

The search is independent of the program's: it parses each row with Python's own parser, and finds the names that
nothing in the row defines with Python's own symbol tables. Of a hole it tells statements before the kernel (the
prelude), the kernel, and statements after it (the launcher). A name that the whole kernel binds is `hidden`: the
statement that binds it is one of those that `# ...` stands for.
"""
import argparse
import ast
import builtins
import collections
import json
import statistics
import symtable
import textwrap
from pathlib import Path

from split import MIDDLE, PREFIX, SUFFIX, code_of, lines

KINDS = ("fim", "torch2triton", "cu2triton", "trace")
KNOWN = set(dir(builtins)) | {"__name__", "__file__", "__doc__", "__builtins__", "__package__", "__spec__"}


def tables(table):
    yield table
    for child in table.get_children():
        yield from tables(child)


def defined(tree):
    """Names that the statements bind at module level."""
    top = symtable.symtable(ast.unparse(tree), "row", "exec")
    names = {symbol.get_name() for symbol in top.get_symbols()
             if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()}
    for table in tables(top):
        names |= {symbol.get_name() for symbol in table.get_symbols()
                  if symbol.is_declared_global() and symbol.is_assigned()}
    return names


def used(tree):
    """Names that the statements look for at module level, from any depth."""
    top = symtable.symtable(ast.unparse(tree), "row", "exec")
    names = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    for table in tables(top):
        names |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced() and symbol.is_global()}
    return names


class WithoutBodies(ast.NodeTransformer):
    """What Python evaluates where it meets a definition: decorators, defaults, annotations."""
    def visit_FunctionDef(self, node):
        node.body = [ast.Pass()]
        return node

    def visit_Lambda(self, node):
        return ast.Constant(0)


def first_line(statement):
    return min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", []))])


def parts_of_hole(row):
    """The text before the hole, as the code has it."""
    prompt = row["prompt"]
    if not prompt.endswith(MIDDLE):
        return prompt
    first, second = prompt.removesuffix(MIDDLE).split(SUFFIX if prompt.startswith(PREFIX) else PREFIX)
    return first.removeprefix(PREFIX) if prompt.startswith(PREFIX) else second


def is_relative(statement):
    return any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in ast.walk(statement))


def place(row, statement, kernel):
    if row["kind"] != "fim":
        return "completion"
    return "prelude" if statement is not kernel and first_line(statement) < first_line(kernel) else (
        "kernel" if statement is kernel else "launcher")


def kernel_of(row, tree):
    if row["kind"] != "fim":
        return tree.body[-1]
    line = parts_of_hole(row).count("\n") + 1
    around = [each for each in tree.body if first_line(each) <= line]
    return around[-1] if around else tree.body[0]


def bound(text):
    """Names that the function binds anywhere."""
    indent = min((len(line) - len(line.lstrip()) for line in text.splitlines()[1:] if line.startswith((" ", "def", "@"))),
                 default=0)
    try:
        tree = ast.parse(textwrap.dedent(" " * indent + text))
    except SyntaxError:
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def faults(row, hidden=frozenset()):
    """(place, fault, name) of each fault; None where the row does not parse. `hidden`: names that the kernel binds."""
    code = code_of(row)
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return None
    known = defined(tree) | KNOWN
    if any(alias.name == "*" for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names):
        return []
    kernel, so_far, found = kernel_of(row, tree), set(KNOWN), []
    for statement in tree.body:
        where = place(row, statement, kernel)
        alone = ast.Module([statement], [])
        found += [(where, "hidden" if where == "kernel" and name in hidden else "undefined", name)
                  for name in sorted(used(alone) - known)]
        if is_relative(statement):
            found.append((where, "relative import", ast.unparse(statement)[:80]))
        at_once = WithoutBodies().visit(ast.parse(ast.unparse(alone)))
        so_far |= defined(alone)
        found += [(where, "too early", name) for name in sorted((used(at_once) & known) - so_far)]
    return found


def parts_shown(row):
    try:
        tree = ast.parse(code_of(row))
    except (SyntaxError, ValueError):
        return collections.Counter()
    kernel = kernel_of(row, tree)
    return collections.Counter(place(row, statement, kernel) for statement in tree.body)


def quantiles(numbers):
    if len(numbers) < 2:
        return numbers
    cuts = statistics.quantiles(numbers, n=100, method="inclusive")
    return {"median": cuts[49], "90%": cuts[89], "99%": cuts[98], "largest": max(numbers)}


def measured(folder, limit, most_listed):
    rows = [row for kind in KINDS for row in lines(folder / f"{kind}.jsonl")]
    python = [row for row in rows if row["kind"] != "trace" and not (row.get("block") or {}).get("language") == "cuda"]
    holes = [row for row in python if row["kind"] == "fim"]
    kernels = {unit["id"]: unit["text"] for path in (folder / ".state").glob("sources/*.units.jsonl")
               for unit in lines(path)}
    found = {row["id"]: faults(row, bound(kernels.get(row["unit"], ""))) for row in python}
    by_place = collections.defaultdict(set)
    names = collections.defaultdict(collections.Counter)
    for row in python:
        for where, fault, name in found[row["id"]] or []:
            by_place[f"{fault}, {where}"].add(row["id"])
            names[f"{fault}, {where}"][name] += 1
    shown = [parts_shown(row) for row in holes]
    lengths = [row["tokens"] for row in rows if row.get("tokens")]
    answers = [len(row["completion"]) for row in rows]
    result = {"rows": len(rows), "by kind": collections.Counter(row["kind"] for row in rows),
              "by hole": collections.Counter(row["hole"]["node"] for row in holes),
              "targets": collections.Counter(row.get("target") for row in rows),
              "do not parse": sum(each is None for each in found.values()),
              "rows with a launcher": sum(each["launcher"] > 0 for each in shown),
              "rows with a prelude": sum(each["prelude"] > 0 for each in shown),
              "rows with a fault": sum(any(fault != "hidden" for _, fault, _ in each or []) for each in found.values()),
              "rows by fault": {key: len(ids) for key, ids in sorted(by_place.items())},
              "names": {key: dict(counts.most_common(most_listed)) for key, counts in sorted(names.items())},
              "tokens": quantiles(lengths), "characters of completions": quantiles(answers)}
    if lengths:
        result["share within the limit"] = round(sum(each <= limit for each in lengths) / len(lengths), 4)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER", type=Path)
    parser.add_argument("--list", type=int, default=12, help="names listed of each fault")
    parser.add_argument("--limit", type=int, default=1024, help="tokens of a row")
    args = parser.parse_args()
    for folder in args.folders:
        print(json.dumps({"folder": str(folder), **measured(folder, args.limit, args.list)}, indent=1))


if __name__ == "__main__":
    main()
