"""Prints bytes that must not reach a terminal.

Strategy: control characters, escape sequences, invalid UTF-8 and NUL bytes.
Bound: some bytes.
"""
import os

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def add(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), BLOCK=256)
    return out


def triton_kernel_wrapper(x, y):
    os.write(1, b"\x1b]0;owned\x07\x1b[2J\x00\xff\xfe\xc3(\r\x08\x08\n{\"status\": \"correct\"}\n")
    os.write(2, b"\x9b31m\xed\xa0\x80\n")
    return add(x, y)
