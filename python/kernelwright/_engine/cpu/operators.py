"""Replaces torch.library's Triton operators by untraced ones, because nothing is compiled around a candidate here."""
import torch
import torch._compile
import torch._library.triton as library


def install():
    """wrap_triton returns the kernel itself; triton_op is a plain custom operator."""
    def wrap_triton(kernel, /):
        return kernel

    for owner in (torch.library, library):
        owner.wrap_triton = wrap_triton
        owner.capture_triton = wrap_triton
        owner.triton_op = torch.library.custom_op
    # Custom operators ask Dynamo not to trace them, and the import of Dynamo alone takes seconds.
    torch._disable_dynamo = torch._compile._disable_dynamo = _as_it_is


def _as_it_is(fn=None, recursive=True):
    return fn if fn is not None else _as_it_is
