"""The language under other import names."""
import torch
import triton
from triton import language as T
from triton.language import arange, constexpr, load, store
import triton.language.core as core

ALIAS = T.constexpr
x = torch.rand(512)


@triton.jit
def other_name_kernel(x, o, BLOCK: T.constexpr):
    i = T.arange(0, BLOCK)
    T.store(o + i, T.load(x + i))


@triton.jit
def bare_names_kernel(x, o, BLOCK: constexpr):
    i = arange(0, BLOCK)
    store(o + i, load(x + i))


@triton.jit
def core_kernel(x, o, BLOCK: core.constexpr):
    i = core.arange(0, BLOCK)
    core.store(o + i, core.load(x + i))


@triton.jit
def alias_kernel(x, o, BLOCK: ALIAS):
    i = T.arange(0, BLOCK)
    T.store(o + i, T.load(x + i))


def _copies(kernel):
    o = torch.empty(512)
    kernel[(1,)](x, o, BLOCK=512)
    assert torch.equal(o, x)


def another_name():
    _copies(other_name_kernel)


def names_imported():
    _copies(bare_names_kernel)


def language_core():
    _copies(core_kernel)


def constexpr_alias():
    _copies(alias_kernel)
