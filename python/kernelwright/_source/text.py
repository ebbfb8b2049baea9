"""Source text of running functions and classes: which lines define them, which names these need, where a name is bound.

Reads text and compares compiled code; it executes nothing and imports nothing.
"""
from __future__ import annotations

import __future__

import ast
import builtins
import io
import linecache
import symtable
import tokenize
from collections.abc import Iterator
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any, NamedTuple

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COMPREHENSIONS = ("listcomp", "setcomp", "dictcomp", "genexpr")
ANNOTATIONS = __future__.annotations.compiler_flag
TEXTS_KEPT = 512  # parsed files and cells


Found = tuple[Definition, tuple[ast.AST, ...]]
"""A definition, and the definitions around it, the outermost first."""


class Names(NamedTuple):
    """Global names of a definition: those that its execution needs, and those that calls of it need."""

    early: frozenset[str]
    late: frozenset[str]


class Assignments(NamedTuple):
    """The statements at the top level that bind a name: `NAME = value`, and others, such as those in a loop or a branch."""

    plain: list[ast.stmt]
    others: list[ast.stmt]


class Text:
    """The text of a file or of a notebook's cell, with its definitions and bindings by name."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.tree = ast.parse(text)
        self.lines = _lines(text)
        self._codes: dict[int, dict[tuple[str, int], list[CodeType]]] = {}

    @cached_property
    def definitions(self) -> dict[str, list[Found]]:
        found: dict[str, list[Found]] = {}
        for node, around in self._definitions():
            found.setdefault(node.name, []).append((node, around))
        return found

    @cached_property
    def imports(self) -> dict[str, list[ast.Import | ast.ImportFrom]]:
        """The imports at the top level by the name that they bind, in the order of the lines; "*" for `from m import *`."""
        found: dict[str, list[ast.Import | ast.ImportFrom]] = {}
        for node in sorted(self._top_level(), key=lambda node: node.lineno):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    found.setdefault(bound_name(alias), []).append(node)
        return found

    @cached_property
    def assignments(self) -> dict[str, Assignments]:
        """The bindings at the top level by name, except imports."""
        found: dict[str, Assignments] = {}
        whole = {id(each) for each in self.tree.body}
        for node in self._top_level():
            plain = _plain_name(node) if id(node) in whole else None
            for name in _bound_names(node):
                here = found.setdefault(name, Assignments([], []))
                (here.plain if name == plain else here.others).append(node)
        return found

    def codes(self, flags: int) -> dict[tuple[str, int], list[CodeType]]:
        """The code of all functions and classes by name and line, compiled as a whole: an import changes calls elsewhere."""
        if flags not in self._codes:
            flags_of_cells = flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            queue: list[Any] = [compile(self.text, self.file, "exec", flags=flags_of_cells, dont_inherit=True)]
            found = self._codes.setdefault(flags, {})
            while queue:
                for each in queue.pop().co_consts:
                    if isinstance(each, CodeType):
                        found.setdefault((each.co_name, each.co_firstlineno), []).append(each)
                        queue.append(each)
        return self._codes[flags]

    def _top_level(self) -> Iterator[ast.stmt]:
        """The statements outside of functions and classes, those of `if`, `try`, `with` and loops included."""
        queue: list[ast.AST] = [self.tree]
        while queue:
            for child in ast.iter_child_nodes(queue.pop()):
                if isinstance(child, ast.stmt):
                    yield child
                if not isinstance(child, (*_DEFINITIONS, ast.expr)):
                    queue.append(child)

    def _definitions(self) -> Iterator[tuple[Definition, tuple[ast.AST, ...]]]:
        """Each definition with the definitions around it, the outermost first."""
        queue: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(self.tree, ())]
        while queue:
            node, around = queue.pop()
            inner = (*around, node) if isinstance(node, _DEFINITIONS) else around
            for child in ast.iter_child_nodes(node):
                if isinstance(child, _DEFINITIONS):
                    yield child, inner
                queue.append((child, inner))

    def segment(self, node: ast.AST) -> str:
        """The text of an expression."""
        return ast.get_source_segment(self.text, node) or ast.unparse(node)

    def definition_text(self, node: Definition) -> str:
        """The lines of a definition with its decorators, moved to the left margin."""
        lines = self.lines[first_line(node) - 1:node.end_lineno]
        indent = len(lines[0]) - len(lines[0].lstrip(" \t\f"))
        text = "".join(lines)
        return _dedented(text, lines[0][:indent]).rstrip() + "\n" if indent else text.rstrip() + "\n"


@lru_cache(TEXTS_KEPT)
def text_of(file: str, text: str) -> Text:
    """Raises SyntaxError, and ValueError for null bytes."""
    return Text(file, text)


def read_text(file: str, namespace: dict[str, Any] | None = None) -> str:
    """The text of a file or a cell as Python's tracebacks find it; empty where there is none."""
    linecache.checkcache(file)
    lines = linecache.getlines(file, namespace)
    known = _read.get(file)
    if known is None or known[0] is not lines:
        if len(_read) >= TEXTS_KEPT:
            _read.clear()
        known = _read[file] = (lines, "".join(lines))
    return known[1]


