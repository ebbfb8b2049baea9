"""Keeps PyTorch from importing its compiler for a function that the compiler shall leave alone.

PyTorch wraps such functions, and a wrapper imports torch._dynamo at its first call. An oracle has the compiler switched
off (TORCHDYNAMO_DISABLE), so a wrapped function may run as it is. A reference that asks for the compiler still imports it.
"""
import gc
import types

import torch

_wrapper_code = torch._disable_dynamo(lambda: None).__code__
_wrapped_name, _known = "fn", "__dynamo_disable"  # the wrapper's variable, and where it keeps what it calls


def install():
    """Tell the wrappers that exist now what to call. Call it before foreign code is imported."""
    if _wrapped_name not in _wrapper_code.co_freevars:
        return
    at = _wrapper_code.co_freevars.index(_wrapped_name)
    gc.unfreeze()  # a parent's frozen objects are not listed
    for each in gc.get_objects():
        if type(each) is types.FunctionType and each.__code__ is _wrapper_code:
            wrapped = each.__closure__[at].cell_contents
            setattr(wrapped, _known, wrapped)
    gc.freeze()
