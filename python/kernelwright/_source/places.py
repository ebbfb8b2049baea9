"""Where the names of a function or class are bound: namespaces, their files and cells, and places in them for messages."""
from __future__ import annotations

import ast
import importlib.machinery
import os
import sys
import sysconfig
import types
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from .text import Definition, Text, bound_name, first_line, imports_of, read_text, text_of
from .values import unwrapped

_ABSENT = object()

Scope = dict[str, Any]


class NotSelfContained(ValueError):
    """A function or class cannot be turned into source that stands alone. `name` is the name that cannot be carried, `file`
    and `line` are its place; the text says what to do."""

    def __init__(self, message: str, name: str, file: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.name, self.file, self.line = name, file, line

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.name, self.file, self.line)


class Place(NamedTuple):
    """Where a name is used."""

    file: str
    line: int
    scope: Scope

    def __str__(self) -> str:
        cell = self.scope.get("get_ipython")
        try:  # IPython gives each cell a file name of its own
            kind, number = cell().compile.format_code_name(self.file)  # type: ignore[misc]
            return f"{kind} {number}, line {self.line}".removeprefix("Cell ").replace("In[", "cell In[")
        except Exception:  # another version of IPython, or none
            return f"{self.file}:{self.line}"


def refuse_stale(name: str, place: Place) -> NoReturn:
    refuse(f"the text there is not what runs as {name}: the file changed after its import, or an import hook rewrote it. "
           "Import it again, or pass its path", name, place)


def refuse(message: str, name: str, place: Place | None = None) -> NoReturn:
    if place is None:
        raise NotSelfContained(message, name)
    raise NotSelfContained(f"{place}: {message}", name, place.file, place.line)


def functions_of(core: Any) -> list[types.FunctionType]:
    """A function itself; the functions that a class defines in its body."""
    if isinstance(core, types.FunctionType):
        return [core]
    found: list[Any] = []
    for value in vars(core).values():
        if isinstance(value, property):
            found += [each for each in (value.fget, value.fset, value.fdel) if each is not None]
        else:
            found.append(value.__func__ if isinstance(value, (staticmethod, classmethod)) else value)
    cores = [unwrapped(each) for each in found]
    return [each for each in cores if isinstance(each, types.FunctionType) and each.__module__ == core.__module__
            and each.__qualname__.rpartition(".")[0] == core.__qualname__
            and each.__code__.co_filename != "<string>"]  # those of dataclasses and named tuples


def scope_of(core: Any, used_in: Scope) -> Scope:
    """The namespace in which a function or class was defined; `used_in` is one that refers to it."""
    for function in functions_of(core):
        return function.__globals__
    if used_in.get(core.__name__) is core and used_in.get("__name__") == core.__module__:
        return used_in
    return vars(sys.modules.get(core.__module__, types.ModuleType("")))


def texts_of(scope: Scope, file: str | None = None) -> Iterator[Text]:
    """The texts that were executed in a scope: the cells of a notebook in the order of their execution, or a file."""
    cells = scope.get("_ih")
    if "get_ipython" in scope and isinstance(cells, list):
        sources = [(f"cell {number}", str(cell)) for number, cell in enumerate(cells) if cell]
    else:
        files = dict.fromkeys(str(each) for each in (scope.get("__file__"), file) if each)
        sources = [(each, read_text(each, scope)) for each in files]
    for each, text in sources:
        try:
            yield text_of(each, text)
        except (SyntaxError, ValueError):
            continue  # a cell that failed


def class_texts(core: type, scope: Scope) -> Iterator[Text]:
    functions = functions_of(core)
    files = dict.fromkeys(each.__code__.co_filename for each in functions)
    if not files:
        yield from texts_of(scope)
    for file in files:
        try:
            yield text_of(file, read_text(file, scope))
        except (SyntaxError, ValueError):
            continue


def is_class_there(core: type, text: Text, node: Definition) -> bool:
    lines = [each.__code__.co_firstlineno for each in functions_of(core) if each.__code__.co_filename == text.file]
    return all(first_line(node) <= line <= (node.end_lineno or 0) for line in lines)


def parsed(file: str, scope: Scope, name: str, line: int) -> Text:
    source = read_text(file, scope)
    place = Place(file, line, scope)
    if not source:
        refuse(f"Python keeps no source of {name}: it was defined in interactive input or by exec. Define it in a file "
               "or a notebook, or pass its source as text", name, place)
    try:
        return text_of(file, source)
    except (SyntaxError, ValueError) as error:
        refuse(f"the source of {name} does not parse: {error}", name, place)


def assignment_of(name: str, scope: Scope, place: Place) -> tuple[Text, ast.Assign | ast.AnnAssign] | None:
    """The one assignment of a name; of a notebook that of the last cell that binds it."""
    for text in reversed(list(texts_of(scope, place.file))):
        if found := text.assignments.get(name):
            only = found.plain[0] if len(found.plain) == 1 and not found.others else None
            return (text, only) if isinstance(only, (ast.Assign, ast.AnnAssign)) else None
    return None


def home_of(name: str, value: Any, scope: Scope, place: Place) -> tuple[types.ModuleType, str] | None:
    """The module from which a name was imported, and its name there."""
    for text in reversed(list(texts_of(scope, place.file))):
        for node in reversed(imports_of(text, name)):
            if not isinstance(node, ast.ImportFrom):
                continue
            for alias in node.names:
                wanted = name if alias.name == "*" else alias.name
                module = sys.modules.get(_absolute(node, scope))
                if (alias.name == "*" or bound_name(alias) == name) and getattr(module, wanted, _ABSENT) is value and module:
                    return module, wanted
    return None


def _absolute(node: ast.ImportFrom, scope: Scope) -> str:
    if not node.level:
        return node.module or ""
    package = str(scope.get("__package__") or "").split(".")
    base = package[:len(package) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


def is_package(top: str) -> bool:
    module = sys.modules.get(top)
    places = [getattr(module, "__file__", None), *list(getattr(module, "__path__", []))] if module else []
    if module is None:
        try:
            spec = importlib.machinery.PathFinder.find_spec(top)
        except (ImportError, ValueError):
            spec = None
        if spec is None:  # the verifier's Python may have it; if not, the verdict says so
            return True
        places = [spec.origin, *(spec.submodule_search_locations or [])]
    known = [str(each) for each in places if each and each not in ("built-in", "frozen")]
    if not known:
        return True
    folders = {os.path.realpath(sysconfig.get_path(each)) for each in ("stdlib", "platstdlib")}
    return any("site-packages" in each.split(os.sep) or "dist-packages" in each.split(os.sep)
               or os.path.realpath(each).startswith(tuple(f"{folder}{os.sep}" for folder in folders)) for each in known)


def label_of(scope: Scope) -> str:
    return "the notebook" if "_ih" in scope else str(scope.get("__name__", "its module"))
