"""Compares a candidate's outputs with the reference's."""
import itertools
from dataclasses import dataclass, field

import torch

from ..values import dtype_name
from .elements import Summary, at_once, begins_wrong, difference, near, rms, summary
from .tolerance import AnyFinite, Exact


CHANGED = "the reference changes this input, so what the call leaves in it is compared too"


@dataclass
class Returned:
    """A candidate's tensor: its claimed description, and its values in a dense private copy."""

    dtype: torch.dtype
    shape: tuple
    stride: tuple
    device: str
    data: torch.Tensor | None  # None where the bytes did not fit the arena

    @classmethod
    def of(cls, tensor):
        """The Returned of a tensor, as if a candidate had returned it."""
        return cls(tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.device.type, tensor)


def returned(outputs, change=lambda tensor: tensor):
    """Outputs of the reference, each tensor changed, as if a candidate had returned them."""
    if isinstance(outputs, torch.Tensor):
        return Returned.of(change(outputs))
    if isinstance(outputs, (list, tuple)):
        return type(outputs)(returned(each, change) for each in outputs)
    return {key: returned(each, change) for key, each in outputs.items()} if isinstance(outputs, dict) else outputs


@dataclass
class Output:
    """The errors of one tensor of the outputs; None: not known, or, of rtol and atol, values must be equal."""

    name: str
    dtype: torch.dtype
    shape: tuple
    max_abs: float
    max_rel: float
    share: float
    rtol: float | None
    atol: float | None
    max_over: float | None
    loss: float | None  # of the reference, against float64
    sensitivity: float | None  # of varied inputs
    nonfinite: bool = False    # a value is NaN or infinite in one of the two only


@dataclass
class Near:
    """Values along the last dimension around the first mismatch, and those of both tensors."""

    start: int
    expected: list
    actual: list
    wrong: list
    expected_values: Summary
    actual_values: Summary


@dataclass
class Comparison:
    """The outcome, in the verdict's terms. rtol and atol are those of the output named in the error."""

    error_class: str = ""
    error: str = ""
    max_abs: float = 0.0
    max_rel: float = 0.0
    mismatched: int = 0
    total: int = 0
    rtol: float = 0.0
    atol: float = 0.0
    first: tuple | None = None  # (output, index, expected, actual)
    near: Near | None = None
    dtype: torch.dtype | None = None  # of the first wrong output
    outputs: list = field(default_factory=list)  # an Output for each tensor that was compared
    findings: list = field(default_factory=list)

    @property
    def right(self):
        """Whether no difference was found."""
        return not self.error_class

    @property
    def share(self):
        """The share of differing values among all values."""
        return self.mismatched / self.total if self.total else 0.0


class _Wrong(Exception):
    """(error class, text): the outputs cannot be compared value by value."""


def compare(expected, actual, rule, exact=None, devices=("cpu", "cuda"), stop_early=False, named=False):
    """The Comparison of plain outputs; `rule` is a tolerance.Flat, `exact` those of tolerance.exact_of for strict.

    With `named`, each is a dict of what reference.with_effects() names: a key is then the name in the verdict.
    """
    found = Comparison()
    try:
        leaves = paired(expected, actual, exact, found, named)
        for check in (_shape, _dtype, _device):
            for leaf in leaves:
                check(*leaf[:3], devices)
    except _Wrong as wrong:
        found.error_class, found.error = wrong.args
        return found
    _strides(leaves, found)
    if leaves and leaves[0][1].is_cuda and not (stop_early and _begin_wrong(leaves, rule)) and _all_right(leaves, rule, found):
        return _as_a_whole(leaves, found)
    for name, own, given, precise in leaves:
        _values(name, own, given, precise, rule, found, stop_early)
        if stop_early and found.error_class:
            break
    return _as_a_whole(leaves, found)


def paired(expected, actual, exact=None, found=None, named=False):
    """[(name, expected, actual, exact)] of each tensor; differences that are no fault are findings of `found`."""
    found = found or Comparison()
    return [leaf for name, own in (expected.items() if named else [("output", expected)]) for leaf in _paired(
        name, own, *((actual[name], exact and exact[name]) if named else (actual, exact)), found)]


