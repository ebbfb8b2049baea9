#!/usr/bin/env python3
"""Judges both sides of examples/cuda_pairs on a GPU, each against NAME_reference.py.

hand_pairs.py [--pairs FOLDER] [--device cuda|cpu] [--python PYTHON] [--output FILE.json]     the program is $KERNELWRIGHT

The CUDA side is a module that compiles the kernels of NAME.cu with NVRTC (torch.cuda._compile_kernel). Its wrapper below
launches them as the host launcher of NAME.cu does, which NVRTC cannot compile. Without a GPU the CUDA sides are skipped.
"""
import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from end_to_end import program  # noqa: E402

LAUNCHER = re.compile(r"^void \w+\(", re.MULTILINE)
CANDIDATE = '''
import torch
from torch.utils import cpp_extension

SOURCE = r"""{source}"""
# NVRTC finds the headers of CUDA in the packages that PyTorch needs.
HEADERS = f"{{torch.__path__[0]}}/../nvidia/cu{{torch.version.cuda.split('.')[0]}}/include"
cpp_extension.CUDA_HOME = cpp_extension.CUDA_HOME or "/usr/local/cuda"
kernels = {{}}


def launch(name, grid, block, *args):
    if name not in kernels:
        kernels[name] = torch.cuda._compile_kernel(SOURCE, name, cuda_include_dirs=[HEADERS])
    kernels[name](grid=(*grid, 1, 1)[:3], block=(*block, 1, 1)[:3], args=args)


def cdiv(total, part):
    return (total + part - 1) // part


{wrapper}
'''

# By pair: the wrapper in place of the host launcher. Its numbers are the constants of NAME.cu.
WRAPPERS = {
    "adam_step": '''
def triton_kernel_wrapper(param, grad):
    outs = [torch.empty_like(param) for _ in range(3)]
    launch("adam_step_kernel", (cdiv(param.numel(), 256),), (256,), param, grad, *outs, param.numel())
    return tuple(outs)
''',
    "attention": '''
def triton_kernel_wrapper(q, k, v):
    out = torch.empty_like(q)
    launch("attention_kernel", (cdiv(q.shape[0], 4),), (128,), q, k, v, out, q.shape[0], k.shape[0])
    return out
''',
    "causal_conv": '''
def triton_kernel_wrapper(x, state, weight, bias):
    sequences, steps, channels = x.shape
    out, next_state = torch.empty_like(x), torch.empty_like(state)
    launch("causal_conv_kernel", (cdiv(channels, 128), cdiv(steps, 32), sequences), (128,),
           x, state, weight, bias, out, next_state, steps, channels)
    return out, next_state
''',
    "int4_matmul": '''
def triton_kernel_wrapper(x, packed, scales):
    rows, inner, cols = *x.shape, scales.shape[1]
    out = torch.empty(rows, cols, device=x.device)
    launch("int4_matmul_kernel", (cdiv(cols, 64), cdiv(rows, 16)), (256,), x, packed, scales, out, rows, cols, inner)
    return out
''',
    "layer_norm_backward": '''
def triton_kernel_wrapper(x, weight, grad_y):
    rows, cols = x.shape
    partials = cdiv(rows, 8)
    grad_x, grad_weight, grad_bias = torch.empty_like(x), torch.empty_like(weight), torch.empty_like(weight)
    partial_weight, partial_bias = (torch.empty(partials, cols, device=x.device) for _ in range(2))
    launch("layer_norm_backward_kernel", (partials,), (128,), x, weight, grad_y, grad_x, partial_weight, partial_bias,
           rows, cols)
    launch("sum_partials_kernel", (cdiv(cols, 32),), (32, 8), partial_weight, partial_bias, grad_weight, grad_bias,
           partials, cols)
    return grad_x, grad_weight, grad_bias
''',
    "moe_gating": '''
def triton_kernel_wrapper(logits):
    tokens = logits.shape[0]
    weights = torch.empty(tokens, 4, device=logits.device)
    experts = torch.empty(tokens, 4, dtype=torch.int32, device=logits.device)
    launch("moe_gating_kernel", (cdiv(tokens, 4),), (128,), logits, weights, experts, tokens)
    return weights, experts
''',
    "paged_attention": '''
def triton_kernel_wrapper(q, k_cache, v_cache, pages, lengths):
    sequences, heads, _ = q.shape
    out = torch.empty_like(q)
    launch("paged_attention_kernel", (heads, sequences), (128,), q, k_cache, v_cache, pages, lengths, out, heads,
           pages.shape[1])
    return out
''',
    "segment_softmax": '''
def triton_kernel_wrapper(values, offsets):
    out = torch.empty_like(values)
    launch("segment_softmax_kernel", (offsets.numel() - 1,), (128,), values, offsets, out)
    return out
''',
    "selective_scan": '''
def triton_kernel_wrapper(x, delta, a, b, c, skip):
    sequences, steps, channels = x.shape
    out = torch.empty_like(x)
    launch("selective_scan_kernel", (cdiv(channels, 16), sequences), (256,), x, delta, a, b, c, skip, out, steps, channels)
    return out
''',
    "softmax_backward": '''
def triton_kernel_wrapper(y, grad_y):
    rows, cols = y.shape
    grad_x = torch.empty_like(y)
    launch("softmax_backward_kernel", (cdiv(rows, 8),), (256,), y, grad_y, grad_x, rows, cols)
    return grad_x
''',
}


def kernels_of(text):
    """A .cu file without its host launcher, which is its last function."""
    return LAUNCHER.split(text)[0]


def rows_of(folder):
    """Two rows of a batch for each pair: NAME/triton and NAME/cuda."""
    for source in sorted(folder.glob("*.cu")):
        name = source.stem
        reference = (folder / f"{name}_reference.py").read_text(encoding="utf-8")
        candidates = {"triton": (folder / f"{name}.py").read_text(encoding="utf-8"),
                      "cuda": CANDIDATE.format(source=kernels_of(source.read_text(encoding="utf-8")),
                                               wrapper=WRAPPERS[name].strip())}
        for side, text in candidates.items():
            yield {"id": f"{name}/{side}", "reference_code": reference, "entry_point": name, "kernel_code": text}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, default=ROOT / "examples" / "cuda_pairs")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--output", type=Path)
    flags = parser.parse_args()
    found = program.verdicts_of(rows_of(flags.pairs), "--device", flags.device, "--python", flags.python)
    kept = ("id", "status", "counts", "counts_reason", "error_class", "error", "fault", "speedup", "kernel_ms")
    table = {"device": flags.device, "both_right": sum(
        all(each["counts"] for each in found if each["id"].startswith(f"{name}/")) for name in WRAPPERS),
        "pairs": len(WRAPPERS), "verdicts": [{key: each.get(key) for key in kept} for each in found]}
    text = json.dumps(table, indent=1)
    print(text)
    if flags.output:
        flags.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
