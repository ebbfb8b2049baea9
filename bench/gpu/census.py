#!/usr/bin/env python3
"""Share of PyTorch's launches that the census of library kernels finds, by the library that their names suggest.

census.py PROGRAM [OPTION...]    such as build/kernelwright --python .venv/bin/python

Each candidate is plain PyTorch, and its reference computes the same in another dtype, so that its kernels are not
known from the reference. A launch that is not found is `unattested`.
"""
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

# The inputs' shapes, and the operation with {} for the conversion of its inputs and of its result.
CASES = {
    "matmul": ([(512, 384), (384, 640)], "({0} @ {1})"),
    "batched_matmul": ([(8, 128, 96), (8, 96, 160)], "torch.bmm({0}, {1})"),
    "matrix_vector": ([(1024, 512), (512,)], "torch.mv({0}, {1})"),
    "linear": ([(64, 256), (512, 256), (512,)], "F.linear({0}, {1}, {2})"),
    "convolution": ([(8, 16, 32, 32), (32, 16, 3, 3)], "F.conv2d({0}, {1}, padding=1)"),
    "convolution_1d": ([(8, 16, 256), (32, 16, 5)], "F.conv1d({0}, {1})"),
    "softmax": ([(256, 512)], "torch.softmax({0}, -1)"),
    "wide_softmax": ([(32, 32768)], "torch.softmax({0}, -1)"),
    "layer_norm": ([(128, 1024)], "F.layer_norm({0}, (1024,))"),
    "batch_norm": ([(16, 32, 64, 64)], "F.batch_norm({0}, None, None, training=True)"),
    "attention": ([(2, 8, 256, 64)] * 3, "F.scaled_dot_product_attention({0}, {1}, {2})"),
    "sum": ([(64, 4096)], "{0}.sum(-1)"),
    "cumsum": ([(64, 1024)], "torch.cumsum({0} * 0.01, -1)"),
    "sort": ([(64, 2048)], "torch.sort({0}, -1).values"),
    "gelu": ([(512, 512)], "F.gelu({0})"),
    "max_pool": ([(8, 16, 64, 64)], "F.max_pool2d({0}, 2)"),
}
DTYPES = {"float32": "float64", "bfloat16": "float32"}  # of the candidate, and of its reference
WORDS = {"nvjet": "cuBLASLt", "cublas": "cuBLAS", "cutlass": "CUTLASS", "xmma": "cuBLAS or cuDNN", "cudnn": "cuDNN",
         "at6native": "PyTorch", "at4cuda": "PyTorch", "flash": "FlashAttention of PyTorch", "fmha": "PyTorch", "cub": "CUB"}


def row(name, dtype, wide):
    shapes, operation = CASES[name]
    names = [f"x{i}" for i in range(len(shapes))]
    head = "import torch\nimport torch.nn.functional as F\n\n\n"
    body = "class {0}(torch.nn.Module):\n    def forward(self, {1}):\n        return {2}\n"
    inputs = ", ".join(f"torch.randn{shape}.to(torch.{dtype})".replace(",)", ")") for shape in shapes)
    converted = f"({operation.format(*(f'{each}.to(torch.{wide})' for each in names))}).to(torch.{dtype})"
    return {"id": f"{name}/{dtype}",
            "reference_code": head + body.format("Model", ", ".join(names), converted) +
            f"\n\ndef get_inputs():\n    return [{inputs}]\n\n\ndef get_init_inputs():\n    return []\n",
            "kernel_code": head + body.format("ModelNew", ", ".join(names), operation.format(*names))}


def library_of(name):
    return next((library for word, library in WORDS.items() if word in name), "other")


def main(program, *options):
    with tempfile.TemporaryDirectory() as folder:
        batch, output = Path(folder) / "batch.jsonl", Path(folder) / "verdicts.jsonl"
        rows = [row(name, dtype, wide) for name in CASES for dtype, wide in DTYPES.items()]
        batch.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
        began = time.monotonic()
        subprocess.run([program, "verify", batch, "--device", "cuda", "--output", output, *options], check=False)
        verdicts = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
        seconds = time.monotonic() - began
    found, missed = Counter(), Counter()
    for verdict in verdicts:
        launches = verdict["launches"] if verdict["trust"] == "replay" else None
        if not launches:
            print(f"no replayed launches: {verdict['id']} {verdict['status']} {str(verdict['error'])[:200]}")
        for launch in launches or []:
            known = launch["whose"] == "library"
            (found if known else missed)[library_of(launch["name"])] += 1
            if not known:
                print(f"missed ({launch['whose']}) in {verdict['id']}: {launch['name'][:160]}")
    for library in sorted(found | missed):
        print(f"{library}: {found[library]} of {found[library] + missed[library]}")
    all_found, all_seen = found.total(), found.total() + missed.total()
    print(f"found {all_found} of {all_seen} launches of {len(verdicts)} candidates in {seconds:.1f} s")
    return 0 if all_seen and all_found == all_seen else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
