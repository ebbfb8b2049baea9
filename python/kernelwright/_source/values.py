"""Which objects of this process can be written as source: by their value, or by the statement that made them."""
from __future__ import annotations

import dataclasses
import enum
import math
import re
import types
import typing
from typing import Any

MOST_DEPTH = 20
MOST_ITEMS = 100_000
MOST_WRAPPERS = 100
_SCALARS = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis))
_CONTAINERS = (list, tuple, dict, set, frozenset)
# What describes types, layouts and configurations, and holds no data.
_DESCRIPTIONS = {
    "torch.dtype", "torch.device", "torch.Size", "torch.memory_format", "torch.layout", "triton.runtime.autotuner.Config",
    "triton.language.core.constexpr", "triton.language.core.dtype", "numpy.dtype", "builtins.range", "builtins.slice",
}
_TYPE_MODULES = ("typing", "types")


def type_name(value: Any) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def unwrapped(value: Any, most: int = MOST_WRAPPERS) -> Any:
    """The function or class below decorators that keep it: functools.wraps, functools.lru_cache, triton.jit, triton.autotune.
    Attributes are read from the object's own dict, so that no foreign code runs."""
    for _ in range(most):
        if isinstance(value, type):
            return value
        try:
            fields = object.__getattribute__(value, "__dict__")
        except (AttributeError, TypeError):
            return value
        if not isinstance(fields, dict):
            return value
        if "__wrapped__" in fields:
            value = fields["__wrapped__"]
        elif type(value).__module__.partition(".")[0] == "triton" and "fn" in fields:
            value = fields["fn"]
        else:
            return value
    return value


def is_literal(value: Any) -> bool:
    """A number, a text, None, or a list, tuple, dict or set of such."""
    return _holds_only(value, lambda each: type(each) in _SCALARS, 0, [0])


def _holds_only(value: Any, holds: typing.Callable[[Any], bool], depth: int, count: list[int]) -> bool:
    count[0] += 1
    if depth > MOST_DEPTH or count[0] > MOST_ITEMS:
        return False
    if type(value) not in _CONTAINERS:
        return holds(value)
    items = [*value.keys(), *value.values()] if type(value) is dict else value
    return all(_holds_only(each, holds, depth + 1, count) for each in items)


def literal(value: Any) -> str:
    """The expression of a literal value. Raises ValueError where Python refuses to write a number."""
    if type(value) is float and not math.isfinite(value):
        return f'float("{value}")'
    if type(value) is complex and not (math.isfinite(value.real) and math.isfinite(value.imag)):
        return f"complex({literal(value.real)}, {literal(value.imag)})"
    if type(value) is list:
        return f"[{', '.join(map(literal, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    if type(value) is dict:
        return "{" + ", ".join(f"{literal(key)}: {literal(each)}" for key, each in value.items()) + "}"
    if type(value) in (set, frozenset):
        inner = ", ".join(sorted(map(literal, value)))  # in the same order in every process
        if type(value) is set:
            return f"{{{inner}}}" if value else "set()"
        return f"frozenset({{{inner}}})" if value else "frozenset()"
    return repr(value)


def is_rebuildable(value: Any) -> str | None:
    """None where the statement that made an object makes an equal one in another process; else the object in words."""
    found: list[str] = []

    def holds(each: Any) -> bool:
        why_not = _why_live(each)
        if why_not:
            found.append(why_not)
        return not why_not

    if _holds_only(value, holds, 0, [0]):
        return None
    if not found:
        return f"a {type_name(value)} that is too large"
    return found[0] if type(value) not in _CONTAINERS else f"a {type(value).__name__} with {found[0]}"


def _why_live(value: Any) -> str | None:
    kind = type(value)
    if kind in _SCALARS or isinstance(value, (type, types.ModuleType, enum.Enum, re.Pattern)):
        return None
    if isinstance(value, types.MethodType):
        return None if isinstance(value.__self__, type) else f"a method of a {type_name(value.__self__)}"
    core = unwrapped(value)
    if isinstance(core, types.FunctionType):
        return "a lambda" if core.__code__.co_name == "<lambda>" else None
    if isinstance(value, (types.BuiltinFunctionType, types.GenericAlias, types.UnionType)):
        return None
    if kind.__module__ in _TYPE_MODULES or type_name(value) in _DESCRIPTIONS:
        return None
    if isinstance(value, tuple) and hasattr(kind, "_fields"):  # a named tuple
        return next((why for each in value if (why := is_rebuildable(each))), None)
    if dataclasses.is_dataclass(value):
        fields = [getattr(value, each.name, None) for each in dataclasses.fields(value)]
        return next((f"a {kind.__qualname__} with {why}" for each in fields if (why := is_rebuildable(each))), None)
    return f"a {type_name(value)}"
