"""Reductions, scans and rearrangements of whole blocks."""
import torch
import triton
import triton.language as tl

x = torch.rand(1024)


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def scan_kernel(x, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(o + i, tl.cumsum(v, 0) + tl.associative_scan(v, 0, plus))


def scans():
    o = torch.empty(256)
    scan_kernel[(1,)](x, o, BLOCK=256)
    assert torch.allclose(o, 2 * x[:256].cumsum(0), rtol=1e-4)


@triton.jit
def sort_kernel(x, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.sort(tl.load(x + i)))


def sorting():
    o = torch.empty(512)
    sort_kernel[(1,)](x, o, BLOCK=512)
    assert torch.equal(o, x[:512].sort().values)


@triton.jit
def combine(m1, s1, n1, m2, s2, n2):
    d = m2 - m1
    n = n1 + n2
    return m1 + d * (n2 / n), s1 + s2 + d * d * (n1 * n2 / n), n


@triton.jit
def welford_kernel(x, o, BLOCK: tl.constexpr):
    v = tl.load(x + tl.arange(0, BLOCK))
    m, s, n = tl.reduce((v, tl.zeros_like(v), tl.full((BLOCK,), 1.0, tl.float32)), 0, combine)
    tl.store(o, m)
    tl.store(o + 1, s / n)
    tl.store(o + 2, tl.argmax(v, 0).to(tl.float32))


def reduction_of_tuples():
    o, v = torch.empty(3), x[:256]
    welford_kernel[(1,)](x, o, BLOCK=256)
    assert torch.allclose(o[0], v.mean()) and torch.allclose(o[1], v.var(unbiased=False), rtol=1e-3)
    assert o[2] == v.argmax()


@triton.jit
def random_kernel(o, seed, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.rand(seed, i))


def random_numbers():
    o, again = torch.empty(512), torch.empty(512)
    random_kernel[(1,)](o, 5, BLOCK=512)
    random_kernel[(1,)](again, 5, BLOCK=512)
    assert torch.equal(o, again) and 0.4 < o.mean() < 0.6 and o.min() >= 0 and o.max() < 1


@triton.jit
def rearrange_kernel(x, o, h, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = tl.split(tl.reshape(tl.load(x + i), (BLOCK // 2, 2)))
    v = tl.gather(tl.interleave(a, b), i, 0)
    tl.store(o + i, tl.flip(tl.flip(v, 0), 0))
    tl.store(h + tl.arange(0, 4), tl.histogram(i % 4, 4))


def split_interleave_gather_flip_histogram():
    o, h = torch.empty(512), torch.empty(4, dtype=torch.int32)
    rearrange_kernel[(1,)](x, o, h, BLOCK=512)
    assert torch.equal(o, x[:512]) and h.tolist() == [128] * 4


@triton.jit
def softmax_kernel(x, o, cols, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + i, mask=i < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(o + row * cols + i, e / tl.sum(e, axis=0), mask=i < cols)


def softmax():
    a = torch.randn(8, 100)
    o = torch.empty_like(a)
    softmax_kernel[(8,)](a, o, 100, BLOCK=128)
    assert torch.allclose(o, a.softmax(1), atol=1e-6)


@triton.jit
def largest(a, b):
    # A branch: such a function cannot be applied to whole blocks.
    if a > b:
        return a
    else:
        return b


@triton.jit
def recurrence(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def custom_kernel(x, o, ROWS: tl.constexpr, COLS: tl.constexpr):
    i, j = tl.arange(0, ROWS), tl.arange(0, COLS)
    v = tl.load(x + i[:, None] * COLS + j[None, :])
    tl.store(o + i, tl.reduce(v, 1, largest))
    tl.store(o + ROWS + j, tl.reduce(v, 0, plus))
    _, h = tl.associative_scan((v, v), 1, recurrence)
    tl.store(o + ROWS + COLS + i[:, None] * COLS + j[None, :], h)
    _, r = tl.associative_scan((v, v), 0, recurrence, reverse=True)
    tl.store(o + ROWS + COLS + ROWS * COLS + i[:, None] * COLS + j[None, :], r)


def custom_combine_functions():
    a = torch.rand(4, 16)
    o = torch.empty(4 + 16 + 128)
    custom_kernel[(1,)](a, o, ROWS=4, COLS=16)
    h, r = a.clone(), a.clone()
    for at in range(1, 16):
        h[:, at] = h[:, at - 1] * a[:, at] + a[:, at]
    for at in (2, 1, 0):
        r[at] = r[at + 1] * a[at] + a[at]
    assert torch.equal(o[:4], a.amax(1)) and torch.allclose(o[4:20], a.sum(0))
    assert torch.allclose(o[20:84].view(4, 16), h) and torch.allclose(o[84:].view(4, 16), r)


@triton.jit
def keep_kernel(x, o, ROWS: tl.constexpr, COLS: tl.constexpr):
    i, j = tl.arange(0, ROWS), tl.arange(0, COLS)
    v = tl.load(x + i[:, None] * COLS + j[None, :])
    tl.store(o + i[:, None], tl.reduce(v, 1, plus, keep_dims=True))
    tl.store(o + ROWS, tl.reduce(v, None, plus))


def reductions_that_keep_or_drop_all_dimensions():
    a, o = torch.rand(4, 16).bfloat16(), torch.empty(5)
    keep_kernel[(1,)](a, o, ROWS=4, COLS=16)
    assert torch.allclose(o[:4], a.float().sum(1), rtol=3e-2) and torch.allclose(o[4], a.float().sum(), rtol=5e-2)