_read: dict[str, tuple[list[str], str]] = {}


def first_line(node: Definition) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def function_node(text: Text, code: CodeType) -> Found | None:
    """The definition that this code was compiled from, and the definitions around it."""
    for node, around in text.definitions.get(code.co_name, []):
        if not isinstance(node, ast.ClassDef) and first_line(node) == code.co_firstlineno:
            return node, around
    return None


def class_nodes(text: Text, name: str) -> list[Found]:
    return [each for each in text.definitions.get(name, []) if isinstance(each[0], ast.ClassDef)]


def is_compiled_from(code: CodeType, text: Text) -> bool:
    """Whether the text compiles to this code: False after the file was edited."""
    made = text.codes(code.co_flags & ANNOTATIONS).get((code.co_name, code.co_firstlineno), [])
    return any(_same_code(each, code) for each in made)


def _same_code(one: CodeType, other: CodeType) -> bool:
    if (one.co_code, one.co_names, one.co_varnames, len(one.co_consts)) != (
            other.co_code, other.co_names, other.co_varnames, len(other.co_consts)):
        return False
    return all(_same_code(left, right) if isinstance(left, CodeType) and isinstance(right, CodeType)
               else type(left) is type(right) and repr(left) == repr(right)
               for left, right in zip(one.co_consts, other.co_consts, strict=True))


def names_of(text: str) -> Names:
    """The global and builtin names that a definition or a statement refers to."""
    early: set[str] = set()
    late: set[str] = set()
    _gather(symtable.symtable(text, "<source>", "exec"), True, early, late)
    return Names(frozenset(early), frozenset(late))


def _gather(table: symtable.SymbolTable, at_once: bool, early: set[str], late: set[str]) -> None:
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (table.get_type() == "module" or symbol.is_global()):
            (early if at_once else late).add(symbol.get_name())
    for child in table.get_children():
        calls_wait = child.get_type() == "function" and child.get_name() not in _COMPREHENSIONS
        _gather(child, at_once and not calls_wait, early, late)


def without_annotations(text: str) -> str:
    """The same definition for names_of, where `from __future__ import annotations` leaves annotations unevaluated."""
    return ast.unparse(ast.fix_missing_locations(_Unannotated().visit(ast.parse(text))))


class _Unannotated(ast.NodeTransformer):
    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def line_of_name(node: ast.AST, name: str) -> int:
    """The first line of a definition that names it; its own first line where none does."""
    lines = [each.lineno for each in ast.walk(node) if isinstance(each, ast.Name) and each.id == name]
    return min(lines) if lines else getattr(node, "lineno", 0)


