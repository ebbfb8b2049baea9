"""Refusals: what a function or class may not have, to become source that stands alone."""
from __future__ import annotations

import abc
import ast
import enum
import types
from collections.abc import Callable
from typing import Any, NoReturn

from .bindings import check_unwrapped
from .places import Place, functions_of, refuse, refuse_stale
from .sameness import is_made_by
from .text import Definition, Text, bound_in_class, class_assignments, is_compiled_from, line_of_name, mangled
from .values import is_rebuildable, type_name

_ABSENT = object()
_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
REWRITTEN = {"@pytest_ar", "@py_builtins"}


def check_entry(entry: Any, core: Any) -> None:
    name = str(getattr(core, "__name__", None) or type_name(entry))
    if core is not entry and type(entry).__module__.partition(".")[0] == "triton":
        refuse(f"{name} is a Triton kernel: pass the function that allocates the outputs and launches it", name)
    if isinstance(entry, types.MethodType):
        refuse(f"{name} is a method: pass a function at the top level of a module, or a class", name)
    if isinstance(core, (types.FunctionType, type)):
        return
    if type_name(entry) == "functools.partial":
        refuse(f"a functools.partial cannot be carried: write a function that makes the same call ({_callee(entry)})", name)
    if isinstance(entry, types.BuiltinFunctionType):
        refuse(f"{name} is a builtin function without source and parameters: write a function that calls it", name)
    refuse(f"an object of the type {type_name(entry)} cannot be carried: pass a function, a class (of a module its class, not "
           "an instance), source text or a path", name)


def check_definition(value: Any, core: Any, name: str, node: Definition, around: tuple[ast.AST, ...], place: Place) -> None:
    if around and isinstance(around[-1], ast.ClassDef):
        refuse(f"{name} is a method or a class within {around[-1].name}: pass {around[-1].name}, or move it to the top "
               "level", name, place)
    for function in functions_of(core):
        for free in function.__code__.co_freevars:
            if free != "__class__":
                where = Place(place.file, line_of_name(node, free), place.scope)
                refuse(f"{function.__qualname__} uses {free}, a variable of the function around it, which exists in "
                       f"this process only: make {free} a parameter or a constant at the top level"
                        + (". If it is the wrapper of a decorator, let the decorator use functools.wraps"
                           if free in ("fn", "f", "func", "function") else ""), free, where)
        defaults = dict(zip(reversed(_positional(function)), reversed(function.__defaults__ or ())))
        for parameter, default in {**defaults, **(function.__kwdefaults__ or {})}.items():
            if why_not := is_rebuildable(default):
                refuse(f"the default of {function.__qualname__}'s parameter {parameter} is {why_not}, which exists in "
                       f"this process only: {remedy(default)}", parameter, place)
    check_unwrapped(value, core, name, node, place, is_nested=bool(around))


def check_body(node: Definition, place: Place, is_installed: Callable[[str], bool]) -> None:
    """Refuses imports within a definition that the verifier cannot make."""
    for each in ast.walk(node):
        if not isinstance(each, (ast.Import, ast.ImportFrom)):
            continue
        where = Place(place.file, each.lineno, place.scope)
        if isinstance(each, ast.ImportFrom) and each.level:
            dots = "." * each.level + (each.module or "")
            refuse(f"{node.name} has the relative import `from {dots} import ...`, which has no meaning outside of its "
                   "package: import by name at the top level of the file", dots, where)
        names = [each.module or ""] if isinstance(each, ast.ImportFrom) else [alias.name for alias in each.names]
        for name in names:
            if not is_installed(name):
                refuse(f"{node.name} imports {name}, a module of your own, which the verifier cannot import: import the "
                       "functions that you need by name at the top level of the file, so that they are carried", name, where)


def check_is_current(core: Any, text: Text, place: Place) -> None:
    for function in functions_of(core):
        code = function.__code__
        if code.co_filename == text.file and not _is_rewritten(code) and not is_compiled_from(code, text):
            refuse_stale(function.__qualname__, Place(text.file, code.co_firstlineno, place.scope))


