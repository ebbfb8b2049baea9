"""One expression of the compiler's in the words of the language: no helpers, no added dimensions, plain masks."""
import ast
import copy

from .captured import Unsupported, is_call, name_of
from .statements import names_in

ELEMENTS = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64", "i64": "int64", "i32": "int32",
            "i16": "int16", "i8": "int8", "u8": "uint8", "i1": "int1"}
FLOATS = ("float16", "bfloat16", "float32", "float64")
IN_LANGUAGE = ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "erf", "abs", "floor", "ceil", "fma", "sigmoid")
REDUCTIONS = {"max2": "max", "min2": "min", "sum": "sum"}


class Plain(ast.NodeTransformer):
    """Replaces the compiler's names and helpers within one expression."""

    def __init__(self, kernel, axes=frozenset()):
        self.kernel, self.axes = kernel, axes
        self.reduced = False

    # Names

    def visit_Name(self, node):
        """A value, an index with its direction, or a literal."""
        kernel = self.kernel
        known = kernel.values.get(node.id)
        if known is not None and known.constant is not None:
            return copy.deepcopy(known.constant)
        name = node.id
        while name in kernel.aliases and kernel.aliases[name] != name:
            name = kernel.aliases[name]
        if name == "":
            return ast.Constant(True)  # the mask of an axis with one element a program
        plain = ast.Name(name, ast.Load())
        return self._directed(name, plain) if kernel.layout.style == "product" and self.axes is not None else plain

    def _directed(self, name, plain):
        """In a product, indices are vectors: rows run down, columns across, and the inner dimension either way."""
        axes = self.kernel.layout.axes
        axis = next((key for key, made in axes.items() if name in (made.index, made.mask)), None)
        if axis is None and len(self.kernel.indices.get(name, ())) == 1:
            axis = next(iter(self.kernel.indices[name]))
        if axis is None or axis == "z":
            return plain
        if axis == "r0_" and not ({"x", "y"} & self.axes):
            raise Unsupported("a vector along the inner dimension of a product")
        if {"x", "y", "r0_"} <= self.axes:
            raise Unsupported("a value over all three dimensions of a product")
        down = axis == "y" or (axis == "r0_" and "x" in self.axes)
        return ast.parse(f"{name}[:, None]" if down else f"{name}[None, :]", mode="eval").body

    # Shapes

    def visit_Subscript(self, node):
        """Added dimensions: none are left of `[:, None]` after a reduction."""
        value = self.visit(node.value)
        return value

    def shape(self, node):
        """A list of block sizes as a tuple, without the axes of one element a program."""
        names = [self.kernel.aliases.get(name_of(each), "") if isinstance(each, ast.Name) else each for each in node.elts]
        kept = [ast.Name(each, ast.Load()) if isinstance(each, str) else each for each in names if each != ""]
        return ast.Tuple(kept, ast.Load())

    # Operations

    def visit_BinOp(self, node):
        """Arithmetic; a mask without the parts that always hold."""
        if isinstance(node.op, ast.BitAnd) and any(name.endswith("mask") for name in names_in(node)):
            mask = self.kernel._mask(node, frozenset())
            return mask if mask is not None else ast.Constant(True)
        node = self.generic_visit(node)
        if isinstance(node.op, ast.Mult):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(one, ast.Constant) and one.value == 1 and not isinstance(other, ast.Constant):
                    return other
            if isinstance(node.left, ast.Constant):
                node.left, node.right = node.right, node.left
        if isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant) and "r0_" in self.kernel.layout.axes:
            made = self.kernel.layout.axes["r0_"]
            if node.right.value == made.numel and made.numel > 1:
                node.right = ast.Name(made.size, ast.Load())
        return node

    def visit_Call(self, node):
        """The functions of the compiler's helper modules in the words of the language."""
        function = node.func
        owner = name_of(function.value) if isinstance(function, ast.Attribute) else None
        name = function.attr if isinstance(function, ast.Attribute) else name_of(function)
        if owner is None and name not in ("to", "float", "broadcast_to"):
            raise Unsupported(f"in a kernel: {name}")
        if name == "load" and owner == "tl":
            return self.kernel.load(node)[0]
        if name == "to":
            return self._converted(node)
        if owner == "tl":
            return self._language(node, name)
        if owner in ("libdevice", "tl_math"):
            arguments = [self.visit(each) for each in node.args]
            return call_of(f"tl.{name}" if name in IN_LANGUAGE else f"libdevice.{name}", arguments)
        if owner == "triton_helpers":
            return self._helper(node, name)
        if name == "float":
            return node
        raise Unsupported(f"in a kernel: {owner}.{name}")

    def _converted(self, node):
        value = self.visit(node.func.value)
        dtype = self._target_type(node.args[0])
        if isinstance(value, ast.Constant):
            return ast.Constant(float(value.value) if dtype in FLOATS else int(value.value))
        if self.dtype(value) == dtype:
            return value
        return ast.Call(ast.Attribute(value, "to", ast.Load()), [ast.parse(f"tl.{dtype}", mode="eval").body], [])

    def _target_type(self, node):
        """The type in `to(tl.float32)` and in `to(tmp0.dtype)`."""
        if name_of(node.value) == "tl":
            return node.attr
        dtype = self.dtype(self.visit(node.value))
        if dtype is None:
            raise Unsupported("a conversion to an unknown type")
        return dtype

    def _language(self, node, name):
        style = self.kernel.layout.style
        if name == "broadcast_to":
            return self._broadcast(node)
        if name in ("reshape", "trans"):
            if style != "product":
                raise Unsupported(f"in a kernel: tl.{name}")
            return self.visit(node.args[0])
        if name == "sum":
            return self._reduced("sum", node)
        if name == "where":
            condition, one, other = (self.visit(each) for each in node.args)
            if isinstance(condition, ast.Constant):
                return one if condition.value else other
            if isinstance(one, ast.Name) and isinstance(other, ast.Constant) and other.value == 0 and (
                    self.kernel.zeros_outside.get(one.id) == ast.dump(condition)):
                return one  # the load has put zeros there
            return call_of("tl.where", [condition, one, other])
        if name == "full":
            return self._filled(node)
        if name == "zeros":
            return call_of("tl.zeros", [self.shape(node.args[0])], dtype=node.args[1])
        if name == "sqrt_rn":
            return call_of("tl.sqrt", [self.visit(each) for each in node.args])
        if name == "dot":
            a, b = (self.visit(each) for each in node.args)
            return call_of("tl.dot", [a, b], **{word.arg: word.value for word in node.keywords})
        if name not in (*IN_LANGUAGE, "minimum", "maximum", "div_rn", "cast"):
            raise Unsupported(f"in a kernel: tl.{name}")
        return call_of(f"tl.{name}", [self.visit(each) for each in node.args],
                       **{word.arg: self.visit(word.value) for word in node.keywords})

    def _filled(self, node):
        shape, number, dtype = self.shape(node.args[0]), node.args[1], node.args[2]
        if isinstance(number, ast.Constant) and number.value in (0, False) and shape.elts:
            return call_of("tl.zeros", [shape], dtype=dtype)
        return call_of("tl.full", [shape, number], dtype=dtype)

    def _broadcast(self, node):
        """A value that has all of the block's axes needs no broadcast."""
        value = self.visit(node.args[0])
        if self.kernel.layout.style == "product":
            return value
        axes = {axis for axis, made in self.kernel.layout.axes.items() if not made.is_scalar}
        own = self.kernel._axes_in(node.args[0])
        if axes <= own or isinstance(value, ast.Constant):
            return value
        if isinstance(node.args[1], ast.Attribute):
            return value
        return call_of("tl.broadcast_to", [value, self.shape(node.args[1])])

    def _reduced(self, name, node):
        if self.kernel.layout.style == "product":
            raise Unsupported("a reduction in a product")
        self.reduced = True
        return self.kernel._reduction(name, self.visit(node.args[0]))

    def _helper(self, node, name):
        if name in REDUCTIONS:
            return self._reduced(REDUCTIONS[name], node)
        if name == "promote_to_tensor":
            return self.visit(node.args[0])
        if name in ("maximum", "minimum"):
            one, other = (self.visit(each) for each in node.args)
            if isinstance(one, ast.Constant):
                one, other = other, one
            if isinstance(other, ast.Constant) and self.dtype(one) in FLOATS:
                other = ast.Constant(float(other.value))
            return call_of(f"tl.{name}", [one, other])
        raise Unsupported(f"in a kernel: triton_helpers.{name}")

    # Facts

    def result_axes(self, node, axes):
        """The axes of the result of the expression."""
        if self.kernel.layout.style == "product" and any(is_call(each, "dot") for each in ast.walk(node)):
            return (axes - {"r0_"}) | {"x", "y"}
        if any(is_call(each, "broadcast_to") or is_call(each, "full") for each in ast.walk(node)) and not self.reduced:
            return axes | (frozenset(self.kernel.layout.axes) if self.kernel.layout.style != "product" else frozenset())
        if self.reduced:
            return axes - {"r0_"}
        return axes

    def dtype(self, node):
        """The element type of a plain expression, where it is known."""
        if isinstance(node, ast.Name):
            known = self.kernel.values.get(node.id)
            if known is None:
                return "int32" if node.id in {axis.size for axis in self.kernel.layout.axes.values()} else None
            return known.dtype
        if isinstance(node, ast.Compare):
            return "int1"
        if isinstance(node, ast.UnaryOp):
            return self.dtype(node.operand)
        if isinstance(node, ast.BinOp):
            return wider(self.dtype(node.left), self.dtype(node.right), node)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return None
        name = node.func.attr
        if name == "to":
            return node.args[0].attr
        if name == "load":
            pointer = next(key for key, value in self.kernel.pointers.items() if value in names_in(node.args[0]))
            return ELEMENTS.get(self.kernel.kernel.signature[pointer][1:])
        if name == "dot":
            return "float32"
        if name in ("full", "zeros"):
            return next((word.value.attr for word in node.keywords if word.arg == "dtype"), None)
        if name == "where":
            return wider(self.dtype(node.args[1]), self.dtype(node.args[2]), node)
        if name in ("argmax", "argmin"):
            return "int32"
        return self.dtype(node.args[0]) if node.args else None


