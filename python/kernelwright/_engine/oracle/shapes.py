"""Parses the input shapes of a function pair: {"x": {"shape": [128, 64], "dtype": "float32"}, ...}."""
import inspect
import json

import torch

from .faults import TaskFault

DTYPES = {name: getattr(torch, name) for name in (
    "float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")}
LARGEST = 1 << 40  # elements of one tensor; a larger number is a mistake


def parse_shapes(text, function):
    """[(name, shape, torch dtype)] in argument order."""
    try:
        found = json.loads(text)
    except ValueError as exc:
        raise TaskFault(f"input shapes are not JSON: {exc}") from None
    if not isinstance(found, dict) or not found:
        raise TaskFault('input shapes must be an object with one field an argument: '
                        '{"x": {"shape": [128, 64], "dtype": "float32"}}')
    return _in_order([_one(name, spec) for name, spec in found.items()], function)


def _one(name, spec):
    if not isinstance(spec, dict):
        raise TaskFault(f'input shapes: {name} must be an object {{"shape": [...], "dtype": "..."}}')
    for field in spec:
        if field not in ("shape", "dtype"):
            raise TaskFault(f"input shapes: {name}.{field} is not known; there are shape and dtype")
    shape = spec.get("shape")
    if not isinstance(shape, list) or any(type(size) is not int or size < 0 for size in shape):
        raise TaskFault(f"input shapes: {name}.shape must be a list of integers that are not negative, got {shape!r}")
    count = 1
    for size in shape:
        count *= size
    if count > LARGEST:
        raise TaskFault(f"input shapes: {name}.shape {shape} has more than {LARGEST} elements")
    dtype = spec.get("dtype", "float32")
    dtype = dtype.removeprefix("torch.") if isinstance(dtype, str) else dtype
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise TaskFault(f"input shapes: {name}.dtype must be one of {', '.join(DTYPES)}; got {dtype!r}")
    return name, shape, DTYPES[dtype]


def _takes_any(signature):
    return any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in signature.parameters.values())


def _in_order(specs, function):
    """Puts the shapes in the function's order where the names are its own; where none is, keeps their order."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return specs
    order = {name: at for at, name in enumerate(signature.parameters)}
    unknown = [name for name, _, _ in specs if name not in order]
    if unknown and len(unknown) < len(specs) and not _takes_any(signature):
        name = getattr(function, "__name__", "the function")
        raise TaskFault(f"input shapes: {unknown[0]} is not a parameter of {name}{signature}")
    if not unknown:
        specs = sorted(specs, key=lambda spec: order[spec[0]])
        # They are passed by position, so that a gap would shift the arguments after it.
        for at, (name, _, _) in enumerate(specs):
            if order[name] != at:
                missing = list(signature.parameters)[at]
                raise TaskFault(f"input shapes: there is none for parameter {missing}, which stands before {name}")
    try:
        signature.bind(*specs)
    except TypeError as exc:
        name = getattr(function, "__name__", "the function")
        raise TaskFault(f"input shapes do not fit {name}{signature}: {exc}") from None
    return specs
