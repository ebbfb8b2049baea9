"""What a verdict on a GPU does not see of memory: sanitize.py REFERENCE CANDIDATE..., on a machine with a GPU.

For each candidate it prints one line of JSON: the outcome of a plain call, of a call whose inputs end at unmapped
pages, and of one under each of compute-sanitizer's tools. The files run without a sandbox: pass your own only.

The start of an input keeps its remainder by 16, so up to 15 bytes behind its end are mapped. `unseen_bytes` has them.
"""
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from ctypes import byref, c_uint64
from pathlib import Path

ALIGNMENT = 16  # bytes; vector loads and Triton's specialisation rely on it
TOOLS = ("memcheck", "racecheck")
MOST_FINDINGS = 5
LIMIT_S = 60
# memcheck sees allocations: without a cache each tensor is one, and padding parts it from its neighbour.
PADDING_BYTES = 1 << 16
NO_CACHE = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
FAULTED, WRONG = 3, 4  # exit statuses of a call
NOT_RUN = "not_run"


def findings_of(text):
    """What compute-sanitizer's text says of kernels: kind, kernel, place and severity, each once."""
    found = []
    for report in re.split(r"^=+ (?=\S)", text, flags=re.MULTILINE)[1:]:
        access = re.match(r"Invalid (__\w+__ \w+ of size \d+ bytes)", report)
        race = re.match(r"(Error|Warning): (?:Race reported|Potential \w+ hazard detected)", report)
        if not access and not race:
            continue
        at = re.search(r"\bat ((?:[^\n+]|\+(?!0x))+)\+0x[0-9a-f]+(?: in (\S+))?", report)
        finding = {"kind": access[1] if access else "race", "kernel": at[1].strip() if at else "",
                   "place": at[2] or "" if at else "", "is_error": not race or race[1] == "Error"}
        if finding not in found:
            found.append(finding)
    return found


def summary_of(text):
    """The tool's own summary; empty: it has not come to its end."""
    found = re.search(r"^=+ ((?:ERROR|RACECHECK) SUMMARY: .*)$", text, flags=re.MULTILINE)
    return found[1] if found else ""


def place_in(mapped_bytes, size, remainder):
    """(the offset of a tensor of `size` bytes in `mapped_bytes`, the mapped bytes behind it)."""
    offset = mapped_bytes - size
    offset -= (offset - remainder) % ALIGNMENT
    return offset, mapped_bytes - offset - size


def tool_path():
    """compute-sanitizer's path; None: it is not installed."""
    places = [*Path("/usr/local").glob("cuda*/bin/compute-sanitizer"), *Path("/opt/nvidia").glob("*/compute-sanitizer")]
    return shutil.which("compute-sanitizer") or next(map(str, sorted(places, reverse=True)), None)


class _Bytes:
    def __init__(self, address, size):
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "version": 3, "strides": None,
                                         "data": (address, False)}


def at_edge(tensor, driver):
    """A copy of a contiguous tensor that ends at an unmapped page, and the mapped bytes behind it."""
    import torch
    size, unit = tensor.numel() * tensor.element_size(), driver.granularity(0)
    if size == 0 or not tensor.is_contiguous():
        return tensor, None
    mapped = -(-size // unit) * unit
    base = c_uint64()
    driver.call("cuMemAddressReserve", byref(base), mapped + unit, 0, 0, 0)
    driver.call("cuMemMap", base.value, mapped, 0, driver.create(mapped, 0), 0)
    access = driver._Access(driver._Location(driver.DEVICE, 0), driver.READ_WRITE)
    driver.call("cuMemSetAccess", base.value, mapped, byref(access), 1)
    offset, behind = place_in(mapped, size, tensor.data_ptr() % ALIGNMENT)
    moved = torch.as_tensor(_Bytes(base.value + offset, size), device="cuda").view(tensor.dtype).view(tensor.shape)
    return moved.copy_(tensor), behind


def _module(path):
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def one_call(reference, candidate, edge):
    """Compare one call with the reference; returns the process's exit status."""
    import torch
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "python"))
    from kernelwright._engine import cuda_driver
    given, own = _module(reference), _module(candidate)
    torch.manual_seed(0)
    inputs = [each.cuda() if isinstance(each, torch.Tensor) else each for each in given.get_inputs()]
    expected = given.Model(*given.get_init_inputs()).cuda()(*inputs)
    entry = own.ModelNew(*given.get_init_inputs()).cuda() if hasattr(own, "ModelNew") else own.triton_kernel_wrapper
    if edge:
        pairs = [at_edge(each, cuda_driver) if isinstance(each, torch.Tensor) else (each, None) for each in inputs]
        inputs = [moved for moved, _ in pairs]
        print("unseen_bytes", json.dumps([behind for _, behind in pairs]), flush=True)
    torch.cuda.synchronize()
    try:
        actual = entry(*inputs)
        torch.cuda.synchronize()
    except RuntimeError as exc:
        if "illegal memory access" not in str(exc):
            raise
        print(str(exc).splitlines()[0], file=sys.stderr, flush=True)
        os._exit(FAULTED)  # PyTorch's own end aborts: the context is broken
    return 0 if torch.allclose(actual, expected, rtol=1e-2, atol=1e-2) else WRONG


def _run(command, **environment):
    began = time.perf_counter()
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LIMIT_S,
                              env={**os.environ, **environment})
    except subprocess.TimeoutExpired:
        return None, "", f"it took over {LIMIT_S} s", LIMIT_S
    return done.returncode, done.stdout, done.stderr, round(time.perf_counter() - began, 1)


def call_outcome(command):
    """The outcome of a call without a tool."""
    status, output, errors, seconds = _run(command)
    name = {0: "clean", FAULTED: "found", WRONG: "wrong"}.get(status, NOT_RUN)
    result = {"outcome": name, "seconds": seconds}
    if found := re.search(r"^unseen_bytes (.*)$", output, flags=re.MULTILINE):
        result["unseen_bytes"] = json.loads(found[1])
    if status:
        result["reason"] = (errors.strip().splitlines() or [f"exit status {status}"])[-1]
    return result


def tool_outcome(tool, command):
    """The outcome of a call under one of compute-sanitizer's tools."""
    path = tool_path()
    if path is None:
        return {"outcome": NOT_RUN, "reason": "compute-sanitizer is not installed"}
    options = ("--report-api-errors", "no", "--padding", str(PADDING_BYTES)) if tool == "memcheck" else ()
    status, output, errors, seconds = _run([path, "--tool", tool, *options, *command], **NO_CACHE)
    found, summary = findings_of(output), summary_of(output)
    result = {"outcome": "found" if found else "clean", "seconds": seconds, "findings": found[:MOST_FINDINGS],
              "reason": summary}
    if not found and (status or not summary):  # the call itself failed, or the tool
        result |= {"outcome": NOT_RUN, "reason": (errors.strip() or output.strip())[-300:]}
    return result


def main(words):
    """Checks each candidate; with --call or --edge it makes one call in this process."""
    if words[0] in ("--call", "--edge"):
        return one_call(words[1], words[2], words[0] == "--edge")
    for candidate in words[1:]:
        def command(how, file=candidate):
            return [sys.executable, __file__, how, words[0], file]
        print(json.dumps({"candidate": Path(candidate).stem, "call": call_outcome(command("--call")),
                          "edge": call_outcome(command("--edge")),
                          **{tool: tool_outcome(tool, command("--call")) for tool in TOOLS}}), flush=True)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