def check_values(core: Any, node: Definition, place: Place) -> None:
    """Refuses a function whose default arguments, and a class whose attributes, are not those of its text."""
    if isinstance(node, ast.ClassDef):
        _check_attributes(core, node, place)
        return
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(positional), reversed(arguments.defaults)),
             *((each, default) for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults) if default)]
    live = {**dict(zip(reversed(_positional(core)), reversed(core.__defaults__ or ()))), **(core.__kwdefaults__ or {})}
    for parameter, default in pairs:
        if parameter.arg not in live or is_made_by(default, live[parameter.arg], place.scope) is False:
            refuse(f"the default of {node.name}'s parameter {parameter.arg} is not what its text gives now: the file or a "
                   "name in the default changed after the definition, or the default was changed. Run the definition again, "
                   "or write the value itself", parameter.arg, Place(place.file, default.lineno, place.scope))
    if len(live) > len(pairs):
        refuse(f"the defaults of {node.name} were set after its definition: write them in `def {node.name}`", node.name, place)


def _check_attributes(core: type, node: ast.ClassDef, place: Place) -> None:
    if not (type(core) is type or isinstance(core, (abc.ABCMeta, enum.EnumMeta))):
        return  # the metaclass makes the attributes
    scope = {name: each for name, each in place.scope.items() if name not in bound_in_class(node)}
    live = dict(vars(core))
    for name, value in class_assignments(node):
        stored = live.get(mangled(name, node.name), _ABSENT)
        where = Place(place.file, value.lineno, place.scope)
        if stored is _ABSENT:
            if not node.decorator_list and type(core) is type and "_fields" not in live:
                refuse_attribute(node.name, name, where)
            continue
        if isinstance(core, enum.EnumMeta):
            stored = getattr(core._member_map_.get(name), "_value_", stored)
        if isinstance(stored, _DESCRIPTORS) or type_name(stored) == "_collections._tuplegetter":
            continue  # of __slots__ and named tuples
        if is_made_by(value, stored, scope) is False:
            refuse_attribute(node.name, name, where)
    for each in node.body:
        inner = live.get(each.name) if isinstance(each, ast.ClassDef) else None
        if isinstance(inner, type) and isinstance(each, ast.ClassDef):
            _check_attributes(inner, each, place)
    _check_members(core, live, node, place)


def _check_members(core: type, live: dict[str, Any], node: ast.ClassDef, place: Place) -> None:
    """Refuses members that the class's text does not have, unless a decorator or a base may have made them."""
    bound = {mangled(name, node.name) for name in bound_in_class(node)}
    makers = [base for base in core.__mro__[:-1] if "__init_subclass__" in vars(base)]
    if node.decorator_list or makers or type(core) is not type or "_fields" in live:
        return
    for name, value in live.items():
        is_function = isinstance(value, types.FunctionType)
        is_other = is_function and not value.__qualname__.startswith(f"{core.__qualname__}.")
        if (name not in bound and not (name.startswith("__") and name.endswith("__"))) or (
                is_other and any(isinstance(each, _FUNCTIONS) and each.name == name and not each.decorator_list
                                 for each in node.body)):
            if not isinstance(value, _DESCRIPTORS):
                refuse_attribute(node.name, name, place)


def refuse_attribute(owner: str, name: str, place: Place) -> NoReturn:
    refuse(f"the attribute {name} of the class {owner} is not what its text gives now: the file or a name in it changed after "
           f"the definition, or the attribute was set afterwards. Define {owner} again with the value in its body", name, place)


def _is_rewritten(code: types.CodeType) -> bool:
    """Whether pytest compiled its assertions in another way: such code names pytest's helpers."""
    return bool(REWRITTEN & {*code.co_names}) or any(
        _is_rewritten(each) for each in code.co_consts if isinstance(each, types.CodeType))


def _positional(function: types.FunctionType) -> list[str]:
    code = function.__code__
    return list(code.co_varnames[:code.co_argcount])


def _callee(partial: Any) -> str:
    return str(getattr(partial.func, "__name__", "its function"))


def remedy(value: Any) -> str:
    if type_name(value).startswith("torch."):
        return "make it an input, or create it within the function"
    return "write its value where it is used, or create it within the function"