def bound_within(around: tuple[ast.AST, ...]) -> set[str]:
    """The names that functions around a definition bind: their parameters, variables and definitions."""
    found: set[str] = set()
    for function in around:
        if isinstance(function, ast.ClassDef):
            continue
        for node in ast.walk(function):
            if node is function:
                continue
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            elif isinstance(node, _DEFINITIONS):
                found.add(node.name)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                found |= {bound_name(each) for each in node.names}
    return found


def bound_in_class(node: ast.ClassDef) -> set[str]:
    """The names that a class's body binds."""
    found: set[str] = set()
    queue: list[ast.AST] = [*node.body]
    while queue:
        each = queue.pop()
        if isinstance(each, (ast.Import, ast.ImportFrom)):
            found |= {bound_name(alias) for alias in each.names}
        elif isinstance(each, _DEFINITIONS):
            found.add(each.name)
            continue
        elif isinstance(each, ast.ExceptHandler) and each.name:
            found.add(each.name)
        elif isinstance(each, ast.Name) and isinstance(each.ctx, (ast.Store, ast.Del)):
            found.add(each.id)
        queue += ast.iter_child_nodes(each)
    return found


def class_assignments(node: ast.ClassDef) -> list[tuple[str, ast.expr]]:
    """The names that a class's body assigns once, by `NAME = value`, and their values."""
    names = [each.id for part in node.body if not isinstance(part, _DEFINITIONS) for each in ast.walk(part)
             if isinstance(each, ast.Name) and isinstance(each.ctx, (ast.Store, ast.Del))]
    names += [part.name for part in node.body if isinstance(part, _DEFINITIONS)]
    plain = [(name, each.value) for each in node.body if isinstance(each, (ast.Assign, ast.AnnAssign))
             and (name := _plain_name(each)) and each.value]
    return [(name, value) for name, value in plain if names.count(name) == 1]


def mangled(name: str, owner: str) -> str:
    """The name of a class's attribute as the class stores it."""
    is_private = name.startswith("__") and not name.endswith("__")
    return f"_{owner.lstrip('_')}{name}" if is_private and owner.strip("_") else name


def bound_name(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def imports_of(text: Text, name: str) -> list[ast.Import | ast.ImportFrom]:
    """The imports at the top level that bind a name, or that may, in the order of their lines."""
    return sorted([*text.imports.get(name, []), *text.imports.get("*", [])], key=lambda node: node.lineno)


def _plain_name(node: ast.stmt) -> str | None:
    """The name of `NAME = value` and `NAME: type = value`."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return node.target.id if isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name) else None


def _bound_names(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return set()
    if isinstance(node, _DEFINITIONS):
        return {node.name}
    nested = [child for child in ast.iter_child_nodes(node) if not isinstance(child, (ast.stmt, ast.ExceptHandler))]
    return {each.id for child in nested for each in ast.walk(child)
            if isinstance(each, ast.Name) and isinstance(each.ctx, (ast.Store, ast.Del))}


def is_builtin(name: str) -> bool:
    return hasattr(builtins, name)


def _dedented(text: str, indent: str) -> str:
    """Without this indent, where a line does not continue a string of several lines."""
    inside: set[int] = set()
    try:
        starts: list[int] = []
        # An indented definition is tokens after an INDENT; its end is not checked.
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = tokenize.tok_name[token.type]
            if kind == "STRING":
                inside.update(range(token.start[0] + 1, token.end[0] + 1))
            elif kind in ("FSTRING_START", "TSTRING_START"):
                starts.append(token.start[0])
            elif kind in ("FSTRING_END", "TSTRING_END"):
                inside.update(range(starts.pop() + 1, token.end[0] + 1))
    except (tokenize.TokenError, IndentationError):
        pass
    return "".join(line if number in inside else line.removeprefix(indent)
                   for number, line in enumerate(_lines(text), 1))


def _lines(text: str) -> list[str]:
    """Lines as Python counts them: a form feed or U+2028 ends none."""
    return [f"{line}\n" for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
