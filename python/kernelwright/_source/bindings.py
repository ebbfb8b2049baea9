"""Bindings of a name in a file or notebook: which statement bound it last, which ones follow a use at import, and which change
its object. A name that is carried by one of several such statements would be another object than the one that runs."""
from __future__ import annotations

import ast
import types
from collections.abc import Iterable
from typing import Any, NamedTuple

from .changes import changes_of
from .places import Place, Scope, refuse, texts_of
from .sameness import is_made_by
from .text import Definition, Text
from .values import is_literal, unwrapped

_CACHES = {"cache", "device_caches"}  # of compiled kernels
_AGAIN = "run the cells that define it again, in their order, or restart and run all"


class Binding(NamedTuple):
    number: int
    """The text's place in the order of execution."""
    text: Text
    node: ast.stmt


def bindings_of(name: str, scope: Scope, file: str | None) -> list[Binding]:
    """The statements at the top level that bind a name, in the order of execution; of a file, in the order of its lines."""
    found: list[Binding] = []
    for number, text in enumerate(texts_of(scope, file)):
        here = text.assignments.get(name)
        nodes = [*here.plain, *here.others] if here else []
        nodes += text.imports.get(name, [])
        found += [Binding(number, text, node) for node in sorted(nodes, key=lambda node: node.lineno)]
    return found


def own_name(core: Any) -> str:
    """The name that a function or class has in its definition statement."""
    return str(core.__code__.co_name if isinstance(core, types.FunctionType) else core.__name__)


def is_as_defined(value: Any, name: str, scope: Scope, file: str | None) -> bool:
    """Whether an object is what the last definition statement of this name bound."""
    if scope.get(name) is not value:
        return False
    bindings = bindings_of(name, scope, file)
    return not bindings or isinstance(bindings[-1].node, Definition)


def name_of(value: Any, scope: Scope, file: str | None) -> str | None:
    """The name that an assignment at the top level gives to an object."""
    for name, each in scope.items():
        if each is value and not name.startswith("_") and any(
                isinstance(binding.node, (ast.Assign, ast.AnnAssign)) for binding in bindings_of(name, scope, file)[-1:]):
            return name
    return None


def check_unwrapped(value: Any, core: Any, name: str, node: Definition, place: Place, *, is_nested: bool) -> None:
    """Refuses an object that another statement than its definition made."""
    held = place.scope.get(node.name)
    is_other = held is not value and unwrapped(held) is core
    is_rebound = held is value and not is_nested and not is_as_defined(value, node.name, place.scope, place.file)
    if is_rebound or (is_other and (value is not core or node.decorator_list)) or _layers(value) > len(node.decorator_list):
        refuse(f"{name} is {node.name} wrapped at run time, or bound again after its definition: write the wrapper as a "
               f"decorator of `def {node.name}`, or assign it once at the top level to a name of its own", name, place)


def _layers(value: Any) -> int:
    count = 0
    while (inner := unwrapped(value, 1)) is not value:
        value, count = inner, count + 1
    return count


def check_unchanged(name: str, scope: Scope, place: Place, is_definition: bool = False) -> None:
    """Refuses a name whose object a statement changes: its own statement makes the object without the change."""
    for text in texts_of(scope, place.file):
        for change in changes_of(text).get(name, ()):
            about = change.attribute or ""
            if is_definition and (about in _CACHES or (about.startswith("__") and about.endswith("__"))):
                continue
            refuse(f"{name} is changed after its definition, which would be carried without the change: "
                   f"write the final value where {name} is defined", name, Place(text.file, change.line, scope))


def check_early(names: Iterable[str], text: Text, node: Definition | ast.stmt, scope: Scope, *,
                is_nested: bool = False) -> None:
    """Refuses names that a statement evaluated, and that are bound to something else, or changed, after it."""
    texts = [each.text.strip() for each in texts_of(scope, text.file)]
    number = max((at for at, each in enumerate(texts) if each == text.text.strip()), default=-1)
    if is_nested:
        number = -1  # its time is that of a call
    place = Place(text.file, node.lineno, scope)
    for name in sorted(names):
        bindings = bindings_of(name, scope, text.file)
        before = [each for each in bindings if (each.number, each.node.lineno) <= (number, node.end_lineno or node.lineno)]
        after = [ast.dump(each.node) for each in bindings[len(before):] if each.node is not node]
        was = [ast.dump(each.node) for each in before[-1:]]
        if (after and len({*was, *after}) > 1) or _is_bound_otherwise(name, bindings, scope):
            refuse(f"{name} has another value now than when {_label(node)} was executed, which evaluates it: bind {name} once, "
                   f"before it, or {_AGAIN}", name, place)
        for at, each in enumerate(texts_of(scope, text.file)):
            for change in changes_of(each).get(name, ()):
                if not is_nested and (at, change.line) > (number, node.lineno) and change.attribute is None:
                    refuse(f"{name} is changed after {_label(node)} was executed, which evaluates it: give {name} its final "
                           f"value before, or {_AGAIN}", name, Place(each.file, change.line, scope))


def _is_bound_otherwise(name: str, bindings: list[Binding], scope: Scope) -> bool:
    """Whether a constant has another value than its last assignment gave it: by `global`, or from another file."""
    if not bindings or not is_literal(scope.get(name)):
        return False
    last = bindings[-1]
    here = last.text.assignments.get(name)
    if here is None or last.node not in here.plain or not isinstance(last.node, (ast.Assign, ast.AnnAssign)):
        return False
    return last.node.value is not None and is_made_by(last.node.value, scope[name], scope) is False


def _label(node: ast.stmt) -> str:
    return f"the definition of {node.name}" if isinstance(node, Definition) else f"the statement in line {node.lineno}"
