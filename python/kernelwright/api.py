"""The verifier for Python programs: each function runs `kernelwright verify` and returns a Verdict, or several.

This process imports neither PyTorch nor the judged code.
"""
import errno
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .fields import check_fields
from .program import VerifierError, find_program
from .verdict import Verdict

N_CORRECTNESS, N_TRIALS, N_WARMUP = 5, 100, 10
KERNEL_NAME = "generated_kernel"
TOLERANCE = 1e-4
DTYPE = "float32"
DTYPES = ("float32", "float16", "bfloat16", "float64", "int64", "int32", "int16", "int8", "uint8", "bool")
MESSAGE_LINES = 20

# The name of each field → its accepted names in a row of a batch.
_ROW_NAMES = {
    "reference_code": ("reference_code", "reference_torch_code", "pytorch_code"),
    "kernel_code": ("kernel_code", "triton_code"),
    "reference_path": ("reference_path",),
    "kernel_path": ("kernel_path",),
    "kernel_name": ("kernel_name",),
    "entry_point": ("entry_point",),
    "input_shapes": ("input_shapes",),
}
_SETTINGS = {"n_correctness": N_CORRECTNESS, "n_trials": N_TRIALS, "n_warmup": N_WARMUP, "rtol": TOLERANCE,
             "atol": TOLERANCE}


def benchmark_triton_kernel(kernel_code, reference_torch_code, input_shapes, n_correctness=N_CORRECTNESS,
                            n_trials=N_TRIALS, n_warmup=N_WARMUP, kernel_name=KERNEL_NAME, rtol=TOLERANCE,
                            atol=TOLERANCE, *, evaluator=None, options=()):
    """The verdict on a function pair: `triton_kernel_wrapper` against `reference_impl`.

    `input_shapes` maps each input's name to {"shape": [...], "dtype": "float32"} or to a shape; a list of these
    is matched to the parameters of `reference_impl` in order.
    `evaluator` is "local", "modal", "ray" or the URL of a service; with None the variable KERNELWRIGHT_EVALUATOR
    decides. `options` are further arguments of `kernelwright verify`, such as ("--device", "cpu").
    """
    row = {"kernel_code": kernel_code, "reference_code": reference_torch_code, "kernel_name": kernel_name,
           "input_shapes": normalised_shapes(input_shapes, reference_torch_code)}
    return verify_rows([row], _options(n_correctness, n_trials, n_warmup, rtol, atol), evaluator, options)[0]


def benchmark_kernelbench(triton_code, pytorch_code, n_correctness=N_CORRECTNESS, n_trials=N_TRIALS,
                          kernel_name=KERNEL_NAME, entry_point=None, rtol=TOLERANCE, atol=TOLERANCE, *,
                          evaluator=None, options=()):
    """The verdict on a module: `ModelNew`, `<Name>New` or `triton_kernel_wrapper` against a KernelBench-style one.

    `entry_point` names the reference's class where it is not `Model`.
    """
    row = {"kernel_code": triton_code, "reference_code": pytorch_code, "kernel_name": kernel_name,
           "entry_point": entry_point}
    return verify_rows([row], _options(n_correctness, n_trials, N_WARMUP, rtol, atol), evaluator, options)[0]


def benchmark_batch(kernels, *, evaluator=None, options=()):
    """Verdicts on many kernels, in their order. Each is a dict with the parameters of either function above,
    or with the fields of a batch row; `id` is optional, and other fields are returned in the verdict."""
    kernels = list(kernels)
    found, groups = [None] * len(kernels), {}
    for number, kernel in enumerate(kernels):
        if not isinstance(kernel, Mapping):
            raise TypeError(f"kernels[{number}] is of the type {type(kernel).__name__}: give a dict")
        settings = {name: default if kernel.get(name) is None else kernel[name]
                    for name, default in _SETTINGS.items()}
        groups.setdefault(_options(**settings), []).append(number)
    for words, numbers in groups.items():
        rows = [_row_of(kernels[number], number) for number in numbers]
        for number, verdict in zip(numbers, verify_rows(rows, words, evaluator, options), strict=True):
            found[number] = verdict
    return found


def normalised_shapes(shapes: Any, reference_code: str | None = None) -> dict[str, Any] | None:
    """{name: {"shape": [...], "dtype": "..."}} of any accepted form; None stays None."""
    if shapes is None:
        return None
    if isinstance(shapes, dict):
        return {str(name): _shape(str(name), each) for name, each in shapes.items()}
    if isinstance(shapes, (list, tuple)):
        if all(isinstance(each, int) for each in shapes):
            shapes = [shapes]
        names = _parameter_names(reference_code, len(shapes))
        return {name: _shape(name, each) for name, each in zip(names, shapes, strict=True)}
    raise TypeError(f"input_shapes is a {type(shapes).__name__}: give a dict, or a list of shapes")