def names_of(value, named=False):
    """The name in verdicts of each leaf of the outputs, in order."""
    def walk(name, value):
        if isinstance(value, (list, tuple)):
            return [leaf for at, each in enumerate(value) for leaf in walk(f"{name}[{at}]", each)]
        if isinstance(value, dict):
            return [leaf for key, each in value.items() for leaf in walk(f"{name}[{key!r}]", each)]
        return [name]
    return [leaf for name, each in (value.items() if named else [("output", value)]) for leaf in walk(name, each)]


def _kind(value):
    if isinstance(value, Returned):
        return f"a tensor of shape {list(value.shape)}"
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {list(value.shape)}"
    if isinstance(value, (list, tuple, dict)):
        return f"a {type(value).__name__} of {len(value)}"
    return "None" if value is None else f"{type(value).__name__} {str(value)[:60]}"


def _paired(name, own, given, precise, found):
    """(name, expected, actual, exact) of each tensor; numbers and texts are compared at once."""
    if isinstance(own, torch.Tensor):
        if not isinstance(given, Returned):
            raise _Wrong("wrong_structure", f"{name}: expected {_kind(own)}, got {_kind(given)}")
        yield name, own, given, precise if isinstance(precise, Exact) else None
    elif isinstance(own, (list, tuple)):
        if not isinstance(given, (list, tuple)) or len(own) != len(given):
            raise _Wrong("wrong_structure", f"{name}: expected {_kind(own)}, got {_kind(given)}")
        if type(own) is not type(given):
            found.findings.append(f"{name} is a {type(given).__name__}, the reference's a {type(own).__name__}")
        precise = precise if isinstance(precise, (list, tuple)) and len(precise) == len(own) else itertools.repeat(None)
        for at, (each, other, third) in enumerate(zip(own, given, precise)):
            yield from _paired(f"{name}[{at}]", each, other, third, found)
    elif isinstance(own, dict):
        if not isinstance(given, dict) or set(own) != set(given):
            got = f"one with {sorted(map(str, given))[:20]}" if isinstance(given, dict) else _kind(given)
            raise _Wrong("wrong_structure", f"{name}: expected a dict with {sorted(map(str, own))[:20]}, got {got}")
        precise = precise if isinstance(precise, dict) else {}
        for key, each in own.items():
            yield from _paired(f"{name}[{key!r}]", each, given[key], precise.get(key), found)
    else:
        _plain(name, own, given)


def _plain(name, own, given):
    """A comparison of numbers, texts and None, which hold no tensor."""
    if isinstance(own, float) and isinstance(given, (int, float)) and not isinstance(given, bool):
        if own == given or own != own and given != given or abs(own - given) <= 1e-4 + 1e-4 * abs(own):
            return
        raise _Wrong("wrong_value", f"{name}: expected {own:.6g}, got {given:.6g}")
    if type(own) is not type(given):
        raise _Wrong("wrong_structure", f"{name}: expected {_kind(own)}, got {_kind(given)}")
    if own != given:
        raise _Wrong("wrong_value", f"{name}: expected {_kind(own)}, got {_kind(given)}")


def _shape(name, own, given, _):
    if tuple(own.shape) != tuple(given.shape):
        raise _Wrong("wrong_shape", f"{name}: expected shape {list(own.shape)}, got {list(given.shape)}")


def _dtype(name, own, given, _):
    if own.dtype != given.dtype:
        raise _Wrong("wrong_dtype", f"{name}: expected {dtype_name(own.dtype)}, got {dtype_name(given.dtype)}")


def _device(name, own, given, devices):
    if given.device not in devices:
        raise _Wrong("wrong_structure", f"{name}: expected a tensor on {devices[-1]}, got one on {given.device}")
    if given.data is None:
        raise _Wrong("wrong_structure", f"{name}: the outputs together are larger than the reference's")


def _strides(leaves, found):
    for name, own, given, _ in leaves:
        # The stride of a dimension with one element means nothing.
        differ = [(mine, other) for size, mine, other in zip(own.shape, own.stride(), given.stride) if size > 1]
        if own.numel() and any(mine != other for mine, other in differ):
            found.findings.append(f"{name} has strides {list(given.stride)}, the reference's {list(own.stride())}")


def _as_a_whole(leaves, found):
    """`found`, in which an output is wrong whose errors together exceed what is granted; its values are all finite."""
    for name, own, given, precise in leaves:
        if not found.right or not isinstance(precise, AnyFinite) or precise.most_rms is None:
            continue
        if (error := rms(own, given.data)) > precise.most_rms:
            found.error_class, found.dtype = "wrong_value", own.dtype
            found.error = (f"{name}: the errors have a root mean square of {error:.3g}, where right results have "
                           f"{precise.most_rms:.3g} at most")
    return found


