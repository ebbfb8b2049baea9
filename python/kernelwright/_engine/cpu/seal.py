"""Notices when a candidate replaces a part of the interpreter, which would then not compute what a device computes.

`seal()` notes the functions and classes of the interpreter before any candidate is imported. `check()` compares them,
at every launch and after every call. New names are no change, and neither is a function of Triton or a kernel in place
of another: a device runs these, too.
"""
import functools
import itertools
import operator
import sys
import types

import numpy as np
import triton.runtime.interpreter as interpreter
from triton._C.libtriton import interpreter as native

from .. import errors
from ..errors import Replaced

# Triton's language has many modules, and a kernel may reach each of them.
LANGUAGE, OWN = "triton.language", __package__ + "."
OTHERS = (interpreter, native, np, errors)
CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type, np.ufunc, classmethod, staticmethod,
        property, types.MethodDescriptorType, types.WrapperDescriptorType, types.ModuleType)
_same = operator.is_
_facts, FACTS = operator.attrgetter("__code__", "__defaults__", "__kwdefaults__"), 3
_chained = itertools.chain.from_iterable


def _is_code(value):
    return isinstance(value, CODE) or (callable(value) and type(value).__module__ in ("functools", "numpy"))


def _is_ours(value):
    module = getattr(value, "__module__", None)
    return type(value) is functools.partial or (
        isinstance(module, str) and module.startswith(("triton.", OWN)))


class _Namespace:
    """The functions and classes in a module or a class."""

    def __init__(self, name, owner):
        self.name, self.get = name, vars(owner).get
        entries = {key: value for key, value in vars(owner).items() if _is_code(value)}
        self.names, self.values = tuple(entries), tuple(entries.values())

    def replaced(self, is_fine):
        """The name of one of them that is another now; None if there is none."""
        for name, value in zip(self.names, self.values):
            found = self.get(name)
            if found is not value and not is_fine(found):
                return f"{self.name}.{name}"
        return None


class Seal:
    """The noted state of this process."""

    def __init__(self):
        modules = [module for name, module in sorted(sys.modules.items())
                   if isinstance(module, types.ModuleType)
                   and (name == LANGUAGE or name.startswith((LANGUAGE + ".", OWN)))]
        self._namespaces, self._seen, entered = [], {}, set()
        for module in (*modules, *OTHERS):
            self._add(module.__name__, module, entered)
        self._namespaces = tuple(self._namespaces)
        self._gets, self._names = zip(*[(space.get, space.names) for space in self._namespaces])
        self._values = tuple(_chained(space.values for space in self._namespaces))
        self._functions = tuple(each for each in self._seen.values() if isinstance(each, types.FunctionType))
        self._codes = tuple(_chained(map(_facts, self._functions)))
        self._known = frozenset(self._seen)
        # The ids of what a kernel may call, and of the classes of its values. `_seen` keeps each id's object.
        self.language = frozenset(id(value) for space in self._namespaces if space.name.startswith(LANGUAGE)
                                  for value in space.values if _is_ours(value))

    def _add(self, name, owner, entered):
        if id(owner) in entered:
            return
        entered.add(id(owner))
        self._seen[id(owner)] = owner
        space = _Namespace(name, owner)
        self._namespaces.append(space)
        for value in space.values:
            if isinstance(value, type) and value.__module__.startswith(("triton.", OWN)):
                if value.__flags__ & (1 << 9):  # a class of Python, whose attributes can change
                    self._add(f"{value.__module__}.{value.__qualname__}", value, entered)
                continue
            self._seen.setdefault(id(value), value)

    def check(self):
        """Raise Replaced if something is not as it was. It runs at each launch, so it loops in C."""
        if not all(map(_same, _chained(map(map, self._gets, self._names)), self._values)):
            for space in self._namespaces:
                if (name := space.replaced(self._is_fine)) is not None:
                    raise Replaced(name)
        if not all(map(_same, _chained(map(_facts, self._functions)), self._codes)):
            self._name_changed_code()

    def _name_changed_code(self):
        for at, function in enumerate(self._functions):
            if not all(map(_same, _facts(function), self._codes[at * FACTS:])):
                raise Replaced(f"the code of {function.__module__}.{function.__qualname__}")

    def _is_fine(self, found):
        return id(found) in self._known or type(found) is interpreter.InterpretedFunction
