"""Compiles a kernel's source for the interpreter, so that the kernel can do only what a device can do.

The interpreter runs a kernel as plain Python. Without this module a kernel could call PyTorch or NumPy, and the result
would not be the kernel's. A device's compiler runs Python, too: functions of constants, once a specialisation. So each
call, global name, attribute and item in a kernel passes through a `Checks`:

- Triton's own functions and other kernels are called as they are.
- Any other function is called as a compiler calls it: with tensors that hold no data, once for the same arguments.
- A value that a compiler cannot have, such as an array or an object with operators of its own, is an error.

`and`, `or`, `not`, `min`, `max` and the variables of loops mean what the compiler makes of them, not what Python does.
"""
import ast
import builtins
import contextlib
import functools
import inspect
import secrets
import types
import weakref

import numpy as np
import torch
import triton.language as tl
import triton.runtime.interpreter as interpreter
from triton.runtime.jit import BoundConstexprFunction, ConstexprFunction
from triton.tools.tensor_descriptor import TensorDescriptor

from ..errors import NoDeviceCode
from . import lockstep
from .language import device_print, loop_range

Handle = interpreter.TensorHandle
ALLOWED_BUILTINS = ("len", "list", "range", "float", "int", "bool", "str", "tuple", "isinstance", "hasattr", "min",
                    "max", "abs", "sum", "enumerate", "zip", "reversed", "slice", "divmod", "round")
# Data that a launch must pass as an argument.
DATA = (np.ndarray, torch.Tensor, torch.UntypedStorage, torch.TypedStorage, memoryview, Handle,
        interpreter.BlockPointerHandle, interpreter.TensorDescHandle)
# Operators that may get a tensor, or give one. What other methods give is checked.
COMPARISONS = frozenset(f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge"))
OPERATORS = COMPARISONS | {"__neg__", "__pos__", "__abs__", "__invert__", "__iter__", "__next__"} | {
    f"__{side}{name}__" for side in ("", "r", "i") for name in (
        "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow", "lshift", "rshift", "and", "or",
        "xor")}
REFUSED_NODES = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.AsyncFunctionDef, ast.Yield, ast.YieldFrom, ast.Await,
                 ast.Global, ast.Nonlocal, ast.FunctionDef, ast.Lambda, ast.Try, ast.TryStar)
# What the source of a kernel is rewritten to call, under names that the kernel cannot know.
HIDDEN = ("call", "value", "tensor", "loop", "logical", "negation")
_getsource = inspect.getsourcelines


def _has_operators(owner):
    """Whether an operator on an instance of this class may run code of the class."""
    for each in owner.__mro__:
        if each.__module__ in ("builtins", "enum", "typing", "torch"):
            continue
        operators = OPERATORS - COMPARISONS if "__dataclass_fields__" in vars(each) else OPERATORS
        if any(inspect.isroutine(vars(each).get(name)) for name in operators):
            return True
    return False


def _name_of(function):
    found = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    return found if isinstance(found, str) else type(function).__name__


