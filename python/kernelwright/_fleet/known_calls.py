"""Converts the parameters of the known functions into evaluations, and their endings into verdicts."""
import re
import uuid

from ..api import KERNEL_NAME, N_CORRECTNESS, N_TRIALS, N_WARMUP, TOLERANCE, VerifierError, normalised_shapes

# The names of a kernel's fields in a batch: those of the functions, and those of a row.
_NAMES = {
    "reference_code": ("reference_code", "reference_torch_code", "pytorch_code"),
    "kernel_code": ("kernel_code", "triton_code"),
    "kernel_name": ("kernel_name",),
    "entry_point": ("entry_point",),
    "input_shapes": ("input_shapes",),
}
_SETTINGS = {"n_correctness": N_CORRECTNESS, "n_trials": N_TRIALS, "n_warmup": N_WARMUP, "rtol": TOLERANCE,
             "atol": TOLERANCE}
_DEVICE = re.compile(r"\b(cuda|gpu|nvml|nvidia|xid|ecc)|\bdevice\b", re.I)
_NOT_THAT = re.compile(r"left on device", re.I)  # a full disk


def evaluations_of(kernels):
    """One evaluation for each dict, which has the parameters of a known function or the fields of a batch row."""
    return [_evaluation(kernel, number) for number, kernel in enumerate(kernels)]


def verdicts_of(states, kernels):
    """Their verdicts, under the callers' ids. An evaluation that ended without a verdict becomes an error."""
    verdicts = []
    for number, (state, kernel) in enumerate(zip(states, kernels, strict=True)):
        if state["verdict"] is None:
            raise VerifierError(f"kernels[{number}] got no verdict: {state['cause']}")
        verdicts.append({**state["verdict"], "id": str(kernel.get("id") or f"kernel-{number}")})
    return verdicts


def blames_accelerator(state):
    """Whether an error names the machine's GPU: another machine may succeed, this one probably will not."""
    verdict = state["verdict"] or {}
    said = _NOT_THAT.sub("", verdict.get("error") or "")
    return verdict.get("fault") == "infrastructure" and _DEVICE.search(said) is not None


def _evaluation(kernel, number):
    known = {name for names in _NAMES.values() for name in names} | set(_SETTINGS) | {"id"}
    found = {name: value for name, value in kernel.items() if name not in known}
    for ours, names in _NAMES.items():
        found[ours] = next((kernel[name] for name in names if kernel.get(name) is not None), None)
    for name in ("reference_code", "kernel_code"):
        if not isinstance(found[name], str):
            raise ValueError(f"kernels[{number}] has no {name} (a string)")
    found["kernel_name"] = found["kernel_name"] or KERNEL_NAME
    found["input_shapes"] = normalised_shapes(found["input_shapes"], found["reference_code"])
    found = {name: value for name, value in found.items() if value is not None}
    # A new id: callers' ids may repeat, and the service takes equal ids for one evaluation.
    return {**found, "id": uuid.uuid4().hex, "options": _options(kernel)}


def _options(kernel):
    values = {name: default if kernel.get(name) is None else kernel[name] for name, default in _SETTINGS.items()}
    for name, least in (("n_correctness", 1), ("n_trials", 1), ("n_warmup", 0)):
        if isinstance(values[name], bool) or not isinstance(values[name], int) or values[name] < least:
            raise ValueError(f"{name} is {values[name]!r}: give a positive number")
    return {"correctness_trials": values["n_correctness"], "timing_trials": values["n_trials"],
            "tolerance": {"rtol": float(values["rtol"]), "atol": float(values["atol"])}}
