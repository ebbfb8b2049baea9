"""Turns a function or class of this process into source that stands alone: its own text, and the imports, functions, Triton
kernels, classes and constants that it refers to, transitively. docs/python-api.md lists what is carried and what is refused.

The text is found as tracebacks find it, and is compared with what runs. Nothing is executed or imported here.
"""
from __future__ import annotations

import ast
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

from .bindings import check_early, check_unchanged, is_as_defined, name_of, own_name
from .checks import check_body, check_definition, check_entry, check_is_current, check_values, remedy
from .places import (
    NotSelfContained,
    Place,
    Scope,
    assignment_of,
    class_texts,
    functions_of,
    home_of,
    is_class_there,
    is_package,
    label_of,
    parsed,
    refuse,
    refuse_stale,
    scope_of,
    texts_of,
)
from .sameness import is_made_by
from .text import (
    ANNOTATIONS,
    Definition,
    Names,
    Text,
    bound_name,
    bound_within,
    class_nodes,
    first_line,
    function_node,
    imports_of,
    is_builtin,
    line_of_name,
    names_of,
    without_annotations,
)
from .values import is_literal, is_rebuildable, literal, type_name, unwrapped

__all__ = ["NotSelfContained", "Source", "source_of"]

ALWAYS_INSTALLED = {"torch", "triton", "numpy"}
MODULE_NAMES = {"__name__", "__doc__", "__package__", "__spec__", "__loader__", "__builtins__", "__annotations__"}
NOTHING = Names(frozenset(), frozenset())
_ABSENT = object()


class Source(NamedTuple):
    text: str
    entry: str
    """The name of the function or class in it."""


def source_of(entry: Any, also: tuple[str, ...] = ()) -> Source:
    """The source of a function or class. `also` names functions of its module that are carried where the module has them,
    such as get_inputs. Raises NotSelfContained."""
    collector = _Collector(entry)
    name = collector.add_entry(entry)
    for each in also:
        collector.add_also(each)
    return Source(collector.source(), name)


class _Unit:
    """A piece of the source: an import, a definition or an assignment."""

    def __init__(self, key: object, text: str, names: Names, place: Place, node: ast.AST | None = None, *,
                 future: bool = False) -> None:
        self.key, self.text, self.names, self.place, self.node, self.future = key, text, names, place, node, future
        self.needs: set[str] = set()  # names of the output


