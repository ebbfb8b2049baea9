#!/usr/bin/env python3
"""Judges the autograd kernels of published packages with `--backward on`, as candidates in one file each.

package_gradients.py --liger FOLDER --mamba FOLDER [--device cpu|cuda] [--python PYTHON] [--output FILE.json]

The folders are those of liger_kernel (0.8.5) and mamba_ssm (2.3.2) as installed or unpacked; the program is $KERNELWRIGHT.
A candidate is the text of the package's own files, without their imports of one another, and a function that calls them.
"""
import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from end_to_end import program  # noqa: E402

# einops serves only functions that no case calls.
OWN_IMPORT = re.compile(r"^(?:from|import) (?:liger_kernel|mamba_ssm|einops)\b[^\n(]*(?:\([^)]*\))?[^\n]*\n", re.MULTILINE)
SHARED = {"liger": ("utils.py", "ops/utils.py"), "mamba": ("utils/torch.py", "utils/determinism.py")}

X = "x", "torch.randn(32, 256)"
W = "w", "torch.rand(256) + 0.5"
B = "b", "torch.randn(256)"

# (name, package, file, parameters with their draws, the candidate's result, the reference's)
CASES = [
    ("rms_norm", "liger", "ops/rms_norm.py", (X, W), "LigerRMSNormFunction.apply(x, w, 1e-6, 0.0, 'llama', False)",
     "torch.nn.functional.rms_norm(x, (256,), w, 1e-6)"),
    ("rms_norm in place", "liger", "ops/rms_norm.py", (X, W), "LigerRMSNormFunction.apply(x, w, 1e-6)",
     "torch.nn.functional.rms_norm(x, (256,), w, 1e-6)"),
    ("layer_norm", "liger", "ops/layer_norm.py", (X, W, B), "LigerLayerNormFunction.apply(x, w, b, 1e-6)",
     "torch.nn.functional.layer_norm(x, (256,), w, b, 1e-6)"),
    ("silu_mul", "liger", "ops/swiglu.py", (X, ("y", X[1])), "LigerSiLUMulFunction.apply(x, y)",
     "torch.nn.functional.silu(x) * y"),
    ("gelu_mul", "liger", "ops/geglu.py", (X, ("y", X[1])), "LigerGELUMulFunction.apply(x, y)",
     "torch.nn.functional.gelu(x, approximate='tanh') * y"),
    ("softmax", "liger", "ops/softmax.py", (X,), "LigerSoftmaxFunction.apply(x)", "torch.softmax(x, -1)"),
    ("dyt", "liger", "ops/dyt.py", (X, ("a", "torch.rand(1) + 0.5"), W, B), "LigerDyTFunction.apply(x, a, w, b)",
     "torch.tanh(a * x) * w + b"),
    ("relu_squared", "liger", "ops/relu_squared.py", (X,), "LigerReLUSquaredFunction.apply(x)", "torch.relu(x) ** 2"),
    ("group_norm", "liger", "ops/group_norm.py", (("x", "torch.randn(4, 16, 64)"), ("w", "torch.rand(16) + 0.5"),
                                                  ("b", "torch.randn(16)")),
     "LigerGroupNormFunction.apply(x, w, b, 16, 4, 1e-6)", "torch.nn.functional.group_norm(x, 4, w, b, 1e-6)"),
    ("fused_add_rms_norm", "liger", "ops/fused_add_rms_norm.py", (X, ("r", X[1]), W),
     "LigerFusedAddRMSNormFunction.apply(x, r, w, 1e-6)", "torch.nn.functional.rms_norm(x + r, (256,), w, 1e-6), x + r"),
    ("kl_div", "liger", "ops/kl_div.py", (("x", "torch.log_softmax(torch.randn(32, 256), -1)"),
                                          ("y", "torch.softmax(torch.randn(32, 256), -1)")),
     "LigerKLDivLossFunction.apply(x, y.detach())", "torch.nn.functional.kl_div(x, y.detach(), reduction='batchmean')"),
    ("sparsemax", "liger", "ops/sparsemax.py", (X,), "LigerSparsemaxFunction.apply(x, -1)", """sparse(x)

def sparse(x):
    ordered, _ = torch.sort(x, -1, descending=True)
    steps = torch.arange(1, x.shape[-1] + 1, device=x.device, dtype=x.dtype)
    kept = (1 + steps * ordered > ordered.cumsum(-1)).sum(-1, keepdim=True)
    bound = (ordered.cumsum(-1).gather(-1, kept - 1) - 1) / kept
    return torch.relu(x - bound)"""),
    ("rmsnorm_gated", "mamba", "ops/triton/layernorm_gated.py", (X, W, ("z", X[1])),
     "rmsnorm_fn(x, w, None, z=z, eps=1e-6, norm_before_gate=False)",
     "torch.nn.functional.rms_norm(x * torch.nn.functional.silu(z), (256,), w, 1e-6)"),
    ("layernorm_gated", "mamba", "ops/triton/layernorm_gated.py", (X, W, B), "layernorm_fn(x, w, b, eps=1e-6)",
     "torch.nn.functional.layer_norm(x, (256,), w, b, 1e-6)"),
    ("layer_norm of residual streams", "mamba", "ops/triton/layer_norm.py", (X, W, B),
     "layer_norm_fn(x, w, b, eps=1e-6)", "torch.nn.functional.layer_norm(x, (256,), w, b, 1e-6)"),
    ("swiglu", "mamba", "ops/triton/k_activations.py", (("x", "torch.randn(32, 512)"),), "SwiGLU.apply(x)",
     "torch.nn.functional.silu(x[:, :256]) * x[:, 256:]"),
]


def text_of(folder, files):
    """The files' texts, one behind the other, without their imports of one another."""
    return "\n\n".join(OWN_IMPORT.sub("", (folder / each).read_text(encoding="utf-8")) for each in files)


def row(case, folders):
    name, package, file, inputs, result, reference = case
    names = ", ".join(each for each, _ in inputs)
    head, _, helpers = reference.partition("\n\n")
    return {"id": f"{package}: {name}",
            "reference_code": f"import torch\n\n{helpers}\n\nclass Model(torch.nn.Module):\n"
                              f"    def forward(self, {names}):\n        return {head}\n\n"
                              f"def get_inputs():\n    return [{', '.join(draw for _, draw in inputs)}]\n",
            "kernel_code": f"{text_of(folders[package], (*SHARED[package], file))}\n\n"
                           f"def triton_kernel_wrapper({names}):\n    return {result}\n"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--liger", type=Path, required=True)
    parser.add_argument("--mamba", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--output", type=Path)
    flags = parser.parse_args()
    folders = {"liger": flags.liger, "mamba": flags.mamba}
    found = program.verdicts_of((row(each, folders) for each in CASES), "--backward", "on", "--timeout", 60,
                                "--device", flags.device, "--python", flags.python)
    print("| kernel | status | counts | error |\n|---|---|---|---|")
    for each in found:
        print(f"| {each['id']} | {each['status']} | {each['counts']} {each['counts_reason'] or ''} | "
              f"{(each['error'] or '')[:200]} |")
    if flags.output:
        kept = ("id", "status", "counts", "counts_reason", "error_class", "error", "fault", "gradients")
        flags.output.write_text(json.dumps({"device": flags.device, "verdicts": [
            {key: each[key] for key in kept} for each in found]}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
