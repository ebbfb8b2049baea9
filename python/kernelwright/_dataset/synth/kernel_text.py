"""A kernel of PyTorch's compiler as a plain Triton function: no helpers, readable names, named sizes."""
import ast
import copy
import functools
import re
from dataclasses import dataclass

from .captured import Unsupported, is_call, name_of
from .layout import layout_of, prologue
from .plain import ELEMENTS, FLOATS, NamedSizes, Plain, WrappedIndex, call_of, parts_of, terms_of, weight
from .sizes import Sizes
from .statements import (
    Assign,
    Effect,
    Loop,
    add_in_product,
    drop_unused,
    each_statement,
    is_carried,
    join_lines,
    keep_narrow,
    name_values,
    names_in,
)

INDEX = re.compile(r"^(?:[zyx]|r0_)\d+$")
MADE_BY_LAYOUT = re.compile(r"^(?:[zyx]|r0_|r)(?:numel|offset|index|mask|base)$|^R0_BLOCK$|^RBLOCK$")
PINNED = ("load", "sum", "max", "min", "argmax", "argmin", "dot", "cumsum", "cumprod", "associative_scan", "reduce")


@dataclass
class Tensor:
    """A tensor of a launch: its readable name, and its form."""

    name: str
    sizes: tuple
    strides: tuple


@dataclass
class Value:
    """Facts about a value: the element type, and the axes along which it differs."""

    dtype: str = None
    axes: frozenset = frozenset()
    constant: ast.expr = None


@dataclass
class KernelText:
    """A finished kernel: the function, and what its launch passes."""

    name: str
    source: str
    tensors: list  # the compiler's parameters in the order of the new ones
    sizes: list  # parameters with numbers: the axis of each
    strides: dict  # parameters after these: what the launcher passes, such as "x.stride(0)"
    layout: object
    needs_libdevice: bool


def plain_kernel(kernel, name, tensors, numels, tile, others=()):
    """The plain text of a kernel; `tensors` gives each pointer parameter its Tensor, `others` are those of the launcher."""
    return KernelWriter(kernel, layout_of(kernel, numels, tile), tensors, others).write(name)