def _dtype(value):
    """The name of a dtype: a text, or one of PyTorch or NumPy."""
    return (value.__name__ if isinstance(value, type) else str(value)).removeprefix("torch.")


def _is_dtype(value):
    kind = value if isinstance(value, type) else type(value)
    return isinstance(value, str) or str(value).startswith("torch.") or kind.__module__.partition(".")[0] == "numpy"


def _shape(name, value):
    if hasattr(value, "shape") and hasattr(value, "dtype"):  # a tensor or an array, whose values are not used
        return _described(name, value.shape, value.dtype)
    if isinstance(value, dict):
        if "shape" not in value:
            raise ValueError(f"the input {name!r} has no shape: {value!r}")
        return {**value, **_described(name, value["shape"], value.get("dtype", DTYPE))}
    if isinstance(value, (tuple, list)) and len(value) == 2 and _is_dtype(value[1]):
        return _described(name, *value)
    return _described(name, value, DTYPE)


def _described(name, shape, dtype):
    sizes = list(shape) if isinstance(shape, Iterable) and not isinstance(shape, (str, bytes)) else [shape]
    if not all(_is_size(each) for each in sizes):
        raise ValueError(f"the input {name!r} has the shape {shape!r}: give whole numbers from 0, such as (64, 250)")
    if _dtype(dtype) not in DTYPES:
        raise ValueError(f"the input {name!r} has the dtype {_dtype(dtype)!r}, which is none of {', '.join(DTYPES)}")
    return {"shape": [int(each) for each in sizes], "dtype": _dtype(dtype)}


def _is_size(value):
    """Whether it is a whole number. A table of numbers may have made it a float."""
    if isinstance(value, (bool, str, bytes)):
        return False
    try:
        return int(value) == value >= 0
    except (TypeError, ValueError, OverflowError):
        return False


def _parameter_names(code, count):
    import ast
    try:
        functions = [node for node in ast.parse(code or "").body if isinstance(node, ast.FunctionDef)]
    except SyntaxError as error:
        raise ValueError(f"the reference does not parse (line {error.lineno}): {error.msg}") from error
    for function in functions:
        if function.name == "reference_impl":
            names = [each.arg for each in function.args.posonlyargs + function.args.args]
            if len(names) >= count:
                return names[:count]
            raise ValueError(f"input_shapes has {count} shapes, reference_impl {len(names)} parameters")
    raise ValueError("input_shapes is a list, and no reference_impl says what the inputs are called: give a dict")


def _options(n_correctness, n_trials, n_warmup, rtol, atol):
    # Warm-up ends when times have settled, so the number is not passed on; an invalid one is still an error.
    for name, value in (("n_correctness", n_correctness), ("n_trials", n_trials), ("n_warmup", n_warmup)):
        if isinstance(value, bool) or not isinstance(value, int) or value < (0 if name == "n_warmup" else 1):
            raise ValueError(f"{name} is {value!r}: give a positive number")
    return ("--correctness-trials", str(n_correctness), "--timing-trials", str(n_trials),
            "--tolerance", f"rtol={float(rtol)!r},atol={float(atol)!r}")


def _row_of(kernel, number):
    known = {name for names in _ROW_NAMES.values() for name in names} | set(_SETTINGS)
    row = {name: value for name, value in kernel.items() if name not in known}
    for ours, names in _ROW_NAMES.items():
        row[ours] = next((kernel[name] for name in names if kernel.get(name) is not None), None)
    for what in ("reference", "kernel"):
        if row[f"{what}_path"] is not None:
            row[f"{what}_path"] = os.path.abspath(row[f"{what}_path"])
        elif isinstance(row[f"{what}_code"], (bytes, bytearray)):
            raise TypeError(f"kernels[{number}]: {what}_code is of the type bytes: decode it")
        elif not isinstance(row[f"{what}_code"], str):
            raise ValueError(f"kernels[{number}] has no {what}_code (a string) and no {what}_path")
    row["kernel_name"] = row["kernel_name"] or KERNEL_NAME
    try:
        row["input_shapes"] = normalised_shapes(row["input_shapes"], row["reference_code"])
    except (TypeError, ValueError) as error:
        raise type(error)(f"kernels[{number}]: {error}") from error
    row["id"] = str(row.get("id") or f"kernel-{number}")
    check_fields(row, f"kernels[{number}]")
    return row


def _evaluator_words(evaluator):
    return [] if evaluator is None else ["--evaluator", str(evaluator)]


def _is_judged_here(evaluator, options):
    named = evaluator or os.environ.get("KERNELWRIGHT_EVALUATOR") or "local"
    return named == "local" and not any(each.startswith("--evaluator") for each in options)