class _Collector:
    def __init__(self, entry: Any) -> None:
        self._units: dict[str, _Unit] = {}  # by the name that it binds, in the order of their discovery
        self._imports: dict[str, dict[str, None]] = {}  # name → statements
        self._builtins: dict[str, Place] = {}
        self._queue: list[_Unit] = []
        self._bound: set[tuple[int, str]] = set()  # scopes and names that are done
        self._own = {str(getattr(unwrapped(entry), "__module__", None) or "").partition(".")[0]} - ALWAYS_INSTALLED
        self._own -= set(sys.stdlib_module_names)
        self._scope: Scope = {}

    # ---- the entry

    def add_entry(self, entry: Any) -> str:
        core = unwrapped(entry)
        check_entry(entry, core)
        module = str(core.__module__ or "")
        if self._is_installed(module):
            name = core.__name__
            if getattr(sys.modules.get(module), name, None) is not entry:
                refuse(f"the verifier cannot import it as {module}.{name}: write a function that calls it", name)
            self._import(name, f"from {module} import {name}", Place(module, 0, {}))
            return str(name)
        self._scope = scope_of(core, {})
        file = core.__code__.co_filename if isinstance(core, types.FunctionType) else None
        given = None if is_as_defined(entry, own_name(core), self._scope, file) else name_of(entry, self._scope, file)
        is_wrapped_within = entry is not core and "<locals>" in core.__qualname__
        if given is not None and (given != own_name(core) or is_wrapped_within) and not _is_lambda(core):
            self._bind(given, self._scope, Place(file or "the call", 0, self._scope))
            name = given
        else:
            name = self._define(entry, core, core.__name__, Place("the call", 0, {}), is_entry=True)
        self._work_through()
        return name

    def add_also(self, name: str) -> None:
        value = self._scope.get(name, _ABSENT)
        if value is not _ABSENT and name not in self._units:
            self._bind(name, self._scope, Place("the call", 0, self._scope))
            self._work_through()

    def _work_through(self) -> None:
        while self._queue:
            unit = self._queue.pop(0)
            for name in sorted(unit.names.early | unit.names.late):
                line = unit.place.line if unit.node is None else line_of_name(unit.node, name)
                place = Place(unit.place.file, line, unit.place.scope)
                unit.needs.add(name)
                self._bind(name, unit.place.scope, place)

    # ---- names

    def _bind(self, name: str, scope: Scope, place: Place) -> None:
        """Adds what a name of a scope stands for."""
        if name in MODULE_NAMES or (id(scope), name) in self._bound:
            return
        self._bound.add((id(scope), name))
        if name == "__file__":
            refuse("__file__ is another file for the verifier: do without it", name, place)
        value = scope.get(name, _ABSENT)
        if value is _ABSENT:
            if not is_builtin(name):
                refuse(f"{name} is not defined at the top level of {label_of(scope)}: define it there before the call",
                       name, place)
            if name in self._units or name in self._imports:
                self._clash(name, place)
            self._builtins.setdefault(name, place)
            return
        if name in self._builtins:
            self._clash(name, place)
        if statements := self._import_statements(name, value, scope, place):
            for statement in statements:
                self._import(name, statement, place)
            return
        core = unwrapped(value)
        if isinstance(core, (types.FunctionType, type)):
            if _is_lambda(core) or not self._made_by_statement(value, core, name, scope, place):
                self._define(value, core, name, place)
        elif is_literal(value):
            self._constant(name, value, scope, place)
        else:
            self._rebuilt(name, value, scope, place)

    def _import(self, name: str, statement: str, place: Place) -> None:
        if name in self._units or name in self._builtins:
            self._clash(name, place)
        known = self._imports.setdefault(name, {})
        # `import a.b` and `import a.c` bind the same name; other statements bind another object to it.
        if known and statement not in known and not all(each.startswith(f"import {name}") and " as " not in each
                                                        for each in (*known, statement)):
            self._clash(name, place)
        known[statement] = None

    def _add(self, name: str, unit: _Unit) -> bool:
        """Whether it is new. Another unit of the same name is an error, since both would have one name in the source."""
        if name in self._imports or name in self._builtins:
            self._clash(name, unit.place)
        if known := self._units.get(name):
            if known.key != unit.key:
                self._clash(name, unit.place)
            return False
        self._units[name] = unit
        self._queue.append(unit)
        return True

    def _clash(self, name: str, place: Place) -> NoReturn:
        refuse(f"{name} stands for another object here than elsewhere in what is carried, such as an older definition in a "
               "notebook, or a builtin, and one source cannot have both: rename one of them, or run the cells that use the "
               "older one again", name, place)

    # ---- imports

    def _import_statements(self, name: str, value: Any, scope: Scope, place: Place) -> list[str]:
        """The imports that give the name this value where the verifier can import it, else none."""
        found: list[str] = []
        for text in texts_of(scope, place.file):
            for node in imports_of(text, name):
                found += [each for alias in node.names if (each := self._statement(node, alias, name, value))
                          and each not in found]
        if isinstance(value, types.ModuleType):
            if not self._is_installed(value.__name__):
                refuse(f"{name} is the module {value.__name__} of your own, which the verifier cannot import: import "
                       f"the functions that you need by name (`from {value.__name__} import ...`), so that they are carried",
                        name, place)
            if not found:
                found = [f"import {value.__name__}" if value.__name__ == name else f"import {value.__name__} as {name}"]
            return [each for each in found if " as " not in each and each.startswith("import ")] or found[-1:]
        if found:
            return found[-1:]
        if not isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
            return []
        module, own_name = value.__module__, value.__qualname__
        if (isinstance(module, str) and own_name.isidentifier() and self._is_installed(module)
                and getattr(sys.modules.get(module), own_name, None) is value):
            return [f"from {module} import {own_name}" + ("" if own_name == name else f" as {name}")]
        return []

    def _statement(self, node: ast.Import | ast.ImportFrom, alias: ast.alias, name: str, value: Any) -> str | None:
        if isinstance(node, ast.Import):
            if bound_name(alias) != name or not self._is_installed(alias.name):
                return None
            module = sys.modules.get(alias.name if alias.asname else name)
            return f"import {alias.name}" + (f" as {name}" if alias.asname else "") if module is value else None
        if node.level or not node.module or not self._is_installed(node.module):
            return None
        if alias.name != "*" and bound_name(alias) != name:
            return None
        wanted = name if alias.name == "*" else alias.name
        module = sys.modules.get(node.module)
        held = getattr(module, wanted, sys.modules.get(f"{node.module}.{wanted}"))
        if held is not value:
            return None
        return f"from {node.module} import {wanted}" + ("" if wanted == name else f" as {name}")

    def _is_installed(self, module: str) -> bool:
        """Whether the verifier's Python may have it: PyTorch, Triton, the standard library, an installed package."""
        top = module.partition(".")[0]
        if top in ("", "__main__") or top in self._own:
            return False
        if top in ALWAYS_INSTALLED:
            return True
        return is_package(top)

    # ---- definitions

    def _define(self, value: Any, core: Any, name: str, place: Place, is_entry: bool = False) -> str:
        """Adds the definition of a function or class, and returns the name that it has in the source."""
        text, node, around, scope = self._found(core, name, place)
        here = Place(text.file, node.lineno, scope)
        check_definition(value, core, name, node, around, here)
        own = text.definition_text(node)
        future = _has_future(core, text)
        names, optional = _names(own, future)
        if around:
            hidden = sorted(names.early & bound_within(around))
            if hidden:
                refuse(f"the definition of {node.name} refers to {hidden[0]}, a name of the function around it: define "
                       "both at the top level", hidden[0], here)
        check_body(node, here, self._is_installed)
        check_is_current(core, text, here)
        check_values(core, node, here)
        check_early(names.early - {node.name}, text, node, scope, is_nested=bool(around))
        check_unchanged(node.name, scope, here, is_definition=True)
        unit = _Unit(("definition", text.file, first_line(node)), own, names, here, node, future=future)
        if self._add(node.name, unit) and optional:
            self._bind_modules(optional, scope, here)
        if name != node.name and not is_entry:
            self._add(name, _Unit(("alias", name, unit.key), f"{name} = {node.name}\n",
                                  NOTHING, place))
            self._units[name].needs.add(node.name)
        return node.name

    def _bind_modules(self, names: frozenset[str], scope: Scope, place: Place) -> None:
        # Unevaluated annotations are needed only where a decorator resolves them.
        for name in sorted(names):
            value = scope.get(name, _ABSENT)
            if value is not _ABSENT and name not in self._units and name not in self._builtins:
                for statement in [] if _is_own_module(value, self._is_installed) else self._import_statements(
                        name, value, scope, place):
                    if name not in self._imports:
                        self._import(name, statement, place)

    def _found(self, core: Any, name: str, place: Place) -> tuple[Text, Definition, tuple[ast.AST, ...], Scope]:
        scope = scope_of(core, place.scope)
        if isinstance(core, types.FunctionType):
            code = core.__code__
            if code.co_name == "<lambda>":
                where = Place(code.co_filename, code.co_firstlineno, scope)
                refuse(f"{name} is a lambda, whose text cannot be told from its surroundings: write it as "
                       f"`def {name if name.isidentifier() else 'NAME'}`", name, where)
            text = parsed(code.co_filename, scope, name, code.co_firstlineno)
            found = function_node(text, code)
            if found is None:
                refuse_stale(name, Place(code.co_filename, code.co_firstlineno, scope))
            return text, *found, scope
        candidates = [(text, *found) for text in class_texts(core, scope) for found in class_nodes(text, core.__name__)
                      if is_class_there(core, text, found[0])]
        if not candidates:
            refuse(f"the source of the class {name} is not found: it was defined in interactive input, by a call, or "
                   "its file has changed. Define it in a file, or pass its source as text", name, place)
        sources = {text.definition_text(node) for text, node, _ in candidates}
        if len(sources) > 1:
            refuse(f"the class {name} has several definitions, and it has no method that tells which one is in use: "
                   "rename one of them", name, place)
        return (*candidates[-1], scope)

    # ---- constants

    def _constant(self, name: str, value: Any, scope: Scope, place: Place) -> None:
        """A number, a text, or a list or dict of such: its present value."""
        try:
            text = literal(value)
        except ValueError as error:
            refuse(f"{name} cannot be written as source: {error}", name, place)
        self._add(name, _Unit(("constant", text), f"{name} = {text}\n", NOTHING, Place(place.file, place.line, scope)))

    def _rebuilt(self, name: str, value: Any, scope: Scope, place: Place) -> None:
        """An object that its assignment makes anew, such as a list of triton.Config."""
        if why_not := is_rebuildable(value):
            refuse(f"{name} is {why_not}, which exists in this process only: {remedy(value)}", name, place)
        if not self._assigned(name, value, scope, place):
            refuse(f"{name} ({type_name(value)}) has no single assignment `{name} = ...` at the top level of "
                   f"{label_of(scope)}: it was bound at run time, in a branch or more than once. Assign it once, or write "
                   "it where it is used", name, place)

    def _made_by_statement(self, value: Any, core: Any, name: str, scope: Scope, place: Place) -> bool:
        """Adds a function or class that an assignment made, such as `kernel = triton.jit(f)`, by this assignment."""
        home = scope_of(core, scope)
        if is_as_defined(value, own_name(core), home, core.__code__.co_filename if isinstance(core, types.FunctionType)
                         else place.file if home is scope else None):
            return False
        return self._assigned(name, value, scope, place)

    def _assigned(self, name: str, value: Any, scope: Scope, place: Place) -> bool:
        """Adds the assignment of a name, or of the name of another file that it was imported from; whether there is one."""
        found = assignment_of(name, scope, place)
        if found is None:
            home = home_of(name, value, scope, place)
            if home is None:
                return False
            module, wanted = home
            self._bind(wanted, vars(module), Place(str(getattr(module, "__file__", module.__name__)), 0, vars(module)))
            if wanted != name:
                self._add(name, _Unit(("alias", name, wanted), f"{name} = {wanted}\n", NOTHING, place))
                self._units[name].needs.add(wanted)
            return True
        text, node = found
        assert node.value is not None
        check_unchanged(name, scope, place)
        if is_made_by(node.value, value, scope) is False:
            refuse(f"{name} has another value than its assignment gives now: it, or a name in the assignment, was changed "
                   f"after it. Write the final value there, or run the assignment again", name,
                   Place(text.file, node.lineno, scope))
        annotation = f": {text.segment(node.annotation)}" if isinstance(node, ast.AnnAssign) else ""
        own = f"{name}{annotation} = {_one_statement(text.segment(node.value))}\n"
        here = Place(text.file, node.lineno, scope)
        names = names_of(own)
        check_early(names.early, text, node, scope)
        self._add(name, _Unit(("assignment", text.file, node.lineno), own, names, here, node))
        return True

    # ---- the source

    def source(self) -> str:
        parts = ["from __future__ import annotations\n"] if any(each.future for each in self._units.values()) else []
        parts += [f"{statement}\n" for statements in self._imports.values() for statement in statements]
        was_block, was_import = False, bool(parts)
        for name in self._order():
            is_block = isinstance(self._units[name].node, Definition)
            if parts:
                parts.append("\n\n" if is_block or was_block else "\n" if was_import else "")
            parts.append(self._units[name].text)
            was_block, was_import = is_block, False
        return "".join(parts)

    def _order(self) -> list[str]:
        """Names so that each follows what it needs; those that need each other keep the order of their files."""
        order: list[str] = []
        needs = {name: {each for each in unit.needs if each in self._units} for name, unit in self._units.items()}
        for group in _groups(needs):
            order += sorted(group, key=lambda name: (self._units[name].place.file, self._units[name].place.line))
        return order