class WrappedIndex(ast.NodeTransformer):
    """Names the size in `where(i < 0, i + 32, i)`."""

    def __init__(self, kernel):
        self.kernel = kernel

    def visit_Call(self, node):
        """A call, with the calls in it."""
        node = self.generic_visit(node)
        if is_call(node, "where") and wraps_negative(*node.args):
            node.args[1].right = self.kernel.size(node.args[1].right.value)
        return node


class NamedSizes(ast.NodeTransformer):
    """Replaces numbers that are sizes, or near one, by expressions of sizes."""

    def __init__(self, sizes):
        self.sizes = sizes

    def visit_Constant(self, node):
        """A whole number, or a floating point number that is a size or the reciprocal of one."""
        if isinstance(node.value, float):
            return self.sizes.real(node.value) or node
        return (self.sizes.whole(node.value) if isinstance(node.value, int) else None) or node

    def visit_BinOp(self, node):
        """`x + -n` as `x - n`, also of a product with -n, and `x * (1 / n)` as `x / n`."""
        node = self.generic_visit(node)
        if isinstance(node.op, ast.Add) and isinstance(node.right, ast.BinOp) and isinstance(node.right.op, ast.Mult) and (
                isinstance(node.right.left, ast.UnaryOp) and isinstance(node.right.left.op, ast.USub)):
            return ast.BinOp(node.left, ast.Sub(), self.visit(ast.BinOp(node.right.left.operand, ast.Mult(), node.right.right)))
        if isinstance(node.op, ast.Add) and isinstance(node.right, ast.UnaryOp) and isinstance(node.right.op, ast.USub):
            return ast.BinOp(node.left, ast.Sub(), node.right.operand)
        if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Constant) and node.left.value == 1:
            return node.right
        if isinstance(node.op, ast.Mult) and is_reciprocal(node.right):
            return ast.BinOp(node.left, ast.Div(), node.right.right)
        return node