def _python_words(evaluator, options):
    """The arguments that select this Python, where it has the engine's packages and the caller selects none."""
    if not _is_judged_here(evaluator, options) or "--python" in options:
        return []
    if find_spec("torch") is None or find_spec("triton") is None:
        return []
    return ["--python", sys.executable]


def verify_rows(rows: Iterable[Mapping[str, Any]], words: Sequence[str], evaluator: str | None,
                options: Sequence[str]) -> list[Verdict]:
    """The verdicts on the rows of a batch, in their order, from one run. `words` are arguments before `options`."""
    rows = [{"id": f"kernel-{number}", **{name: value for name, value in row.items() if value is not None}}
            for number, row in enumerate(rows)]
    for row in rows:
        check_fields(row, row["id"] if len(rows) > 1 else "")
    given = [row["id"] for row in rows]
    if len(set(given)) < len(given):  # the output has verdicts by their ids
        rows = [{**row, "id": f"kernel-{number}"} for number, row in enumerate(rows)]
    with _temporary_folder() as folder:
        batch = folder / "batch.jsonl"
        batch.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        verdicts, done = _run(["--batch", str(batch), *words], folder, evaluator, options)
    missing = [row["id"] for row in rows if row["id"] not in verdicts]
    if done.returncode not in (0, 1) or missing:
        message = re.sub(re.escape(str(batch)) + r", row (\d+)", lambda row: str(given[int(row[1]) - 1]),
                         _message(done, missing))
        raise VerifierError(message)
    return [Verdict({**verdicts[row["id"]], "id": name}, judged={**row, "id": name})
            for name, row in zip(given, rows, strict=True)]


def verify_pair(row: Mapping[str, Any], evaluator: str | None, options: Sequence[str]) -> Verdict:
    """The verdict on one row, whose entries the program finds by their names, as in `kernelwright verify REFERENCE KERNEL`."""
    check_fields(row)
    with _temporary_folder() as folder:
        files = [row.get(f"{what}_path") or _written(folder / f"{what}.py", row[f"{what}_code"])
                 for what in ("reference", "kernel")]
        words: list[str] = []
        for flag, field in (("--entry-point", "entry_point"), ("--kernel-entry", "kernel_entry"),
                            ("--kernel-name", "kernel_name")):
            words += [flag, row[field]] if row.get(field) else []
        if row.get("input_shapes") is not None:
            words += ["--input-shapes", f"@{_written(folder / 'shapes.json', json.dumps(row['input_shapes']))}"]
        verdicts, done = _run([*files, *words], folder, evaluator, options)
        if done.returncode not in (0, 1) or len(verdicts) != 1:
            message = _message(done, [])
            for what in ("reference", "kernel"):
                message = message.replace(str(folder / f"{what}.py"), f"the {what}")
            raise VerifierError(message)
    return Verdict(next(iter(verdicts.values())), judged=row)


@contextmanager
def _temporary_folder():
    try:
        with tempfile.TemporaryDirectory(prefix="kernelwright-api-") as name:
            yield Path(name)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise VerifierError(f"the temporary folder {tempfile.gettempdir()} is full: free some space, or set TMPDIR to another "
                            "folder") from error


def _written(path, text):
    path.write_text(text, encoding="utf-8", newline="")
    return str(path)


def _run(words, folder, evaluator, options):
    """The verdicts of a run by id, and its end. Ctrl-C ends the run, too."""
    program, output, options = find_program(), folder / "verdicts.jsonl", [str(each) for each in options]
    command = [program, "verify", *words, "--output", str(output), *_evaluator_words(evaluator),
               *_python_words(evaluator, options), *options]
    try:
        running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise VerifierError(f"{program} does not run: {error.strerror}") from error
    with running:
        try:
            stdout, stderr = running.communicate()
        except BaseException:  # a notebook's interrupt reaches this process alone; the program ends what it started
            running.terminate()
            running.communicate()
            raise
    return _read(output), subprocess.CompletedProcess(command, running.returncode, stdout, stderr)


def _read(output):
    if not output.exists():
        return {}
    lines = output.read_text(encoding="utf-8").split("\n")  # a text may contain other separators of lines
    try:
        verdicts = [json.loads(line) for line in lines if line.strip()]
    except json.JSONDecodeError as error:
        raise VerifierError(f"the program wrote a verdict that does not parse: {error}") from error
    return {verdict["id"]: verdict for verdict in verdicts}


def _message(done, missing):
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()[-MESSAGE_LINES:]
    if lines:
        return "\n".join(lines)
    if done.returncode < 0:
        return f"the program ended by signal {-done.returncode}"
    without = f", without a verdict on {missing[0]}" if missing else ""
    return f"the program ended with exit code {done.returncode}{without}"
