"""Which names of a file or cell its statements change after they are bound: by a store to an attribute or an item, an augmented
assignment, or a method that changes its object. Another name of the same object counts for both."""
from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from .text import TEXTS_KEPT, Text, bound_within

_METHODS = {"append", "appendleft", "extend", "insert", "pop", "popitem", "popleft", "remove", "discard", "clear", "update",
            "setdefault", "add", "sort", "reverse", "move_to_end", "rotate", "difference_update", "intersection_update",
            "symmetric_difference_update", "__setattr__", "__delattr__", "__setitem__", "__delitem__", "__iadd__"}
_VIEWS = {"vars", "enumerate", "reversed", "zip"}
_VIEW_METHODS = {"values", "items", "get"}
_SETTERS = {"setattr", "delattr", "object.__setattr__", "object.__delattr__"}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Change(NamedTuple):
    line: int
    attribute: str | None
    """The attribute of the name through which it is changed; None for the object itself."""


@lru_cache(TEXTS_KEPT)
def changes_of(text: Text) -> dict[str, list[Change]]:
    """The changes by global name."""
    found: dict[str, list[Change]] = {}
    others: dict[str, set[str]] = {}  # another name → names of the object, or of one that it holds
    for node, hidden in _nodes(text.tree, frozenset()):
        for target in _changed(node):
            if (root := _root(target)) and root[0] not in hidden:
                found.setdefault(root[0], []).append(Change(node.lineno, root[1]))
        for name, target in _renamed(node):
            if name not in hidden and (root := _root(target)) and root[0] not in hidden:
                others.setdefault(name, set()).add(root[0])
    queue = list(found)
    while queue:
        name = queue.pop()
        for other in others.get(name, ()):
            if missing := [each for each in found[name] if each not in found.get(other, [])]:
                found.setdefault(other, []).extend(missing)
                queue.append(other)
    return found


def _nodes(node: ast.AST, hidden: frozenset[str]) -> Iterator[tuple[ast.stmt | ast.expr, frozenset[str]]]:
    """Each statement and expression, with the names that the functions around it bind."""
    queue: list[tuple[ast.AST, frozenset[str]]] = [(node, hidden)]
    while queue:
        node, hidden = queue.pop()
        if isinstance(node, (ast.stmt, ast.expr)):
            yield node, hidden
        if isinstance(node, _SCOPES):
            of_module = {name for each in ast.walk(node) if isinstance(each, ast.Global) for name in each.names}
            hidden = hidden | (bound_within((node,)) - of_module)
        queue += [(child, hidden) for child in ast.iter_child_nodes(node)]


def _changed(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions whose object a node changes."""
    if isinstance(node, ast.AugAssign):
        yield node.target.value if isinstance(node.target, ast.Subscript) else node.target
    elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield node if isinstance(node, ast.Attribute) else node.value
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            yield node.func.value
        if node.args and ast.unparse(node.func) in _SETTERS:
            yield node.args[0]


def _renamed(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names that a node gives to an object that an expression reaches."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        for each in ast.walk(node.target):
            if isinstance(each, ast.Name):
                yield each.id, node.iter


def _root(node: ast.expr) -> tuple[str, str | None] | None:
    """The name from which attributes and items lead to an object, and the first attribute."""
    attribute = None
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            attribute = node.attr
            node = node.value
        elif isinstance(node, (ast.Subscript, ast.Starred)):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _VIEWS and node.args:
            node = node.args[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEW_METHODS:
            node = node.func.value
        else:
            return None
    return node.id, attribute