class Checks:
    """The functions that a compiled kernel calls; `language` holds the ids of the language's functions and classes."""

    def __init__(self, language):
        self._trusted = language | {id(getattr(builtins, name)) for name in ALLOWED_BUILTINS}
        self._kernels = interpreter.InterpretedFunction
        self._fine = {tl.tensor, tl.constexpr, tl.tuple, tl.dtype, int, float, bool, str, type(None), tuple, list, range,
                      slice, types.FunctionType, types.ModuleType, types.BuiltinFunctionType, types.MethodType, type,
                      functools.partial, torch.dtype, interpreter.InterpretedFunction, ConstexprFunction,
                      BoundConstexprFunction, TensorDescriptor, type(Ellipsis), dict, set, frozenset, complex, bytes}
        self._answers = {}

    # ---- what a kernel calls ---------------------------------------------------------------------

    def call(self, function, *args, **options):
        """The result of a call in a kernel."""
        if function is getattr:
            return self.value(getattr(*args))
        if function is print:
            return device_print(*args, **options)
        if (function is min or function is max) and any(isinstance(each, tl.tensor) for each in args):
            of_device = tl.core.builtin_min if function is min else tl.core.builtin_max
            return of_device(*args, **options)
        if type(function) is self._kernels or self.is_trusted(function):
            return function(*args, **options)
        if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
            return _named_tuple(function, args, options)
        return self._as_compiled(function, args, options)

    def loop(self, function, *args, **options):
        """The values over which a loop goes; the variable of a `range` is a number of the device."""
        if function is not range and function is not loop_range:
            return self.call(function, *args, **options)
        wide = any(isinstance(each, tl.tensor) and each.dtype.primitive_bitwidth == 64 for each in args)
        return _numbers(loop_range(*args, **options), wide)

    def logical(self, name, *operands):
        """`and` or `or` of operands that are computed when they are called: of tensors, of all their elements."""
        is_and, tensors, value = name == "logical_and", [], None
        for operand in operands:
            value = operand()
            if isinstance(value, tl.tensor):
                tensors.append(value)
            elif bool(value) is not is_and:
                return value
        combine = getattr(interpreter.interpreter_semantic, name)
        return functools.reduce(combine, tensors) if tensors else value

    def negation(self, value):
        """`not`: of a tensor, of all its elements."""
        return interpreter.interpreter_semantic.not_(value) if isinstance(value, tl.tensor) else not value

    def is_trusted(self, function):
        """Whether a function is Triton's, as it was before the candidate was imported."""
        if id(function) in self._trusted:
            return True
        kind = type(function)
        if kind is types.MethodType:
            return id(function.__func__) in self._trusted or type(function.__func__) is self._kernels
        if kind is types.BuiltinMethodType:  # of a string, a tuple, a list
            return type(function.__self__) in (str, tuple, list, dict, int, float)
        return False

    def value(self, found):
        """A value that a kernel read from elsewhere than its own variables; refuses what a compiler cannot have."""
        kind = type(found)
        if kind in self._fine:
            return found
        if isinstance(found, DATA):
            raise NoDeviceCode(f"it reads a value of type {kind.__name__}, which a device does not have")
        if id(kind) in self._trusted or issubclass(kind, np.generic):
            return found
        if not isinstance(found, type) and _has_operators(kind):
            raise NoDeviceCode(f"it uses an object of {kind.__module__}.{kind.__qualname__}, a class with operators of "
                               "its own")
        return found

    def arguments(self, values):
        """Checks a launch's arguments that reach the kernel as they are: its constants."""
        for value in values:
            self.value(value)
            if isinstance(value, (tuple, list)):
                self.arguments(value)

    # ---- functions that are no kernels -------------------------------------------------------------

    def _as_compiled(self, function, args, options):
        key = self._key(function, args, options)
        if key is not None and key in self._answers:
            return self._answers[key][1]
        answer = function(*map(_without_data, args), **{name: _without_data(each) for name, each in options.items()})
        self._check_answer(function, answer)
        if key is not None:
            self._answers[key] = function, answer
        return answer

    def _key(self, function, args, options):
        parts = [*map(_constant, args), *((name, _constant(each)) for name, each in sorted(options.items()))]
        owner = getattr(function, "__self__", None)
        key = id(getattr(function, "__func__", function)), id(owner), tuple(parts)
        with contextlib.suppress(TypeError):
            hash(key)
            return key
        return None

    def _check_answer(self, function, answer):
        if isinstance(answer, (tl.tensor, *DATA)):
            raise NoDeviceCode(f"it takes data from `{_name_of(function)}`, which is neither a function of Triton nor a "
                               "@triton.jit function")
        if isinstance(answer, (tuple, list, tl.tuple)):
            for each in answer:
                self._check_answer(function, each)
        elif isinstance(answer, dict):
            self._check_answer(function, list(answer.values()))
        else:
            self.value(answer)