def _begin_wrong(leaves, rule):
    """Whether an output is wrong in its first elements already: those that are, are so mostly."""
    return any(begins_wrong(own, given.data, *_limits(own, given.data, precise, rule)) for _, own, given, precise in leaves)


def _all_right(leaves, rule, found):
    """Whether every value is right; `found` then has their errors. Otherwise `found` is unchanged; examine each output."""
    seen = at_once([(own, given.data, *_limits(own, given.data, precise, rule)) for _, own, given, precise in leaves])
    if seen is None:
        return False
    for (name, own, _, precise), each in zip(leaves, seen):
        _add(found, name, each, own, precise, rule)
    return True


def _limits(own, given, precise, rule):
    """(limits, exact values) in the form that `difference` takes."""
    rule = rule if precise is None else precise.rule(rule)
    return (rule.limits(own.dtype) if _floating(own) else None), None if precise is None else precise.measure(own, given)


def _floating(own):
    return own.is_floating_point() or own.is_complex()


def _add(found, name, seen, own, precise, rule):
    """Adds one output to the comparison; returns its (rtol, atol)."""
    found.total += seen.total
    found.mismatched += seen.mismatched
    found.max_abs, found.max_rel = max(found.max_abs, seen.max_abs), max(found.max_rel, seen.max_rel)
    rule = rule if precise is None else precise.rule(rule)
    rtol, atol = rule.of(own.dtype) if _floating(own) else (0.0, 0.0)
    if not found.error_class:
        found.rtol, found.atol = max(found.rtol, rtol), max(found.atol, atol)
    share = seen.mismatched / seen.total if seen.total else 0.0
    known = (rtol, atol, seen.max_over) if _floating(own) else (None, None, None)
    found.outputs.append(Output(name, own.dtype, tuple(own.shape), seen.max_abs, seen.max_rel, share, *known,
                                None if precise is None else precise.loss,
                                None if precise is None else precise.sensitivity, bool(seen.nonfinite)))
    return rtol, atol


def _values(name, own, given, precise, rule, found, stop_early):
    limits, exact = _limits(own, given.data, precise, rule)
    seen = difference(own, given.data, limits, exact, stop_early)
    rtol, atol = _add(found, name, seen, own, precise, rule)
    if not seen.mismatched or found.error_class:
        return
    found.rtol, found.atol, found.dtype = rtol, atol, own.dtype
    first = seen.first_nonfinite or seen.first
    index = _index_of(first[0], own.shape)
    found.first = (name, index, *first[1:])
    if not stop_early:
        found.near = Near(*near(own, given.data, limits, index, exact), summary(own), summary(given.data))
    found.error_class = "nonfinite" if seen.nonfinite else "wrong_value"
    found.error = _text(name, seen, found, index, first, _floating(own), own.dtype)


def _index_of(position, shape):
    """The index of a flat position. torch.unravel_index() imports PyTorch's symbolic shapes at its first call."""
    index = []
    for size in reversed(shape):
        position, at = divmod(position, size)
        index.append(at)
    return index[::-1]


def _text(name, seen, found, index, first, floating, dtype):
    expected, actual = (_shown(value, dtype) for value in first[1:])
    where = f"at {index}: " if index else ""
    if seen.nonfinite:
        return (f"{name}: {seen.nonfinite} of {seen.total} values ({_percent(seen.nonfinite, seen.total)}) are NaN or "
                f"infinite in one of the two only; first {where}expected {expected}, got {actual}")
    tail = f"rtol={found.rtol:.3g} atol={found.atol:.3g}" if floating else "these must be equal"
    tail += f"; {CHANGED}" if name.startswith("input ") else ""
    return (f"{name}: {seen.mismatched} of {seen.total} values differ ({_percent(seen.mismatched, seen.total)}); first "
            f"{where}expected {expected}, got {actual}; largest error {seen.max_abs:.3g}; {tail}")


def _shown(value, dtype):
    if dtype is torch.bool:
        return str(bool(value))
    if not dtype.is_floating_point and not dtype.is_complex:
        return str(int(value))
    return f"{value:.6g}"


def _percent(count, total):
    share = 100.0 * count / total
    return f"{share:.1f}%" if share >= 0.05 else "under 0.1%"
