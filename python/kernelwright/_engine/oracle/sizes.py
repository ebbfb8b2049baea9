"""Finds and changes the sizes of a task: module-level integers of its source, or dimensions of its shapes."""
import ast
import json


# Functions of PyTorch that take a shape; the first ones also take it as separate arguments.
_MAKERS = {"rand", "randn", "ones", "zeros", "empty"}
_OTHER_MAKERS = {"randint", "full", "normal"}


def sizes_of(source, input_shapes, with_literals=False):
    """The sizes of a task: those of its shapes, where it has shapes. Literals in get_inputs are left out unless asked for."""
    return ShapeSizes(input_shapes) if input_shapes and input_shapes.strip() else SourceSizes(source, with_literals)


class _Sizes:
    """Sizes with a name and a `value`, which `put` changes."""

    sizes = ()
    _last = ()

    def largest_first(self, smallest):
        """Sizes of at least `smallest`, the largest first."""
        return sorted((size for size in self.sizes if size.value >= smallest), key=lambda size: -size.value)

    def equal_ones(self, smallest):
        """Lists of sizes of one value, at least `smallest`, the largest first."""
        groups = {}
        for size in self.largest_first(smallest):
            groups.setdefault(size.value, []).append(size)
        return [group for group in groups.values() if len(group) > 1]

    def halve(self, group):
        """Halve these sizes."""
        self._last = [(size, size.value) for size in group]
        for size in group:
            size.put(size.value // 2)

    def undo(self):
        """Undo the last halving."""
        for size, value in self._last:
            size.put(value)


class SourceSizes(_Sizes):
    """Module-level assignments of integers, alone or within a list or tuple: `batch, shape = 16, (1024, 64)`."""

    def __init__(self, source, with_literals=False):
        self._tree = ast.parse(source)
        self.sizes = [slot for node in self._tree.body for slot in _slots(node)]
        if with_literals:
            self.sizes += _axes(self._tree)
        self._given = [slot.value for slot in self.sizes]

    def changed(self):
        """{name: new value} of the sizes that differ from the source as given."""
        return {slot.name: slot.value for slot, given in zip(self.sizes, self._given) if slot.value != given}

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


class _Axis:
    """The equal literals that are this dimension of the inputs: the 64 of `torch.randn(64, 8), torch.randn(64)`."""

    def __init__(self, number, value, constants):
        self.name, self.value = f"dimension {number} of {value}", value
        self._constants = constants

    def put(self, value):
        self.value = value
        for constant in self._constants:
            constant.value = value


def _axes(tree):
    found = {}
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and function.name == "get_inputs":
            for call in ast.walk(function):
                for number, each in enumerate(_shape_of(call)):
                    if isinstance(each, ast.Constant) and type(each.value) is int:
                        found.setdefault((number, each.value), []).append(each)
    return [_Axis(*key, constants) for key, constants in found.items()]


def _shape_of(call):
    """The nodes of the shape that a call of _MAKERS gets."""
    name = getattr(call.func, "attr", getattr(call.func, "id", "")) if isinstance(call, ast.Call) else ""
    if name not in _MAKERS | _OTHER_MAKERS:
        return []
    given = [*call.args, *(each.value for each in call.keywords if each.arg == "size")]
    shape = next((each for each in given if isinstance(each, (ast.List, ast.Tuple))), None)
    if shape is not None:
        return shape.elts
    return call.args if name in _MAKERS else []


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


class ShapeSizes(_Sizes):
    """Sizes of a function pair's shapes; equal dimensions are one size, because they belong together."""

    def __init__(self, input_shapes):
        try:
            self._shapes = json.loads(input_shapes)
            self._given = json.loads(input_shapes)
            values = {size + 0: None for spec in self._shapes.values() for size in spec["shape"]}
        except (ValueError, TypeError, KeyError, AttributeError):
            self._shapes, self._given, values = {}, {}, {}  # not valid: loading it reports the error
        self.sizes = [_Dimension(self._shapes, value) for value in values]

    def changed(self):
        """{argument: new shape}."""
        return {name: spec["shape"] for name, spec in self._shapes.items()
                if spec["shape"] != self._given[name]["shape"]}

    def written(self, source, input_shapes):
        """As for SourceSizes."""
        return source, json.dumps(self._shapes) if self.changed() else input_shapes


class _Dimension:
    """Every dimension of one size."""

    def __init__(self, shapes, value):
        self.value = value
        self._places = [(spec["shape"], at) for spec in shapes.values()
                        for at, each in enumerate(spec["shape"]) if each == value]

    def put(self, value):
        self.value = value
        for shape, at in self._places:
            shape[at] = value
