"""libdevice, by both of its import paths."""
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as cuda_libdevice

x = torch.rand(512)


@triton.jit
def generic_kernel(x, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, libdevice.tanh(tl.load(x + i)))


@triton.jit
def cuda_kernel(x, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, cuda_libdevice.tanh(tl.load(x + i)))


@triton.jit
def attribute_kernel(x, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.extra.cuda.libdevice.tanh(tl.load(x + i)))


@triton.jit
def many_kernel(x, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(o + i, libdevice.pow(v, 2.0) + libdevice.erf(v) + libdevice.log1p(v) + libdevice.expm1(v)
             + libdevice.fast_expf(v) + libdevice.rsqrt(v + 1) + libdevice.atan2(v, v + 1) + libdevice.asinh(v)
             + libdevice.lgamma(v + 1) + libdevice.fma(v, v, v) + libdevice.round(v * 3) + libdevice.div_rn(v, v + 1))


@triton.jit
def integer_kernel(x, o, p, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(o + i, libdevice.isnan(v).to(tl.int32) * 100 + libdevice.float2int_rn(v * 10) + libdevice.popc(i))
    tl.store(p + i, libdevice.ffs(i))


def _tanh(kernel):
    o = torch.empty(512)
    kernel[(1,)](x, o, BLOCK=512)
    assert torch.allclose(o, x.tanh(), rtol=1e-6)


def generic_path():
    _tanh(generic_kernel)


def cuda_path():
    _tanh(cuda_kernel)


def attribute_path():
    _tanh(attribute_kernel)


def many_functions():
    o, v = torch.empty(512), x.double()
    many_kernel[(1,)](x, o, BLOCK=512)
    right = (v ** 2 + v.erf() + v.log1p() + v.expm1() + v.exp() + (v + 1).rsqrt() + torch.atan2(v, v + 1) + v.asinh()
             + torch.lgamma(v + 1) + v * v + v + torch.floor(v * 3 + 0.5) + v / (v + 1))
    assert torch.allclose(o, right.float(), rtol=1e-5, atol=1e-5)


def integer_answers():
    o, p = torch.empty(512, dtype=torch.int32), torch.empty(512, dtype=torch.int32)
    v = x.clone()
    v[0] = float("nan")
    integer_kernel[(1,)](v, o, p, BLOCK=512)
    bits = torch.tensor([bin(each).count("1") for each in range(512)], dtype=torch.int32)
    right = (v * 10).round().nan_to_num(0).int() + bits
    right[0] += 100
    assert torch.equal(o, right) and p[:9].tolist() == [0, 1, 2, 1, 3, 1, 2, 1, 4]
