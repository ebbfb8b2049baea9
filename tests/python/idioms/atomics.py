"""Atomics and algorithms that use them."""
import torch
import triton
import triton.language as tl

x = torch.rand(1000)


@triton.jit
def atomics_kernel(x, o, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i, mask=m, other=0.0)
    tl.atomic_add(o, tl.sum(v))
    tl.atomic_max(o + 1, tl.max(v))
    tl.atomic_add(o + 2 + i % 4, v, mask=m)
    tl.atomic_cas(c, 0, 1)
    tl.atomic_xchg(c + 1, 5)


def add_max_cas_exchange():
    s, c = torch.zeros(8), torch.zeros(2, dtype=torch.int32)
    atomics_kernel[(4,)](x, s, c, 1000, BLOCK=256)
    assert torch.allclose(s[0], x.sum()) and s[1] == x.max() and c.tolist() == [1, 5]
    assert torch.allclose(s[2:6], x.view(250, 4).sum(0))


@triton.jit
def half_kernel(x, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(o + i % 4, tl.load(x + i), mask=i < BLOCK - 1)


def add_on_half_and_bfloat16():
    for dtype in (torch.float16, torch.bfloat16):
        s, v = torch.zeros(4, dtype=dtype), torch.ones(64, dtype=dtype)
        half_kernel[(1,)](v, s, BLOCK=64)
        assert s.tolist() == [16, 16, 16, 15]


@triton.jit
def lock_kernel(lock, o):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(o, tl.load(o) + 1)
    tl.atomic_xchg(lock, 0)


def spin_lock():
    s = torch.zeros(1)
    lock_kernel[(8,)](torch.zeros(1, dtype=torch.int32), s)
    assert s.item() == 8


@triton.jit
def last_block_kernel(x, partial, o, counter, n, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    p = tl.program_id(0)
    i = p * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + p, tl.sum(tl.load(x + i, mask=i < n, other=0.0)))
    if tl.atomic_add(counter, 1) == tl.num_programs(0) - 1:
        j = tl.arange(0, BLOCKS)
        tl.store(o, tl.sum(tl.load(partial + j, mask=j < tl.num_programs(0), other=0.0)))
        tl.atomic_xchg(counter, 0)


def last_block_reduces():
    partial, counter, s = torch.empty(4), torch.zeros(1, dtype=torch.int32), torch.empty(1)
    for _ in range(2):
        last_block_kernel[(4,)](x, partial, s, counter, 1000, BLOCK=256, BLOCKS=4)
        assert torch.allclose(s, x.sum())


@triton.jit
def exchange_kernel(held, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside = i < BLOCK - 1
    before = tl.atomic_xchg(held + i, (i + 5).to(held.dtype.element_ty), mask=inside)
    tl.store(o + i, before, mask=inside)
    tl.atomic_xchg(o + BLOCK - 1, 0.5)


def exchange_of_floats():
    for dtype in (torch.float32, torch.float64):
        held, o = torch.arange(4, dtype=dtype) + 0.25, torch.zeros(4, dtype=dtype)
        exchange_kernel[(1,)](held, o, BLOCK=4)
        assert held.tolist() == [5, 6, 7, 3.25] and o.tolist() == [0.25, 1.25, 2.25, 0.5]