def is_reciprocal(node):
    """Whether it is `1.0 / n`."""
    return (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and isinstance(node.left, ast.Constant)
            and node.left.value == 1.0)


def wraps_negative(condition, one, other):
    """Whether it is `where(i < 0, i + size, i)`."""
    return (isinstance(condition, ast.Compare) and isinstance(condition.ops[0], ast.Lt) and isinstance(one, ast.BinOp)
            and isinstance(one.right, ast.Constant) and ast.dump(one.left) == ast.dump(other))


def wider(one, other, node):
    """The type of an operation on two types, where that is plain to see."""
    if one is None or other is None:
        has_literal = any(isinstance(each, ast.Constant) for each in ast.iter_child_nodes(node)) or any(
            is_call(each, "float") for each in ast.iter_child_nodes(node))
        return (one or other) if has_literal and (one or other) in FLOATS else None
    if one == other:
        return one
    floats = [each for each in (one, other) if each in FLOATS]
    return max(floats, key=FLOATS.index) if floats else None


def terms_of(node):
    """The terms of a sum."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return terms_of(node.left) + terms_of(node.right)
    return [node]


def weight(term):
    """The stride of a term of an address: the largest comes first."""
    if isinstance(term, ast.BinOp) and isinstance(term.op, ast.Mult) and isinstance(term.right, ast.Constant):
        return abs(term.right.value)
    return 1 if not isinstance(term, (ast.Constant, ast.UnaryOp)) else 0


def parts_of(node):
    """The parts of a conjunction."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        return parts_of(node.left) + parts_of(node.right)
    return [node]


def call_of(function, arguments, **keywords):
    """A call as a node."""
    return ast.Call(ast.parse(function, mode="eval").body, arguments,
                    [ast.keyword(name, value) for name, value in keywords.items()])
