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
    return bool(self.handle.data.item()) if self.handle.data.size == 1 else True


def device_print(*values, **_):
    """What a kernel prints; a stream that the candidate put in the place of standard output would run in the kernel."""
    _printed.write(" ".join(map(str, values)) + "\n")


def _refuse_dot_scaled(*args, **kwargs):
    raise Unsupported("tl.dot_scaled")


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
    interpreter.print = tl.static_print = device_print
    for owner in (tl, tl.core):
        owner.dot_scaled = _refuse_dot_scaled
    interpreter.FunctionRewriter._find_def = _find_def
    for module in (tl.standard, tl.random):
        for function in list(vars(module).values()):
            if isinstance(function, interpreter.InterpretedFunction):
                function.rewrite()
