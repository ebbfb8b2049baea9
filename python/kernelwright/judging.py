"""`judge`: verdicts on functions, classes, source texts and files, from notebooks, scripts and tests.

Functions become self-contained source and run in the verifier's sandbox, never in this process. Standard library only.
"""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ._source.collect import NotSelfContained, source_of
from .api import normalised_shapes, verify_pair, verify_rows
from .verdict import Verdict

__all__ = ["NotSelfContained", "judge", "judge_shapes"]

INPUT_FUNCTIONS = ("get_inputs", "get_init_inputs")
KERNEL_FUNCTIONS = ("triton_kernel_backward",)  # of a kernel's module: used under --backward on
SOURCE_SUFFIXES = (".py", ".md", ".txt")


def judge(reference: Any, kernel: Any, inputs: Mapping[str, Any] | None = None, *, name: str | None = None,
          entry_point: str | None = None, kernel_entry: str | None = None, evaluator: str | None = None,
          options: Sequence[str] = ()) -> Verdict:
    """The verdict on a kernel, by `kernelwright verify` in a subprocess.

    `reference` and `kernel` are functions, classes (nn.Module), source texts or paths. A function or class becomes
    self-contained source, with what it refers to, and a kernel's with the triton_kernel_backward of its module;
    NotSelfContained names what cannot be carried.
    `inputs` maps each parameter of the reference to a shape, to (shape, dtype), or to anything with .shape and .dtype, of
    which only these two are used: the verifier draws values of its own. Without it, get_inputs of the reference's module
    draws the inputs. `name` is the verdict's id. `entry_point` and `kernel_entry` name the entries of source texts and
    files. `evaluator` and `options` are those of benchmark_triton_kernel. Raises VerifierError where there is no verdict.
    """
    row = row_of(reference, kernel, inputs, entry_point, kernel_entry)
    row["id"] = name or row.get("kernel_entry") or "kernel"
    row["kernel_name"] = row["id"]
    if row.get("entry_point") and row.get("kernel_entry"):
        return verify_rows([row], [], evaluator, options)[0]
    return verify_pair(row, evaluator, options)


def judge_shapes(reference: Any, kernel: Any, shapes: Iterable[tuple[str, Mapping[str, Any] | None]], *,
                 entry_point: str | None = None, kernel_entry: str | None = None, evaluator: str | None = None,
                 options: Sequence[str] = ()) -> list[Verdict]:
    """A verdict for each (id, inputs) from one run. The ids are unique. Source texts and files have standard names
    (reference_impl, triton_kernel_wrapper, Model, ModelNew), or their entries are named."""
    shapes = list(shapes)
    if not shapes:
        return []
    same = row_of(reference, kernel, shapes[0][1], entry_point, kernel_entry)
    rows = [{**same, "id": each, "kernel_name": same.get("kernel_entry") or "kernel",
             "input_shapes": normalised_inputs(inputs)} for each, inputs in shapes]
    return verify_rows(rows, [], evaluator, options)


def row_of(reference: Any, kernel: Any, inputs: Mapping[str, Any] | None, entry_point: str | None,
           kernel_entry: str | None) -> dict[str, Any]:
    """The row of a batch with both sources."""
    drawn = INPUT_FUNCTIONS if inputs is None else INPUT_FUNCTIONS[1:]
    row = {**_side("reference", "entry_point", reference, entry_point, drawn),
           **_side("kernel", "kernel_entry", kernel, kernel_entry, KERNEL_FUNCTIONS),
           "input_shapes": normalised_inputs(inputs)}
    return {field: value for field, value in row.items() if value is not None}


def normalised_inputs(inputs: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """{name: {"shape": [...], "dtype": "..."}}; None stays None."""
    if inputs is None:
        return None
    if not isinstance(inputs, Mapping):
        raise TypeError(f"inputs is a {type(inputs).__name__}: give a mapping of the reference's parameters to shapes, such as "
                        '{"x": (64, 250), "index": ((64,), "int64")}')
    return normalised_shapes(dict(inputs))


def _side(what: str, entry_field: str, given: Any, entry: str | None, also: tuple[str, ...]) -> dict[str, Any]:
    if isinstance(given, os.PathLike) or (isinstance(given, str) and "\n" not in given):
        path = Path(given)
        if not path.is_file():
            if isinstance(given, os.PathLike) or path.suffix in SOURCE_SUFFIXES:
                raise FileNotFoundError(f"the {what} {path} is no file")
            raise ValueError(f"the {what} is the text {given[:80]!r}, which is neither a file nor source of several lines")
        return {f"{what}_path": str(path.resolve()), entry_field: entry}
    if isinstance(given, str):
        return {f"{what}_code": given, entry_field: entry}
    if entry is not None:
        raise ValueError(f"{entry_field} is for source texts and files: the {what} is itself a function or class")
    source = source_of(given, also)
    return {f"{what}_code": source.text, entry_field: source.entry}