def _names(own: str, future: bool) -> tuple[Names, frozenset[str]]:
    """What a definition needs, and the names that only its unevaluated annotations use."""
    names = names_of(own)
    if not future:
        return names, frozenset()
    needed = names_of(without_annotations(own))
    return needed, (names.early | names.late) - needed.early - needed.late


def _has_future(core: Any, text: Text) -> bool:
    functions = functions_of(core)
    if functions:
        return bool(functions[0].__code__.co_flags & ANNOTATIONS)
    return any(isinstance(each, ast.ImportFrom) and each.module == "__future__"
               and any(alias.name == "annotations" for alias in each.names) for each in text.tree.body)


def _is_lambda(core: Any) -> bool:
    return isinstance(core, types.FunctionType) and core.__code__.co_name == "<lambda>"


def _is_own_module(value: Any, is_installed: Callable[[str], bool]) -> bool:
    return isinstance(value, types.ModuleType) and not is_installed(value.__name__)


def _one_statement(text: str) -> str:
    # An expression that was within brackets of its statement may have line breaks.
    try:
        ast.parse(f"x = {text}")
        return text
    except SyntaxError:
        return f"({text})"


def _groups(needs: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of a graph, each after those that it needs (Tarjan, without recursion)."""
    number: dict[str, int] = {}
    waiting: set[str] = set()  # on the stack
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []
    for root in needs:
        if root in number:
            continue
        work: list[tuple[str, Iterator[str]]] = [(root, iter(sorted(needs[root])))]
        number[root] = low[root] = len(number)
        stack.append(root)
        waiting.add(root)
        while work:
            name, others = work[-1]
            for other in others:
                if other not in number:
                    number[other] = low[other] = len(number)
                    stack.append(other)
                    waiting.add(other)
                    work.append((other, iter(sorted(needs[other]))))
                    break
                if other in waiting:
                    low[name] = min(low[name], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == number[name]:
                    at = stack.index(name)
                    groups.append(stack[at:])
                    waiting.difference_update(groups[-1])
                    del stack[at:]
    return groups
