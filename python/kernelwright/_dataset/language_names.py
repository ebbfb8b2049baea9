"""Finds names that Triton's language does not have, where a kernel uses them whatever its arguments are.

Such a use is a fault of the text: no signature makes it compile. A use that depends on a condition is none, because the
compiler leaves out the branch that a constant rules out.
"""
import ast
import importlib.util
import types

from triton.runtime.jit import JITCallable

# The modules whose names are known when they are imported; others load backends of their own.
MODULES = frozenset(("triton.language", "triton.language.math"))
LACKS = "triton.language has no "  # src/dataset/labels/labels.h has the same
DEEPEST = 12


def lacking(function, depth=0, seen=None):
    """The reason why no arguments let a jitted function compile; empty where none is found."""
    seen = set() if seen is None else seen
    if id(function) in seen or depth > DEEPEST:
        return ""
    seen.add(id(function))
    definition = function.parse().body[0]
    scope = dict(function.get_capture_scope())
    for name in _local(definition):
        scope.pop(name, None)
    for node in _always(definition.body):
        if isinstance(node, ast.Attribute):
            owner = _value(node.value, scope)
            if _lacks(owner, node.attr):
                path = f"{owner.__name__}.{node.attr}".removeprefix("triton.language.")
                return f"{LACKS}{path}, in {definition.name}"
        elif isinstance(node, ast.Call):
            called = _value(node.func, scope)
            if isinstance(called, JITCallable) and hasattr(called, "parse"):
                if why := lacking(called, depth + 1, seen):
                    return why
    return ""


def _local(definition):
    names = {each.arg for each in ast.walk(definition.args) if isinstance(each, ast.arg)}
    return names | {each.id for each in ast.walk(definition) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _value(node, scope):
    """The object of a dotted path; None for other expressions, and where there is none."""
    if isinstance(node, ast.Name):
        return scope.get(node.id)
    owner = _value(node.value, scope) if isinstance(node, ast.Attribute) else None
    return getattr(owner, node.attr, None) if isinstance(owner, types.ModuleType) else None


def _lacks(owner, name):
    if not isinstance(owner, types.ModuleType) or owner.__name__ not in MODULES or hasattr(owner, name):
        return False
    return not hasattr(owner, "__path__") or importlib.util.find_spec(f"{owner.__name__}.{name}") is None


def _always(body):
    """The expressions that are compiled for all arguments."""
    for statement in body:
        if isinstance(statement, (ast.If, ast.While)):
            yield from _parts(statement.test)
            if any(isinstance(each, ast.Return) for each in ast.walk(statement)):
                return
        elif isinstance(statement, ast.For):
            yield from _parts(statement.iter)
            if isinstance(statement.iter, ast.Call) and "static" not in ast.unparse(statement.iter.func):
                yield from _always(statement.body)
        elif isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.Try, ast.With)):
            continue
        else:
            yield from _parts(statement)
            if isinstance(statement, ast.Return):
                return


def _parts(node):
    """The node and what is in it, without what a condition in an expression may leave out."""
    yield node
    if isinstance(node, (ast.IfExp, ast.BoolOp)):
        yield from _parts(node.test if isinstance(node, ast.IfExp) else node.values[0])
    elif not isinstance(node, (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
        for each in ast.iter_child_nodes(node):
            yield from _parts(each)
