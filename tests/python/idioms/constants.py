"""Constants that Python computes while a kernel is compiled."""
import dataclasses
import enum
import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl

x = torch.rand(64)
LOG2_E: tl.constexpr = tl.constexpr(math.log2(math.e))
LOWEST = tl.constexpr(torch.finfo(torch.float32).min)


class Act(enum.Enum):
    NONE = 0
    RELU = 1


@dataclasses.dataclass(frozen=True)
class Config:
    block: int
    act: Act = Act.RELU

    @property
    def half(self):
        return self.block // 2

    @triton.constexpr_function
    def parts(self, size):
        return size // self.block


class Pair(NamedTuple):
    left: tl.tensor
    right: tl.tensor


@triton.jit
def added(pair):
    return pair.left + pair.right


@triton.jit
def relu(value):
    return tl.maximum(value, 0.0)


@triton.jit
def modules_kernel(x, o, n, BLOCK: tl.constexpr):
    i = tl.arange(0, triton.next_power_of_2(BLOCK - 3))
    v = tl.load(x + i)
    for _ in range(tl.cdiv(n, BLOCK)):
        v = v * math.sqrt(4.0) + math.pi
    tl.store(o + i, tl.where(v > torch.finfo(torch.float32).max, LOWEST, v * LOG2_E + float("1e-3")))


def functions_of_modules():
    o = torch.zeros(64)
    modules_kernel[(1,)](x, o, 100, BLOCK=64)
    twice = ((x * 2 + math.pi) * 2 + math.pi) * math.log2(math.e) + 1e-3
    assert torch.allclose(o, twice)


@triton.jit
def cdiv_kernel(o, n, BLOCK: tl.constexpr):
    tl.store(o, tl.cdiv(n, BLOCK))
    tl.store(o + 1, triton.cdiv(BLOCK, 7))


def cdiv_of_arguments_and_constants():
    o = torch.zeros(2, dtype=torch.int32)
    cdiv_kernel[(1,)](o, 100, BLOCK=64)
    assert o.tolist() == [2, 10]


@triton.jit
def config_kernel(x, o, CONFIG: tl.constexpr, ACT: tl.constexpr):
    for part in tl.static_range(CONFIG.parts(64)):
        i = part * CONFIG.block + tl.arange(0, CONFIG.block)
        v = tl.load(x + i) - 0.5
        v = added(Pair(v, v))
        tl.store(o + i, ACT(v) if CONFIG.act.value == 1 else v)


def objects_of_constants():
    o = torch.zeros(64)
    config_kernel[(1,)](x, o, CONFIG=Config(16), ACT=relu)
    assert torch.allclose(o, torch.relu(2 * (x - 0.5)))


@triton.jit
def swizzle_kernel(o, M: tl.constexpr, N: tl.constexpr, GROUP: tl.constexpr):
    first, second = tl.swizzle2d(tl.program_id(0), tl.program_id(1), M, N, GROUP)
    lanes: tl.constexpr = [1, 2, 4][1] if M > 1 else 8
    shape: tl.constexpr = (lanes, min(M, N), max(M, N))
    tl.static_assert(shape[0] == 2 and len(shape) == 3, f"a shape of {M}")
    i = tl.arange(0, shape[0])
    tl.store(o + (first * N + second) * lanes + i, i + int(isinstance(M, tl.constexpr) or True))


def constants_of_a_grid():
    o = torch.zeros(16, dtype=torch.int32)
    swizzle_kernel[(2, 4)](o, M=2, N=4, GROUP=2)
    assert o.tolist() == [1, 2] * 8