def _numbers(values, wide):
    for value in values:
        kind = tl.int64 if wide or not -2 ** 31 <= value < 2 ** 31 else tl.int32
        yield tl.tensor(Handle(np.array([value], interpreter._get_np_dtype(kind)), kind), kind)


def _named_tuple(kind, args, options):
    # Without its own __new__, which would see the data.
    given = {**kind._field_defaults, **dict(zip(kind._fields, args)), **options}
    if len(args) > len(kind._fields) or given.keys() != set(kind._fields):
        raise TypeError(f"{kind.__name__} takes the fields {', '.join(kind._fields)}")
    return tuple.__new__(kind, [given[name] for name in kind._fields])


def _constant(value):
    """What of an argument a compiler knows; a tensor is its type."""
    if isinstance(value, tl.tensor):
        return "tensor", str(value.type)
    if isinstance(value, tl.constexpr):
        return "constexpr", _constant(value.value)
    if isinstance(value, (tuple, list, tl.tuple)):
        return type(value).__name__, tuple(map(_constant, value))
    return type(value), value


def _without_data(value):
    """An argument as a compiler knows it: a tensor has its type and no data."""
    if isinstance(value, tl.tensor):
        held = getattr(value.handle, "data", None)
        if not isinstance(held, np.ndarray):
            return value
        blank = np.full_like(held, np.nan if held.dtype.kind == "f" else 0)
        return tl.tensor(Handle(blank, value.handle.dtype), value.type)
    if type(value) in (tuple, list):
        return type(value)(map(_without_data, value))
    return value


# ---- source ----------------------------------------------------------------------------------------


class _Locals(ast.NodeVisitor):
    """The names that a kernel's body assigns, without those of comprehensions, and its parameters."""

    def __init__(self):
        self.names = set()

    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load):
            self.names.add(node.id)

    def visit_arg(self, node):
        self.names.add(node.arg)

    def visit_comprehension(self, node):
        self.visit(node.iter)


class _Rewriter(ast.NodeTransformer):
    """Passes calls and values through the checks, and makes assigned values tensors, as Triton's rewriter does."""

    def __init__(self, own, names):
        self._own, self._names = own, names
        self._call, self._value, self._tensor = names["call"], names["value"], names["tensor"]

    def _through(self, name, node, *more, keywords=()):
        made = ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=[node, *more], keywords=list(keywords))
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def visit(self, node):
        if isinstance(node, REFUSED_NODES):
            raise NoDeviceCode(f"its source has a statement that does not compile: {type(node).__name__}")
        return super().visit(node)

    def visit_Call(self, node):
        # The call itself is checked, so what is called needs no check as a value.
        callee = node.func if isinstance(node.func, ast.Name) else \
            self.generic_visit(node.func) if isinstance(node.func, ast.Attribute) else self.visit(node.func)
        args = [self.visit(each) for each in node.args]
        return ast.copy_location(self._through(self._call, callee, *args,
                                               keywords=[self.visit(each) for each in node.keywords]), node)

    def visit_Attribute(self, node):
        node = self.generic_visit(node)
        return self._through(self._value, node) if isinstance(node.ctx, ast.Load) else node

    def visit_Subscript(self, node):
        node = self.generic_visit(node)
        return self._through(self._value, node) if isinstance(node.ctx, ast.Load) else node

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id not in self._own:
            return self._through(self._value, node)
        return node

    def visit_Assign(self, node):
        if len(node.targets) > 1:
            raise ValueError("Multiple assignments are not supported")
        pairs = isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)
        node = self.generic_visit(node)
        if pairs:
            node.value.elts = [each if isinstance(each, ast.Starred) else self._as_tensor(each) for each in node.value.elts]
        node.value = self._as_tensor(node.value)
        return node

    def visit_AnnAssign(self, node):
        is_constant = any(getattr(each, "id", getattr(each, "attr", "")) == "constexpr" for each in ast.walk(node.annotation))
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        value = self.visit(node.value)
        made = ast.Assign(targets=[self.visit(node.target)], value=value if is_constant else self._as_tensor(value))
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def _as_tensor(self, node):
        return self._through(self._tensor, node, ast.Constant(value=False))

    def visit_For(self, node):
        iterated, is_call = node.iter, isinstance(node.iter, ast.Call)
        node = self.generic_visit(node)
        if is_call and isinstance(iterated.func, (ast.Name, ast.Attribute)):
            node.iter.func.id = self._names["loop"]
        return node

    def visit_BoolOp(self, node):
        node = self.generic_visit(node)
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        operands = [ast.copy_location(ast.Lambda(args=nothing, body=each), each) for each in node.values]
        name = ast.Constant(value="logical_and" if isinstance(node.op, ast.And) else "logical_or")
        return ast.copy_location(self._through(self._names["logical"], ast.copy_location(name, node), *operands), node)

    def visit_UnaryOp(self, node):
        node = self.generic_visit(node)
        return self._through(self._names["negation"], node.operand) if isinstance(node.op, ast.Not) else node


