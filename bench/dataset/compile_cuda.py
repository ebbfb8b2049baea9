#!/usr/bin/env python3
"""Compiles the CUDA sides of pairs of `dataset synth` with NVRTC for sm_90, without a GPU.

compile_cuda.py FOLDER       FOLDER is an --output of synth; needs the PyTorch and the CUDA headers of its environment

Prints a line for each kernel that does not compile, and the number of sides whose kernels all compile. Exits with 1 if a
side does not compile.
"""
import argparse
import json
import re
import sys
from pathlib import Path

import torch
from torch.cuda import _utils
from torch.utils import cpp_extension

CAPABILITY = "90"


def kernels_of(module):
    """The names with which a CUDA candidate calls `kernel(NAME)`, where NAME is a text or a constant of the module."""
    for text, constant in re.findall(r'\bkernel\((?:"([^"]+)"|([A-Z_]+))\)\(', module):
        yield text or re.search(rf'^{constant} = "([^"]+)"', module, re.MULTILINE)[1]


def error_of(source, kernel):
    """What NVRTC says against a kernel of the source; empty where it compiles."""
    headers = f"{torch.__path__[0]}/../nvidia/cu{torch.version.cuda.split('.')[0]}/include"
    try:
        _utils._nvrtc_compile(source, kernel, CAPABILITY, cuda_include_dirs=[headers])
    except RuntimeError as exc:
        return str(exc)[:500]
    return ""


def main():
    """Compile, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    drafts = parser.parse_args().folder / "drafts.jsonl"
    cpp_extension.CUDA_HOME = cpp_extension.CUDA_HOME or "/usr/local/cuda"  # PyTorch refuses to go on without one
    right, wrong, without = 0, 0, []
    for line in drafts.read_text(encoding="utf-8").splitlines():
        draft = json.loads(line)
        if not draft.get("kernel_code"):
            continue
        module = draft.get("cuda_candidate")
        if not module:
            without.append(draft["name"])
            continue
        source = re.search(r'^SOURCE = r"""(.*?)"""', module, re.DOTALL | re.MULTILINE)[1]
        kernels = list(kernels_of(module))
        errors = {kernel: error for kernel in kernels if (error := error_of(source, kernel))}
        right, wrong = right + bool(kernels and not errors), wrong + bool(errors or not kernels)
        for kernel, error in errors.items() if kernels else [("no kernel", "the module calls none")]:
            print(f"{draft['name']}, {kernel}: {error}", file=sys.stderr)
    print(f"{right} CUDA sides compile for sm_{CAPABILITY}, {wrong} do not, {len(without)} have no entry: {', '.join(without)}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
