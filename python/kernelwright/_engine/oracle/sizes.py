"""Finds and halves the sizes of a task: module-level integers of its source, or dimensions of its shapes."""
import ast
import json


class SourceSizes:
    """Module-level assignments of integers, alone or within a list or tuple: `batch, shape = 16, (1024, 64)`."""

    def __init__(self, source):
        self._tree = ast.parse(source)
        self._slots = [slot for node in self._tree.body for slot in _slots(node)]
        self._given = [slot.value for slot in self._slots]
        self._last = None

    def largest_first(self, smallest):
        """Sizes of at least `smallest`, the largest first."""
        return sorted((slot for slot in self._slots if slot.value >= smallest), key=lambda slot: -slot.value)

    def halve(self, slot):
        """Halve one size."""
        self._last = slot, slot.value
        slot.put(slot.value // 2)

    def undo(self):
        """Undo the last halving."""
        slot, value = self._last
        slot.put(value)

    def changed(self):
        """{name: new value} of the sizes that differ from the source as given."""
        return {slot.name: slot.value for slot, given in zip(self._slots, self._given) if slot.value != given}

    def written(self, source, input_shapes):
        """(source, shapes) with the present sizes."""
        return ast.unparse(self._tree) if self.changed() else source, input_shapes


class _Slot:
    """One integer in the syntax tree."""

    def __init__(self, name, value, holder, field, at=None):
        self.name, self.value = name, value
        self._holder, self._field, self._at = holder, field, at

    def put(self, value):
        self.value = value
        node = ast.copy_location(ast.Constant(value), self._holder)
        if self._at is None:
            setattr(self._holder, self._field, node)
        else:
            getattr(self._holder, self._field)[self._at] = node


def _slots(node):
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        target = node.target
    elif isinstance(node, ast.Assign) and all(isinstance(each, ast.Name) for each in node.targets):
        target = node.targets[0]
    else:
        return
    if isinstance(target, ast.Name):
        value = _integer(node.value)
        if value is not None:
            yield _Slot(target.id, value, node, "value")
        elif isinstance(node.value, (ast.Tuple, ast.List)):
            yield from _items(node.value, lambda at: f"{target.id}[{at}]")
    elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) \
            and all(isinstance(each, ast.Name) for each in target.elts) and len(target.elts) == len(node.value.elts):
        yield from _items(node.value, lambda at: target.elts[at].id)


def _items(sequence, name):
    for at, each in enumerate(sequence.elts):
        value = _integer(each)
        if value is not None:
            yield _Slot(name(at), value, sequence, "elts", at)


def _integer(node):
    """The value of an expression of integer constants, else None."""
    if not all(isinstance(each, (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop))
               for each in ast.walk(node)) or any(isinstance(each, ast.Pow) for each in ast.walk(node)):
        return _power(node)
    try:
        value = eval(compile(ast.Expression(node), "size", "eval"), {"__builtins__": {}})
    except Exception:
        return None
    return value if type(value) is int else None


def _power(node):
    """2 ** 20 and the like; larger powers are not computed, because they could take very long."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        base, exponent = _integer(node.left), _integer(node.right)
        if base is not None and exponent is not None and abs(base) <= 1024 and 0 <= exponent <= 40:
            return base ** exponent
    return None


class ShapeSizes:
    """Sizes of a function pair's shapes; equal dimensions are one size, because they belong together."""

    def __init__(self, input_shapes):
        try:
            self._shapes = json.loads(input_shapes)
            self._given = json.loads(input_shapes)
            for spec in self._shapes.values():
                [size + 0 for size in spec["shape"]]
        except (ValueError, TypeError, KeyError, AttributeError):
            self._shapes = self._given = {}  # not valid: loading it reports the error
        self._last = None

    def largest_first(self, smallest):
        """As for SourceSizes."""
        found = {size for spec in self._shapes.values() for size in spec["shape"] if size >= smallest}
        return sorted(found, reverse=True)

    def halve(self, size):
        """Halve every dimension of this size."""
        self._last = {name: list(spec["shape"]) for name, spec in self._shapes.items()}
        for spec in self._shapes.values():
            spec["shape"] = [each // 2 if each == size else each for each in spec["shape"]]

    def undo(self):
        """As for SourceSizes."""
        for name, shape in self._last.items():
            self._shapes[name]["shape"] = shape

    def changed(self):
        """{argument: new shape}."""
        return {name: spec["shape"] for name, spec in self._shapes.items()
                if spec["shape"] != self._given[name]["shape"]}

    def written(self, source, input_shapes):
        """As for SourceSizes."""
        return source, json.dumps(self._shapes) if self.changed() else input_shapes
