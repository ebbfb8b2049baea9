"""tl.reduce and tl.associative_scan with a function of the candidate's, on whole blocks.

The interpreter calls the function once for each element. A function that only computes (no branch, only
element-wise calls) can combine two halves of a block at once, in a tree, as a device does.
"""
import ast
import copy
import inspect
import textwrap
import types

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as interpreter

Handle = interpreter.TensorHandle
BRANCHES = (ast.If, ast.IfExp, ast.While, ast.For, ast.BoolOp, ast.Assert, ast.Try, ast.With, ast.Subscript)
ELEMENTWISE = frozenset((
    "where", "maximum", "minimum", "exp", "exp2", "log", "log2", "log1p", "expm1", "sqrt", "rsqrt", "abs", "fabs", "fma",
    "sigmoid", "clamp", "cast", "to", "tanh", "floor", "ceil", "sin", "cos", "erf", "sqrt_rn", "div_rn", "pow"))
_known = {}
_code = None
_slow_reduce = interpreter.ReduceOps.generic_reduce
_slow_scan = interpreter.ScanOps.generic_scan


def only_computes(function):
    """Whether a combine function gives the same results for blocks as for their single elements."""
    if function not in _known:
        _known[function] = True  # ends the recursion of a function that calls itself
        _known[function] = _check(function)
    return _known[function]


def _check(function):
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return False
    names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    for node in ast.walk(tree):
        if isinstance(node, BRANCHES):
            return False
        if isinstance(node, ast.Call):
            called = names.get(node.func.id) if isinstance(node.func, ast.Name) else None
            if isinstance(called, interpreter.InterpretedFunction):
                if not only_computes(called.fn):
                    return False
            elif getattr(node.func, "attr", getattr(node.func, "id", "")) not in ELEMENTWISE:
                return False
    return True


def _tensors(data, dtypes):
    return [tl.tensor(Handle(np.ascontiguousarray(each), dtype), tl.block_type(dtype, list(each.shape)))
            for each, dtype in zip(data, dtypes)]


def _combined(function, left, right, dtypes):
    answer = function(*_tensors(left, dtypes), *_tensors(right, dtypes))
    answer = answer if isinstance(answer, (tuple, tl.tuple)) else (answer,)
    found = []
    for each, dtype, like in zip(answer, dtypes, left):
        value = interpreter.interpreter_semantic.to_tensor(each)
        handle = value.handle if value.dtype == dtype else interpreter.interpreter_builder.cast_impl(value.handle, dtype)
        found.append(np.broadcast_to(handle.data, like.shape))
    return found


def generic_reduce(self, inputs):
    """Combines pairs of neighbours until one value is left, so that the order of the elements is kept."""
    shape = inputs[0].handle.data.shape
    size = shape[self.axis] if self.axis is not None else 0
    function = _code.of(self.combine_fn.fn)
    if size < 2 or size & (size - 1) or not only_computes(self.combine_fn.fn):
        return _slow_reduce(_having(self, function), inputs)
    dtypes = [each.dtype for each in inputs]
    data = [np.moveaxis(each.handle.data, self.axis, -1) for each in inputs]
    while data[0].shape[-1] > 1:
        data = _combined(function, [each[..., 0::2] for each in data], [each[..., 1::2] for each in data], dtypes)
    if self.keep_dims:
        return [self.to_tensor(np.moveaxis(each, -1, self.axis), dtype) for each, dtype in zip(data, dtypes)]
    return [self.to_tensor(each[..., 0] if each.ndim > 1 else each[0], dtype) for each, dtype in zip(data, dtypes)]


def generic_scan(self, inputs):
    """Combines each element with the one 1, 2, 4, … before it."""
    size = inputs[0].handle.data.shape[self.axis]
    function = _code.of(self.combine_fn.fn)
    if size < 2 or not only_computes(self.combine_fn.fn):
        return _slow_scan(_having(self, function), inputs)
    dtypes = [each.dtype for each in inputs]
    data = [np.moveaxis(each.handle.data, self.axis, -1) for each in inputs]
    step, index = 1, np.arange(size)
    while step < size:
        found = _combined(function, [np.roll(each, step, -1) for each in data], data, dtypes)
        data = [np.where(index >= step, new, old) for new, old in zip(found, data)]
        step *= 2
    return [self.to_tensor(np.ascontiguousarray(np.moveaxis(each, -1, self.axis)), dtype)
            for each, dtype in zip(data, dtypes)]


def _having(operation, function):
    # Triton's own loop calls `combine_fn.fn`.
    found = copy.copy(operation)
    found.combine_fn = types.SimpleNamespace(fn=function)
    return found


def use(code):
    """Take the combine functions from this KernelCode."""
    global _code
    _code = code


def install():
    """Combine blocks where the function allows it."""
    interpreter.ReduceOps.generic_reduce = generic_reduce
    interpreter.ScanOps.generic_scan = generic_scan
