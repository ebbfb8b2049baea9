"""Whether an object of this process is still what its expression makes. Nothing of the expression is executed, and no code of
the object is run: what cannot be told without that is told as None."""
from __future__ import annotations

import ast
import dataclasses
import enum
import types
from typing import Any

from .values import is_literal, literal, type_name

_ABSENT = object()
# Their constructors keep each parameter in the field of its name.
_KEEPERS = {"triton.runtime.autotuner.Config", "triton.language.core.constexpr"}


def is_made_by(node: ast.expr, value: Any, scope: dict[str, Any]) -> bool | None:
    """False where the expression makes another value than this one with the present names of the scope; None if unknown."""
    try:
        wanted = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass
    else:
        return _is_same(wanted, value)
    if isinstance(node, (ast.List, ast.Tuple, ast.Dict)):
        return _display(node, value, scope)
    if isinstance(node, (ast.Name, ast.Attribute)):
        found = resolved(node, scope)
        return None if found is _ABSENT else _is_same(found, value)
    if isinstance(node, ast.Call):
        return _call(node, value, scope)
    return None


def resolved(node: ast.expr, scope: dict[str, Any]) -> Any:
    """What a name, an attribute of a module or a member of an enumeration stands for."""
    if isinstance(node, ast.Name):
        return scope.get(node.id, _ABSENT)
    if not isinstance(node, ast.Attribute):
        return _ABSENT
    owner = resolved(node.value, scope)
    if isinstance(owner, types.ModuleType):
        return vars(owner).get(node.attr, _ABSENT)
    return owner._member_map_.get(node.attr, _ABSENT) if isinstance(owner, enum.EnumMeta) else _ABSENT


def _is_same(wanted: Any, value: Any) -> bool:
    if wanted is value:
        return True
    if not is_literal(wanted) or not is_literal(value):
        return False
    try:
        return literal(wanted) == literal(value)
    except ValueError:  # a number of too many digits
        return bool(wanted == value)


def _all(parts: list[bool | None]) -> bool | None:
    return False if False in parts else None if None in parts else True


def _display(node: ast.List | ast.Tuple | ast.Dict, value: Any, scope: dict[str, Any]) -> bool | None:
    kind = {ast.List: list, ast.Tuple: tuple, ast.Dict: dict}[type(node)]
    nodes = [*node.keys, *node.values] if isinstance(node, ast.Dict) else node.elts
    if type(value) is not kind:
        return False
    if any(each is None or isinstance(each, ast.Starred) for each in nodes):
        return None
    items = [*value.keys(), *value.values()] if isinstance(value, dict) else list(value)
    if len(nodes) != len(items):
        return False
    return _all([is_made_by(each, item, scope) for each, item in zip(nodes, items, strict=True) if each is not None])


def _call(node: ast.Call, value: Any, scope: dict[str, Any]) -> bool | None:
    made = resolved(node.func, scope)
    if not isinstance(made, type):
        return None
    init: Any = _constructor(made)
    if init is None:
        return None
    if type(value) is not made:
        return False
    if any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords):
        return None
    code = init.__code__
    names = code.co_varnames[1:code.co_argcount]
    defaults = {**dict(zip(reversed(names), reversed(init.__defaults__ or ()))), **(init.__kwdefaults__ or {})}
    given = {**dict(zip(names, node.args)), **{str(each.arg): each.value for each in node.keywords}}
    fields = _fields(value)
    parts: list[bool | None] = []
    for name, live in fields.items():
        if name in given:
            parts.append(is_made_by(given[name], live, scope))
        elif name in defaults and is_literal(defaults[name]):
            parts.append(_is_same(defaults[name], live))
    return _all(parts)


def _constructor(made: type) -> types.FunctionType | None:
    """The function whose parameters are the fields of the object."""
    init = vars(made).get("__new__" if hasattr(made, "_fields") else "__init__")
    if not isinstance(init, types.FunctionType):
        return None
    if f"{made.__module__}.{made.__qualname__}" in _KEEPERS:
        return init
    is_generated = init.__code__.co_filename.startswith("<string>") or init.__code__.co_filename.startswith("<namedtuple")
    is_plain = dataclasses.is_dataclass(made) and not hasattr(made, "__post_init__")
    return init if is_generated and (is_plain or issubclass(made, tuple)) else None


def _fields(value: Any) -> dict[str, Any]:
    if isinstance(value, tuple):
        return dict(zip(getattr(value, "_fields", ()), value))
    if dataclasses.is_dataclass(value):
        return {each.name: getattr(value, each.name, None) for each in dataclasses.fields(value)}
    try:
        return dict(object.__getattribute__(value, "__dict__"))
    except (AttributeError, TypeError):
        raise TypeError(f"a {type_name(value)} has no fields") from None
