"""Makes a kernel's module from its text and context: executed statement by statement, in a confined child only.

Other packages are not installed there. A Stub takes the place of each of their names, so that the module can be
executed; a kernel whose own body needs a stub is not tried.
"""
import __future__
import ast
import re
import sys
import textwrap
import types

from triton.runtime.jit import JITCallable

ALLOWED = frozenset(("triton", "torch", "numpy", "packaging", "__future__")) | sys.stdlib_module_names
TUNING = frozenset(("autotune", "heuristics"))
DEEPEST = 12


class Stub:
    """Takes the place of a missing object: may be called, indexed, subclassed and used as a decorator."""

    def __init__(self, path):
        self.path = path

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Stub(f"{self.path}.{name}")

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and not kwargs and callable(args[0]) and not isinstance(args[0], Stub):
            return args[0]
        return Stub(self.path)

    def __getitem__(self, key):
        return Stub(self.path)

    def __iter__(self):
        return iter(())

    def __mro_entries__(self, bases):
        return (object,)


class _Imports(ast.NodeTransformer):
    """Makes imports of other packages stubs; inside `try` they raise ImportError, as where nothing is installed."""

    def __init__(self):
        self._guarded = 0

    def visit_Try(self, node):
        self._guarded += bool(node.handlers)
        node.body = [self.visit(each) for each in node.body]
        self._guarded -= bool(node.handlers)
        for part in ("handlers", "orelse", "finalbody"):
            setattr(node, part, [self.visit(each) for each in getattr(node, part)])
        return node

    def visit_Import(self, node):
        foreign = [each for each in node.names if each.name.split(".")[0] not in ALLOWED]
        if not foreign:
            return node
        if self._guarded:
            return ast.copy_location(_parsed(f"raise ImportError({foreign[0].name!r})"), node)
        lines = []
        for each in node.names:
            if each not in foreign:
                lines.append("import " + each.name + (f" as {each.asname}" if each.asname else ""))
            else:
                path = each.name if each.asname else each.name.split(".")[0]
                lines.append(f"{each.asname or path} = __kw_stub__({path!r})")
        return _block(lines, node)

    def visit_ImportFrom(self, node):
        if not node.level and (node.module or "").split(".")[0] in ALLOWED:
            return node
        path = "." * node.level + (node.module or "")
        if self._guarded:
            return ast.copy_location(_parsed(f"raise ImportError({path!r})"), node)
        dot = "." if node.module else ""
        return _block([f"{each.asname or each.name} = __kw_stub__({path + dot + each.name!r})"
                       for each in node.names if each.name != "*"] or ["pass"], node)


def _parsed(line):
    return ast.parse(line).body[0]


def _block(lines, node):
    block = ast.If(test=ast.Constant(True), body=[_parsed(line) for line in lines], orelse=[])
    for each in ast.walk(block):
        ast.copy_location(each, node)
    return block


def dedented(text):
    """A definition cut out of its file: its first line lost the indentation that the other lines have."""
    if text.startswith("@"):
        found = re.search(r"^([ \t]*)(?:@|def\b|async\b)", text[text.find("\n") + 1:], re.MULTILINE)
        text = (found.group(1) if found else "") + text
    return textwrap.dedent(text)


def bound_names(statement):
    """The names that a top-level statement binds."""
    names = set()
    for node in ast.walk(statement):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update((each.asname or each.name).split(".")[0] for each in node.names)
    return names


class Module:
    """The namespace after the context has run, with the kernel in it under its name."""

    def __init__(self, path):
        self.path, self.failures = path, {}
        module = sys.modules["kernel_module"] = types.ModuleType("kernel_module")
        module.__file__ = path
        self.namespace = module.__dict__
        self.namespace["__kw_stub__"] = Stub
        self._flags = 0

    def execute(self, body):
        """Execute each statement separately: one that fails leaves stubs, which matter only to code that uses them."""
        for statement in body:
            if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
                for each in statement.names:
                    self._flags |= getattr(getattr(__future__, each.name, None), "compiler_flag", 0)
            try:
                self._run(statement)
            except Exception as error:
                why = f"{type(error).__name__}: {error}".splitlines()[0][:160]
                for name in bound_names(statement):
                    self.failures[name] = why
                    if not isinstance(self.namespace.get(name), (JITCallable, types.ModuleType)):
                        self.namespace[name] = Stub(f"{name} ({why})")

    def _run(self, statement):
        tree = ast.Module(body=[_Imports().visit(statement)], type_ignores=[])
        exec(compile(ast.fix_missing_locations(tree), self.path, "exec", self._flags, dont_inherit=True), self.namespace)

    def is_whole(self):
        """Whether the context is complete: no constant was computed from a stub."""
        return not self.failures and not any(isinstance(each, Stub) for each in self.namespace.values())

    def value(self, expression):
        """An expression of the source, evaluated here; raises the expression's exceptions."""
        tree = ast.fix_missing_locations(ast.Expression(body=expression))
        return eval(compile(tree, self.path, "eval", self._flags, dont_inherit=True), self.namespace)


def name_of(decorator):
    """The last word of a decorator: "jit" of triton.jit(...)."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def keep_jit(function):
    """Remove all decorators of a definition but its jit decorator, if it has one; returns the removed ones."""
    jits = [each for each in function.decorator_list if name_of(each) == "jit"]
    taken = [each for each in function.decorator_list
             if (each not in jits if jits else name_of(each) in TUNING)]
    function.decorator_list = [each for each in function.decorator_list if each not in taken]
    return taken


def load(path, context, text, name):
    """(module, the function's node, removed decorators) of a text that ast.parse accepts."""
    tree, context_tree = ast.parse(text), ast.parse(context)
    with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(context + "\n\n" + text)
    lines = context.count("\n") + 2
    ast.increment_lineno(tree, lines)
    module = Module(path)
    taken, function = [], None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            function, taken = node, keep_jit(node)
            break
    module.execute(context_tree.body)
    module.execute(tree.body)
    return module, function, taken


def needs(function, depth=0, seen=None):
    """The names that a jitted function, or one that it calls, uses and the module lacks."""
    seen = set() if seen is None else seen
    if id(function) in seen or depth > DEEPEST:
        return []
    seen.add(id(function))
    definition = function.parse().body[0]
    local = {each.arg for each in ast.walk(definition.args) if isinstance(each, ast.arg)}
    for each in ast.walk(definition):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            local.add(each.id)
    missing, scope = [], function.get_capture_scope()
    builtins = vars(__import__("builtins"))
    for node in [each for part in definition.body for each in ast.walk(part)]:
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or node.id in local:
            continue
        value = scope.get(node.id, builtins.get(node.id, needs))
        if value is needs:
            missing.append(node.id)
        elif isinstance(value, Stub):
            missing.append(value.path)
        elif isinstance(value, JITCallable) and hasattr(value, "parse"):
            missing += needs(value, depth + 1, seen)
    return list(dict.fromkeys(missing))
