"""Types, roundings and special values, as an sm_90 device has them."""
import math

import torch
import triton
import triton.language as tl

x = torch.rand(1000)


@triton.jit
def add_kernel(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


def _adds(a, b):
    o = torch.empty_like(a)
    add_kernel[(4,)](a, b, o, 1000, BLOCK=256)
    assert torch.equal(o, a + b)


@triton.jit
def dot_kernel(a, b, o, N: tl.constexpr, PRECISION: tl.constexpr):
    i = tl.arange(0, N)
    p = i[:, None] * N + i[None, :]
    tl.store(o + p, tl.dot(tl.load(a + p), tl.load(b + p), input_precision=PRECISION))


def _dot(a, b, precision=None):
    o = torch.empty(a.shape)
    dot_kernel[(1,)](a, b, o, N=a.shape[0], PRECISION=precision)
    return o


def dot_of_half_and_bfloat16():
    for dtype in (torch.float16, torch.bfloat16):
        a, b = torch.randn(32, 32).to(dtype), torch.randn(32, 32).to(dtype)
        assert torch.allclose(_dot(a, b), a.float() @ b.float(), atol=1e-4)


def dot_of_float8():
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        a = torch.randn(32, 32).to(dtype)
        assert torch.allclose(_dot(a, a), a.float() @ a.float(), atol=1e-3)


def dot_is_tf32_by_default():
    a, b = torch.randn(64, 64), torch.randn(64, 64)
    error = (_dot(a, b).double() - a.double() @ b.double()).abs().max()
    assert 1e-4 < error < 5e-2


def dot_ieee_is_exact():
    a, b = torch.randn(64, 64), torch.randn(64, 64)
    assert (_dot(a, b, "ieee").double() - a.double() @ b.double()).abs().max() < 2e-5


def bfloat16_add():
    _adds(x.bfloat16(), x.flip(0).bfloat16())


def half_add():
    _adds(x.half(), x.flip(0).half())


def integers():
    for dtype in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64):
        a = torch.randint(0, 50, (1000,)).to(dtype)
        _adds(a, a)


@triton.jit
def compare_kernel(x, o, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) > 0.5, mask=m)


def bool_output():
    for dtype in (torch.float32, torch.bfloat16):
        o = torch.empty(1000, dtype=torch.bool)
        compare_kernel[(1,)](x.to(dtype), o, 1000, BLOCK=1024)
        assert torch.equal(o, x.to(dtype) > 0.5)


@triton.jit
def bfloat16_kernel(x, o, r, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    a = tl.exp(v.to(tl.float32)).to(tl.bfloat16) * v - tl.full((BLOCK,), 0.5, tl.bfloat16)
    tl.store(o + i, tl.where(a > 0, tl.maximum(a, -a), tl.abs(a)))
    tl.store(r, tl.sum(v))
    tl.store(r + 1, tl.max(v))
    tl.store(r + 2, tl.cumsum(v, 0).to(tl.float32).sum())


def bfloat16_arithmetic():
    v = (x[:512] - 0.3).bfloat16()
    o, r = torch.empty(512, dtype=torch.bfloat16), torch.empty(3)
    bfloat16_kernel[(1,)](v, o, r, BLOCK=512)
    assert torch.equal(o, (v.float().exp().bfloat16() * v - 0.5).abs())
    assert math.isclose(r[0], v.float().sum(), rel_tol=1e-2) and r[1] == v.float().max()


@triton.jit
def round_kernel(x, o, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i).to(TYPE))


def rounding_to_narrow_types():
    v = torch.cat([torch.randn(500), torch.tensor([0.0, -0.0, 1e-40, 3e38, -1e-3, math.inf, -math.inf, 1e-9, 0.1, 7.0,
                                                   65519.0, 65520.0])])
    for dtype, kind in ((torch.bfloat16, tl.bfloat16), (torch.float16, tl.float16)):
        o = torch.empty(512, dtype=dtype)
        round_kernel[(1,)](v, o, TYPE=kind, BLOCK=512)
        assert torch.equal(o, v.to(dtype))


def rounding_to_float8_saturates():
    v, o = torch.tensor([0.3, 1.06, -17.0, 1000.0, -1e9, 0.0, 448.0, 2e-3]), torch.empty(8, dtype=torch.float8_e4m3fn)
    round_kernel[(1,)](v, o, TYPE=tl.float8e4nv, BLOCK=8)
    assert torch.equal(o.float(), v.clamp(-448, 448).to(torch.float8_e4m3fn).float())


def float_to_integer_saturates():
    v, o = torch.tensor([1.9, -1.9, 3e9, -3e9, math.nan, math.inf, 0.0, 7.0]), torch.empty(8, dtype=torch.int32)
    round_kernel[(1,)](v, o, TYPE=tl.int32, BLOCK=8)
    assert o.tolist() == [1, -1, 2**31 - 1, -2**31, 0, 2**31 - 1, 0, 7]


@triton.jit
def nan_kernel(x, o):
    v = tl.load(x)
    tl.store(o, tl.maximum(v, 1.0))
    tl.store(o + 1, tl.minimum(v, 1.0))
    tl.store(o + 2, tl.maximum(v, 1.0, propagate_nan=tl.PropagateNan.ALL))
    tl.store(o + 3, tl.log(v - v - 1.0) + 1.0 / (v - v))
    tl.store(o + 4, 1.0 / (tl.load(x + 1) * 0.0))


def special_values():
    o = torch.empty(5)
    nan_kernel[(1,)](torch.tensor([math.nan, 1.0]), o)
    assert o[0] == 1 and o[1] == 1 and o[2].isnan() and o[3].isnan() and o[4].isinf()


@triton.jit
def division_kernel(o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK) - 4
    tl.store(o + i + 4, i // 3)
    tl.store(o + BLOCK + i + 4, i % 3)


def integer_division_truncates():
    o = torch.empty(16, dtype=torch.int32)
    division_kernel[(1,)](o, BLOCK=8)
    quotients = [int(each / 3) for each in range(-4, 4)]
    assert o.tolist() == quotients + [each - 3 * q for each, q in zip(range(-4, 4), quotients)]


@triton.jit
def large_kernel(o):
    tl.store(o, tl.program_id(0).to(tl.int64) * 4294967296)


def large_offsets():
    o = torch.empty(1, dtype=torch.int64)
    large_kernel[(2,)](o)
    assert o.item() == 4294967296