class KernelCode:
    """The compiled code of each kernel."""

    def __init__(self, checks):
        self.checks = checks
        # Triton's own functions are rewritten already, and need no checks.
        self._made = weakref.WeakKeyDictionary(interpreter.InterpretedFunction.rewritten_fn)

    def of(self, function):
        """The code for a kernel's Python function."""
        found = self._made.get(function)
        if found is None:
            found = self._made[function] = self._compiled(function)
        return found

    def _compiled(self, function):
        rewriter = interpreter.FunctionRewriter(function)
        try:
            lines, _ = _getsource(function)
        except (OSError, TypeError):
            # As triton.jit on a device.
            raise ValueError("@jit functions should be defined in a Python file") from None
        rewriter.filename, rewriter.def_file_lineno = rewriter._get_jit_fn_file_line()
        rewriter.def_lineno = rewriter._find_def(lines)
        tree = ast.parse(rewriter._prepare_source(lines))
        ast.increment_lineno(tree, rewriter.def_file_lineno - 1)
        found = self._built(function, self._checked(function, tree), rewriter.filename)
        lockstep.may_wait(found, tree)
        return found

    def _checked(self, function, tree):
        """A module with a function of the checks that defines the kernel; the kernel cannot know their names."""
        names = {each: f"_{secrets.token_hex(8)}" for each in HIDDEN}
        kernel, own = tree.body[0], _Locals()
        kernel.decorator_list = []
        own.visit(ast.Module(body=kernel.body, type_ignores=[]))
        own.visit(kernel.args)
        kernel.body = [_Rewriter(own.names, names).visit(each) for each in kernel.body]
        kernel.name = f"_{secrets.token_hex(8)}"
        outer = ast.FunctionDef(
            name="define", decorator_list=[], returns=None, type_params=[],
            args=ast.arguments(posonlyargs=[], args=[ast.arg(arg=name) for name in names.values()], kwonlyargs=[],
                               kw_defaults=[], defaults=[]),
            body=[kernel, ast.Return(value=ast.Name(id=kernel.name, ctx=ast.Load()))])
        ast.copy_location(outer, kernel)
        return ast.fix_missing_locations(ast.Module(body=[outer], type_ignores=[]))

    def _built(self, function, tree, file_name):
        scope = function.__globals__
        if function.__closure__:  # a compiled kernel has no cells
            scope = {**scope, **inspect.getclosurevars(function).nonlocals}
        names = {}
        exec(compile(tree, file_name, "exec", dont_inherit=True), scope, names)
        own = {"tensor": interpreter.interpreter_semantic.to_tensor}
        made = names["define"](*(own.get(each) or getattr(self.checks, each) for each in HIDDEN))
        made.__code__ = made.__code__.replace(co_name=function.__name__)
        made.__name__, made.__qualname__ = function.__name__, function.__qualname__
        return made
