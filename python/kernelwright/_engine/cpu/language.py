"""Patches triton.language to its interpreted form once, for every name under which a candidate imports it.

Triton patches the language at each launch, and only the modules that a kernel's globals name. A runner uses the
language for nothing else, so it is patched once, before candidates are imported. Names imported from it are then
the interpreted ones too, and launches start faster.
"""
import types

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as interpreter

from ..errors import Unsupported
from . import per_program

Handle = interpreter.TensorHandle
_convert = interpreter._implicit_cvt
_printed = open(1, "w", buffering=1, closefd=False)  # a runner's own standard output has this number, too


def convert(value):
    """A launch argument in the kernel's form; bools are int1 and floats are float32, as on the device."""
    if isinstance(value, bool):
        return tl.tensor(Handle(np.array([value], dtype=np.bool_), tl.int1), tl.int1)
    if isinstance(value, float):
        return tl.tensor(Handle(np.array([value], dtype=np.float32), tl.float32), tl.float32)
    return _convert(value)


def _index(self):
    # numpy 2.4 refuses int() of an array with one element and one dimension.
    return int(self.handle.data.item())


def _truth(self):
    # In Triton only scalars have a truth value; here scalars are arrays of one element.
    if per_program.is_per_program(self.handle.data):
        return per_program.truth(self)
    return bool(self.handle.data.item()) if self.handle.data.size == 1 else True


def _transposed(self):
    return interpreter.interpreter_semantic.permute(self, (1, 0))


def device_print(*values, **_):
    """What a kernel prints; a stream that the candidate put in the place of standard output would run in the kernel."""
    per_program.stop()
    _printed.write(" ".join(map(str, values)) + "\n")


def loop_range(first, end=None, step=None, **_):
    """tl.range; its options do not change the values."""
    start, end = (0, first) if end is None else (first, end)
    return range(start, end, 1 if step is None else step)


def _refusal(feature):
    def refused(*args, **kwargs):
        raise Unsupported(feature)
    return refused


def _find_def(self, lines):
    # The first `def`, not the last: a docstring line may begin with that word.
    return next((at for at, line in enumerate(lines, 1) if line.strip().startswith("def ")), 0)


def install():
    """Patch the language for the lifetime of this process."""
    host = types.SimpleNamespace(__globals__={"tl": tl, "core": tl.core})
    interpreter._patch_lang(host)
    interpreter._patch_lang = lambda fn: interpreter._LangPatchScope()
    interpreter._implicit_cvt = convert
    tl.tensor.__index__ = _index
    tl.tensor.__bool__ = _truth
    tl.tensor.T = property(_transposed)
    interpreter.print = tl.static_print = device_print
    for owner in (tl, tl.core):
        owner.range = loop_range
        owner.dot_scaled, owner.map_elementwise = _refusal("tl.dot_scaled"), _refusal("tl.map_elementwise")
    interpreter.FunctionRewriter._find_def = _find_def
    for module in (tl.standard, tl.random):
        for function in list(vars(module).values()):
            if isinstance(function, interpreter.InterpretedFunction):
                function.rewrite()
