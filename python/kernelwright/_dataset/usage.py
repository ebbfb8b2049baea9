"""Finds how a kernel's body uses its parameters: as pointers, sizes, flags or strings."""
import ast

from triton.runtime.jit import JITCallable

ADDRESS_FIRST = frozenset(("load", "store", "make_block_ptr", "advance", "make_tensor_descriptor", "max_contiguous",
                           "experimental_device_tensormap_create2d"))
DEEPEST = 6


def _word(call):
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def is_access(call):
    """Whether a call's first argument is an address."""
    return _word(call) in ("load", "store") or _word(call).startswith("atomic_")


class Usage:
    """Facts about the parameters of one jitted function."""

    def __init__(self, function, depth=0, seen=()):
        self.names = list(function.arg_names)
        self.definition = function.parse().body[0]
        self._scope = function.get_capture_scope()
        self._depth, self._seen = depth, (*seen, id(function))
        self.pointers, self.descriptors, self.sizes, self.flags = set(), set(), set(), set()
        self.strings, self.numbers, self.types = {}, {}, set()
        self.subscripted, self.indices, self.index_pointers = set(), set(), set()
        self.uses_dot = False
        self._sources = {}
        self._walk()

    def returns_value(self):
        """Whether kernels call it, rather than a launcher."""
        return any(isinstance(node, ast.Return) and node.value is not None
                   and not (isinstance(node.value, ast.Constant) and node.value.value is None)
                   for node in ast.walk(self.definition))

    def _walk(self):
        nodes = list(ast.walk(self.definition))
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._sources.setdefault(node.targets[0].id, []).append(node.value)
        for node in nodes:
            if isinstance(node, ast.Call):
                self._call(node)
            elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
                self._condition(node.test)
            elif isinstance(node, ast.Compare):
                self._compare(node)
            elif isinstance(node, ast.Attribute) and node.attr == "element_ty":
                self._mark(self.pointers, node.value)
            elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in self.names:
                self.subscripted.add(node.value.id)
        self._follow_addresses(nodes)

    def _follow_addresses(self, nodes):
        """A value that reaches an address or a loop's bound is an integer, and so is the target of a pointer to it."""
        found, queue = set(), []
        for node in nodes:
            if isinstance(node, ast.Call) and (is_access(node) or _word(node) in ("range", "static_range")):
                queue += node.args[:1] if is_access(node) else node.args
        while queue:
            for leaf in ast.walk(queue.pop()):
                if isinstance(leaf, ast.Name) and leaf.id not in found:
                    found.add(leaf.id)
                    queue += self._sources.get(leaf.id, [])
                    for source in self._sources.get(leaf.id, []):
                        for call in ast.walk(source):
                            if isinstance(call, ast.Call) and is_access(call) and call.args:
                                self._mark(self.index_pointers, call.args[0])
        self.indices = (found & set(self.names)) - self.pointers

    def _call(self, node):
        word = _word(node)
        if word in ADDRESS_FIRST or word.startswith("atomic_"):
            first = node.args[0] if node.args else next(
                (each.value for each in node.keywords if each.arg in ("pointer", "base")), None)
            target = getattr(node.func, "value", None)
            if word in ("load", "store") and isinstance(target, ast.Name) and target.id in self.names:
                self.descriptors.add(target.id)
            elif first is not None:
                self._mark(self.pointers, first)
        elif word in ("arange", "zeros", "full", "static_range"):
            for each in node.args:
                self.sizes |= {leaf.id for leaf in ast.walk(each) if isinstance(leaf, ast.Name)} & set(self.names)
        elif word in ("dot", "dot_scaled"):
            self.uses_dot = True
        elif word in ("to", "cast") and node.args and isinstance(node.args[-1], ast.Name):
            self.types.add(node.args[-1].id)
        for each in node.keywords:
            if each.arg in ("dtype", "out_dtype") and isinstance(each.value, ast.Name):
                self.types.add(each.value.id)
        if isinstance(node.func, ast.Name):
            self._helper(node)

    def _helper(self, node):
        """Finds how a jitted helper uses its arguments."""
        helper = self._scope.get(node.func.id)
        if not isinstance(helper, JITCallable) or not hasattr(helper, "arg_names"):
            return
        if self._depth >= DEEPEST or id(helper) in self._seen:
            return
        inner = Usage(helper, self._depth + 1, self._seen)
        self.uses_dot |= inner.uses_dot
        given = [*zip(inner.names, node.args), *((each.arg, each.value) for each in node.keywords)]
        for name, value in given:
            if name in inner.pointers:
                self._mark(self.pointers, value)
            if name in inner.index_pointers:
                self._mark(self.index_pointers, value)
            if isinstance(value, ast.Name):
                for mine, theirs in ((self.sizes, inner.sizes), (self.flags, inner.flags), (self.types, inner.types),
                                     (self.descriptors, inner.descriptors)):
                    if name in theirs:
                        mine.add(value.id)
                if name in inner.strings:
                    self.strings.setdefault(value.id, []).extend(inner.strings[name])

    def _condition(self, test):
        for node in [test, *getattr(test, "values", [])]:
            node = node.operand if isinstance(node, ast.UnaryOp) else node
            if isinstance(node, ast.Name):
                self.flags.add(node.id)

    def _compare(self, node):
        if isinstance(node.left, ast.Name):
            for each in node.comparators:
                if isinstance(each, ast.Constant) and isinstance(each.value, (str, int)):
                    group = self.strings if isinstance(each.value, str) else self.numbers
                    group.setdefault(node.left.id, []).append(each.value)

    def _mark(self, group, node, depth=0, seen=()):
        """The parameter with which an address begins."""
        if depth > 12:
            return
        if isinstance(node, ast.Name):
            if node.id in self.names:
                group.add(node.id)
            if node.id in seen:
                return
            for each in self._sources.get(node.id, []):
                self._mark(group, each, depth + 1, (*seen, node.id))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            before = len(group)
            self._mark(group, node.left, depth + 1, seen)
            if len(group) == before and not self._holds(group, node.left):
                self._mark(group, node.right, depth + 1, seen)
        elif isinstance(node, ast.Call):
            inner = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr == "to" else None
            target = inner if inner is not None else node.args[0] if node.args else None
            if target is not None:
                self._mark(group, target, depth + 1, seen)
        elif isinstance(node, ast.IfExp):
            self._mark(group, node.body, depth + 1, seen)
            self._mark(group, node.orelse, depth + 1, seen)
        elif isinstance(node, ast.Attribute) and node.attr in ("dtype", "type"):
            self._mark(group, node.value, depth + 1, seen)

    @staticmethod
    def _holds(group, node):
        return any(isinstance(each, ast.Name) and each.id in group for each in ast.walk(node))
