"""Refusals: what a function or class may not have, to become source that stands alone."""
from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import Any

from .places import Place, functions_of, refuse, refuse_stale
from .text import Definition, Text, is_compiled_from, line_of_name
from .values import is_rebuildable, type_name

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
    if value is not core and not node.decorator_list:
        refuse(f"{name} is {node.name} wrapped at run time ({type_name(value)}): write the wrapper as a decorator of "
               f"`def {node.name}`", name, place)


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
