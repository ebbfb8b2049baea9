"""Calls under compute-sanitizer's tools: sanitize.py REFERENCE CANDIDATE..., on a machine with a GPU.

For each candidate it prints one line of JSON: the outcome of a plain call, and of one under each of the tools. The files
run without a sandbox: pass your own only.
"""
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

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


def tool_path():
    """compute-sanitizer's path; None: it is not installed."""
    places = [*Path("/usr/local").glob("cuda*/bin/compute-sanitizer"), *Path("/opt/nvidia").glob("*/compute-sanitizer")]
    return shutil.which("compute-sanitizer") or next(map(str, sorted(places, reverse=True)), None)


def _module(path):
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def one_call(reference, candidate):
    """Compare one call with the reference; returns the process's exit status."""
    import torch
    given, own = _module(reference), _module(candidate)
    torch.manual_seed(0)
    inputs = [each.cuda() if isinstance(each, torch.Tensor) else each for each in given.get_inputs()]
    expected = given.Model(*given.get_init_inputs()).cuda()(*inputs)
    entry = own.ModelNew(*given.get_init_inputs()).cuda() if hasattr(own, "ModelNew") else own.triton_kernel_wrapper
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
    status, _, errors, seconds = _run(command)
    name = {0: "clean", FAULTED: "found", WRONG: "wrong"}.get(status, NOT_RUN)
    result = {"outcome": name, "seconds": seconds}
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
    """Checks each candidate; with --call it makes one call in this process."""
    if words[0] == "--call":
        return one_call(words[1], words[2])
    for candidate in words[1:]:
        command = [sys.executable, __file__, "--call", words[0], candidate]
        print(json.dumps({"candidate": Path(candidate).stem, "call": call_outcome(command),
                          **{tool: tool_outcome(tool, command) for tool in TOOLS}}), flush=True)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