class KernelWriter:
    """Rewrites one kernel."""

    def __init__(self, kernel, layout, tensors, others=()):
        self.kernel, self.layout, self.tensors = kernel, layout, tensors
        self.pointers = {parameter: f"{tensor.name}_ptr" for parameter, tensor in tensors.items()}
        self.strides = {}
        self.narrow = {}  # a value loaded and widened: the element type of its tensor
        self.zeros_outside = {}  # a loaded value: the mask outside of which it is 0
        self.values = {}
        self.aliases = self._first_names()
        self.indices = {}  # name of an index: its axes
        self.helpers = {}
        for axis, made in layout.axes.items():
            self.indices[made.index] = frozenset([axis])
        self.sizes = Sizes(self._known_sizes(others))

    def _known_sizes(self, others):
        """The sizes of the axes, then those of the tensors, which become parameters where they are used."""
        for made in self.layout.axes.values():
            yield made.numel, ast.Name(made.size, ast.Load())
        for tensor in (*reversed(self.tensors.values()), *others):
            for at, size in enumerate(tensor.sizes):
                yield size, functools.partial(self._parameter, f"{tensor.name}_size{at}", f"{tensor.name}.shape[{at}]")

    def _first_names(self):
        aliases = {}
        for axis, made in self.layout.axes.items():
            short = axis.rstrip("_") if axis == "r0_" else axis
            for prefix in {axis, "r" if axis == "r0_" else axis}:
                aliases[f"{prefix}index"] = made.index
                aliases[f"{prefix}mask"] = made.mask
                aliases[f"{prefix}numel"] = made.size
            aliases[f"{short.upper()}_BLOCK" if axis == "r0_" else f"{axis.upper()}BLOCK"] = made.block
        aliases["RBLOCK"] = aliases.get("R0_BLOCK", "")
        return aliases

    def write(self, name):
        """The finished kernel."""
        body = self._block(self.kernel.function.body, False)
        drop_unused(body)
        keep_narrow(body, self.narrow)
        join_lines(body)
        add_in_product(body)
        for statement in each_statement(body):
            statement.value = NamedSizes(self.sizes).visit(WrappedIndex(self).visit(statement.value))
        self._name_results(body)
        before, inside = prologue(self.layout)
        taken = self.layout.names() | set(self.pointers.values()) | {"tl", "libdevice", "float", "triton"}
        name_values(body, taken)
        lines = self._lines(body, before, inside)
        text = "\n".join(lines)
        sizes = [axis for axis, made in self.layout.axes.items() if re.search(rf"\b{made.size}\b", text)]
        tensors = sorted(self.pointers, key=lambda each: (not each.startswith("in_ptr"), list(self.pointers).index(each)))
        blocks = list(self.layout.blocks)
        strides = {name: value for name, value in self.strides.items() if re.search(rf"\b{name}\b", text)}
        parameters = [self.pointers[each] for each in tensors] + [self.layout.axes[axis].size for axis in sizes] + [*strides]
        head = f"def {name}({', '.join(parameters + [f'{block}: tl.constexpr' for block in blocks])}):"
        source = "\n".join(["@triton.jit", wrapped(head), f"    # {self.layout.comment}"] + ["    " + line for line in lines])
        helpers = "".join(f"@triton.jit\n{ast.unparse(each)}\n\n\n" for each in self.helpers.values())
        return KernelText(name, helpers + source, tensors, sizes, strides, self.layout, "libdevice." in text)

    def _name_results(self, body):
        """A value that is only stored has the name of the tensor that gets it."""
        read = [name for each in each_statement(body) for name in names_in(each.value)]
        made = {each.target: each for each in each_statement(body) if isinstance(each, Assign) and not is_carried(each.target)}
        for each in each_statement(body):
            if isinstance(each, Effect) and is_call(each.value, "store"):
                value, pointer = name_of(each.value.args[1]), next(
                    name for name in names_in(each.value.args[0]) if name.endswith("_ptr"))
                if value in made and read.count(value) == 1:
                    made[value].named = pointer.removesuffix("_ptr")

    def _lines(self, body, before, inside):
        used = set()
        for statement in each_statement(body):
            used |= set(names_in(statement.value))
        idle = {axis.mask or axis.index for axis in self.layout.axes.values() if axis.mask or axis.is_scalar} - used
        lines = [line for line in before if line.split(" = ")[0] not in idle]
        for statement in body:
            if isinstance(statement, Loop):
                axis = self.layout.axes["r0_"]
                lines.append(f"for start in range(0, {axis.size}, {axis.block}):")
                lines += ["    " + line for line in inside if line.split(" = ")[0] not in idle]
                lines += ["    " + line for each in statement.body for line in self._line(each)]
            else:
                lines += self._line(statement)
        return lines

    def _line(self, statement):
        if isinstance(statement, Loop):
            raise Unsupported("a loop in a loop")
        text = ast.unparse(ast.fix_missing_locations(statement.value)).replace("'", '"')
        text = text.replace('float("-inf")', '-float("inf")')
        text = f"{statement.target} = {text}" if isinstance(statement, Assign) else text
        return wrapped(text, 104).split("\n")

    def _block(self, nodes, in_loop):
        made = []
        for node in nodes:
            if isinstance(node, ast.For):
                made.append(Loop(self._block(node.body, True)))
            elif isinstance(node, ast.Assign):
                made += self._assign(node.targets[0], node.value)
            elif isinstance(node, ast.Expr) and is_call(node.value, "store"):
                made.append(self._store(node.value))
            elif isinstance(node, ast.Expr) and is_call(node.value, "debug_barrier"):
                if self._reads_what_it_writes():
                    made.append(Effect(node.value))
            elif not isinstance(node, ast.AnnAssign) and not (
                    isinstance(node, ast.Expr) and is_call(node.value, "device_assert")):
                raise Unsupported(f"in a kernel: {ast.unparse(node).split('(')[0]}")
        return made

    def _reads_what_it_writes(self):
        return any(is_call(node, "load") and any(name.startswith("in_out") for name in names_in(node))
                   for node in ast.walk(self.kernel.function))

    def _assign(self, target, value):
        if isinstance(target, ast.Tuple):
            return self._assign_tuple(target, value)
        name = target.id
        if MADE_BY_LAYOUT.match(name):
            return []
        if INDEX.match(name):
            return self._assign_index(name, value)
        if name in self.values and not is_carried(name):
            # The compiler converts the position of a maximum to a float and stores it as an integer.
            if is_call(value, "to") and name_of(value.func.value) == name:
                return []
            raise Unsupported("a value that is assigned twice")
        constant = self._constant(value)
        if constant is not None and not is_carried(name):
            self.values[name] = constant
            return []
        plain, facts = self._expression(value)
        if isinstance(plain, ast.Name) and not is_carried(name) and not is_carried(plain.id):
            self.aliases[name] = plain.id
            self.values.setdefault(plain.id, facts)
            self.values[name] = facts
            return []
        if isinstance(plain, ast.Constant) and not is_carried(name):
            self.values[name] = Value(facts.dtype, frozenset(), plain)
            return []
        self.values.setdefault(name, facts)
        self._note_zeros(name, plain)
        return [Assign(name, plain, self._name_for(name, plain), is_carried(name) or self._is_pinned(plain))]

    def _note_zeros(self, name, plain):
        load = plain.func.value if is_call(plain, "to") else plain
        if load is not plain and is_call(load, "load"):
            self.narrow[name] = Plain(self).dtype(load)
        words = {word.arg: word.value for word in load.keywords} if is_call(load, "load") else {}
        if isinstance(words.get("other"), ast.Constant) and words["other"].value == 0:
            self.zeros_outside[name] = ast.dump(words["mask"])

    def _assign_index(self, name, value):
        if isinstance(value, ast.Name):
            self.aliases[name] = self.aliases[value.id]
            return []
        plain = Plain(self, None).visit(copy.deepcopy(value))
        for node in ast.walk(plain):
            if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and node.right.value > 2:
                node.right = self.size(node.right.value)
        axes = frozenset().union(*(self.axes_of(each) for each in names_in(plain)))
        self.indices[name] = axes
        self.values[name] = Value("int32", axes)
        return [Assign(name, plain, f"i{name[-1]}", True)]

    def _assign_tuple(self, target, value):
        names = [each.id for each in target.elts]
        if is_call(value, "associative_scan") and len(names) == 1:
            operand, facts = self._expression(value.args[0].elts[0])
            self.values[names[0]] = facts
            return [Assign(names[0], self._scan(operand, value.args[2].id), "running", True)]
        for side in ("max", "min"):
            if is_call(value, f"{side}_with_index") and not self.layout.loops:
                operand, facts = self._expression(value.args[0])
                self.values[names[1]] = Value("int32", facts.axes - {"r0_"})
                return [Assign(names[1], self._reduction(f"arg{side}", operand), "position", True)]
        raise Unsupported(f"in a kernel: {ast.unparse(value).split('(')[0]}")

    def _scan(self, operand, helper):
        function = next(each for each in self.kernel.helpers if each.name == helper)
        axis = 0 if self.layout.style == "row" else 1
        for operator, name in ((ast.Add, "cumsum"), (ast.Mult, "cumprod")):
            if len(function.body) == 2 and isinstance(function.body[0].value, ast.BinOp) and isinstance(
                    function.body[0].value.op, operator):
                return call_of(f"tl.{name}", [operand], axis=ast.Constant(axis))
        raise Unsupported("a scan that is neither a sum nor a product")

    def _reduction(self, name, operand):
        if self.layout.style == "row":
            return call_of(f"tl.{name}", [operand], axis=ast.Constant(0))
        return call_of(f"tl.{name}", [operand], axis=ast.Constant(1), keep_dims=ast.Constant(True))

    def _constant(self, value):
        """A literal that the compiler wrote as a tensor of one element, converted or not."""
        if is_call(value, "full") and len(value.args) == 3:
            dtype = value.args[2].attr
            number = copy.deepcopy(value.args[1])
            if dtype in FLOATS and isinstance(number, ast.Constant):
                number = ast.Constant(float(number.value))
            return Value(dtype, frozenset(), number)
        if is_call(value, "to") and isinstance(value.func.value, ast.Name):
            known = self.values.get(value.func.value.id)
            if known is not None and known.constant is not None and isinstance(known.constant, ast.Constant):
                dtype = value.args[0].attr
                number = known.constant.value
                return Value(dtype, frozenset(), ast.Constant(float(number) if dtype in FLOATS else number))
        return None

    def _is_pinned(self, plain):
        while is_call(plain, "to"):
            plain = plain.func.value
        return isinstance(plain, ast.Call) and isinstance(plain.func, ast.Attribute) and plain.func.attr in PINNED

    def _name_for(self, name, plain):
        if is_carried(name):
            return "acc"
        while is_call(plain, "to"):
            plain = plain.func.value
        if is_call(plain, "load"):
            for pointer, readable in self.pointers.items():
                if readable in names_in(plain.args[0]):
                    return self.tensors[pointer].name
        return ""

    def _store(self, call):
        pointer, value, mask = call.args[:3]
        address, axes = self._address(pointer)
        plain, _ = self._expression(value)
        keywords = {}
        condition = self._mask(mask, axes)
        if condition is not None:
            keywords["mask"] = condition
        for word in call.keywords:
            raise Unsupported(f"a store with {word.arg}")
        return Effect(call_of("tl.store", [address, plain], **keywords))

    def load(self, call):
        """A load with its mask by name and without hints to the cache."""
        address, axes = self._address(call.args[0])
        mask = self._mask(call.args[1], axes) if len(call.args) > 1 else None
        other = next((word.value for word in call.keywords if word.arg == "other"), None)
        dtype = ELEMENTS.get(self.kernel.signature[self._pointer_in(call.args[0])][1:])
        keywords = {}
        if mask is not None:
            keywords["mask"] = mask
        if mask is not None and other is not None:
            keywords["other"] = other if dtype in FLOATS or not isinstance(other, ast.Constant) else ast.Constant(0)
        return call_of("tl.load", [address], **keywords), Value(dtype, axes)

    def _pointer_in(self, node):
        return next(name for name in names_in(node) if name in self.pointers)

    def _address(self, node):
        """Pointer and offset, the largest stride first; and the axes that the offset depends on."""
        if is_call(node.right, "broadcast_to"):
            return ast.Name(self.pointers[node.left.id], ast.Load()), frozenset()
        names = names_in(node.right)
        axes = frozenset().union(*(self.axes_of(name) for name in names))
        terms = [Plain(self, axes).visit(each) for each in terms_of(copy.deepcopy(node.right))]
        terms.sort(key=weight, reverse=True)
        terms = [self._term(each, node.left.id) for each in terms]
        total = ast.Name(self.pointers[node.left.id], ast.Load())
        for term in terms:
            if not isinstance(term, ast.Constant):
                total = ast.BinOp(total, ast.Add(), term)
            elif term.value:
                total = ast.BinOp(total, ast.Add() if term.value > 0 else ast.Sub(), ast.Constant(abs(term.value)))
        return total, axes

    def _term(self, term, pointer):
        """`250*row` as `row * n_cols` or `row * x_stride0`; a number alone as it is."""
        if isinstance(term, ast.UnaryOp) and isinstance(term.operand, ast.Constant):
            return ast.Constant(-term.operand.value)
        if not (isinstance(term, ast.BinOp) and isinstance(term.op, ast.Mult) and isinstance(term.right, ast.Constant)):
            return term
        return ast.BinOp(term.left, ast.Mult(), self._stride(term.right.value, pointer, names_in(term.left)))

    def _stride(self, number, pointer, names):
        """The size of the other axis, where a row has so many elements; else a stride of the tensor; else the number."""
        own = frozenset().union(*(self.axes_of(each) for each in names))
        for axis, made in self.layout.axes.items():
            if made.numel == number and axis not in own and number > 1 and self.layout.style != "flat":
                return ast.Name(made.size, ast.Load())
        tensor = self.tensors[pointer]
        for at, stride in enumerate(tensor.strides):
            if stride == number and number > 1 and tensor.sizes[at] > 1:
                return self._parameter(f"{tensor.name}_stride{at}", f"{tensor.name}.stride({at})")
        return self.sizes.whole(number, 0) or ast.Constant(number)

    def _parameter(self, name, text):
        self.strides[name] = text
        return ast.Name(name, ast.Load())

    def size(self, number):
        """A size by which an index is divided: of an axis, of a tensor, an expression of sizes; else the number."""
        for made in self.layout.axes.values():
            if made.numel == number and self.layout.style != "flat":
                return ast.Name(made.size, ast.Load())
        for tensor in reversed(self.tensors.values()):
            if tensor.sizes.count(number) == 1:
                at = tensor.sizes.index(number)
                return self._parameter(f"{tensor.name}_size{at}", f"{tensor.name}.shape[{at}]")
        return self.sizes.whole(number, 0) or ast.Constant(number)

    def axes_of(self, name):
        """The axes along which a name's value differs."""
        if name in self.values:
            return self.values[name].axes
        return self.indices.get(self.aliases.get(name, name), frozenset())

    def _mask(self, node, axes):
        """The conditions that matter: those of whole axes that are never exceeded are left out."""
        parts = []
        for each in parts_of(node):
            if isinstance(each, ast.Constant):
                continue
            name = name_of(each)
            axis = next((key for key in self.layout.axes if name == f"{key}mask"), None)
            if axis is None:
                parts.append(Plain(self, axes | self._axes_in(each)).visit(copy.deepcopy(each)))
            elif not self.layout.axes[axis].is_scalar and not self._is_full(axis):
                parts.append(Plain(self, axes).visit(copy.deepcopy(each)))
        for axis in sorted(axes):  # blocks may be larger than those that the compiler had in mind
            made = self.layout.axes[axis]
            if not made.is_scalar and not self._is_full(axis) and not any(made.mask in names_in(each) for each in parts):
                parts.append(Plain(self, axes).visit(ast.Name(f"{axis}mask", ast.Load())))
        if not parts:
            return None
        parts.sort(key=self._mask_order)
        total = parts[0]
        for each in parts[1:]:
            total = ast.BinOp(total, ast.BitAnd(), each)
        return total

    def _mask_order(self, part):
        """Rows, the inner dimension, columns; other conditions first."""
        names = names_in(part)
        order = ("y", "r0_", "x") if self.layout.style == "product" else ("y", "x", "r0_")
        return next((place for place, axis in enumerate(order, 1) if axis in self.layout.axes and
                     self.layout.axes[axis].mask in names), 0)

    def _axes_in(self, node):
        return frozenset().union(*(self.axes_of(name) for name in names_in(node)))

    def _is_full(self, axis):
        """A reduced axis that one block covers exactly needs no mask."""
        numel = self.layout.axes[axis].numel
        least = 16 if self.layout.style == "product" else 1
        return axis == "r0_" and not self.layout.loops and numel & (numel - 1) == 0 and numel >= least

    def _expression(self, node):
        axes = self._axes_in(node)
        writer = Plain(self, axes)
        plain = writer.visit(copy.deepcopy(node))
        return plain, Value(writer.dtype(plain), writer.result_axes(node, axes))


def wrapped(line, width=110, indent=""):
    """A call or definition whose arguments continue below the first one where the line is too long."""
    launch = line.find("](")
    if not indent and len(line) > width and launch >= 0 and " = " not in line[:launch]:
        return line[:launch + 2] + "\n" + wrapped("    " + line[launch + 2:], width, "    ")
    places = [at for at in range(len(indent), min(width, len(line))) if line.startswith(", ", at)
              and line.count("[", 0, at) == line.count("]", 0, at)]
    if len(line) <= width or not places:
        return line
    indent = indent or " " * (line.index("(") + 1)
    return line[:places[-1] + 1] + "\n" + wrapped(indent + line[places[-1] + 2:], width, indent)
