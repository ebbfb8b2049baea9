#!/usr/bin/env python3
"""How errors correlate with the emulated error of bfloat16 operands: the figures of docs/verdict.md. No GPU is needed.

operand_precision.py     the Python of the tests (.venv/bin/python) runs it
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
import torch  # noqa: E402

from kernelwright._engine.oracle.precision import BITS  # noqa: E402
from kernelwright._engine.oracle.tf32 import rounded  # noqa: E402

DRAWS = 20


def correlation(right, given, emulated):
    error, other = (each.double().sub(right).flatten() for each in (given, emulated))
    return float(torch.dot(error, other) / (error.norm() * other.norm()))


def bfloat16(tensor):
    return tensor.bfloat16().float()


def half(tensor):
    return tensor.half().float()


def product(left, right):
    return (left.double() @ right.double()).float()


def sigmoid(values):
    return torch.sigmoid(values.double()).float()


def products():
    a, b = torch.randn(64, 128), torch.randn(128, 64)
    right, emulated = product(a, b), product(rounded(a, BITS), rounded(b, BITS))
    given = {"bfloat16, both": product(bfloat16(a), bfloat16(b)), "bfloat16, one": product(a, bfloat16(b)),
             "TF32": product(rounded(a), rounded(b)), "float16": product(half(a), half(b)),
             "float32, a sum in two parts": a[:, :64] @ b[:64] + a[:, 64:] @ b[64:],
             "noise": right + torch.randn_like(right) * 1e-3}
    return {f"product: {name}": correlation(right, each, emulated) for name, each in given.items()}


def sigmoids():
    x = torch.randn(64, 512)
    right, emulated = sigmoid(x), sigmoid(rounded(x, BITS))
    given = {"bfloat16": sigmoid(bfloat16(x)), "TF32": sigmoid(rounded(x)), "float16": sigmoid(half(x)),
             "float32": torch.sigmoid(x), "an approximation": right + 1e-4 * torch.sin(x * 0.3)}
    return {f"sigmoid: {name}": correlation(right, each, emulated) for name, each in given.items()}


def main():
    torch.manual_seed(0)
    draws = [products() | sigmoids() for _ in range(DRAWS)]
    for name in draws[0]:
        found = [each[name] for each in draws]
        print(f"{name:40} {min(found):+.3f} to {max(found):+.3f}")


if __name__ == "__main__":
    main()
