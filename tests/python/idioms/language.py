"""Language features inside kernels."""
import torch
import triton
import triton.language as tl

UNSUPPORTED = {"inline_assembly": "inline PTX", "scaled_dot": "dot_scaled", "gluon_kernel": "Gluon",
               "waits_for_a_later_program": "endless"}
x, y = torch.rand(1000), torch.rand(1000)
FACTOR = tl.constexpr(2.0)


@triton.jit
def math_kernel(x, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(o + i, tl.math.erf(v) + tl.math.rsqrt(v + 1) + tl.sqrt_rn(v) + tl.math.exp2(v) + tl.sigmoid(v)
             + tl.math.log2(v + 1) + tl.math.fma(v, v, v))


def math_functions():
    o, v = torch.empty(512), x[:512].double()
    math_kernel[(1,)](x, o, BLOCK=512)
    right = v.erf() + (v + 1).rsqrt() + v.sqrt() + v.exp2() + v.sigmoid() + (v + 1).log2() + v * v + v
    assert torch.allclose(o, right.float(), rtol=1e-6)


@triton.jit
def relu(v):
    return tl.where(v > 0, v, 0.0)


@triton.jit
def early_return_kernel(x, o, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    if p * BLOCK >= n:
        return
    i = p * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + i, relu(tl.load(x + i, mask=m)), mask=m)


def early_return_and_helper():
    o = torch.empty(1000)
    early_return_kernel[(9,)](x - 0.5, o, 1000, BLOCK=256)
    assert torch.equal(o, (x - 0.5).relu())


@triton.jit
def loops_kernel(x, o, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for j in tl.range(0, n, BLOCK, num_stages=3):
        total += tl.load(x + j + tl.arange(0, BLOCK), mask=j + tl.arange(0, BLOCK) < n, other=0.0)
    for _ in tl.static_range(2):
        total += 0.0
    for j in range(tl.cdiv(n, BLOCK)):
        total += 0.0
    j = 0
    while j < n:
        j += BLOCK
    tl.store(o, tl.sum(total))


def loops():
    o = torch.empty(1)
    loops_kernel[(1,)](x, o, 1000, BLOCK=128)
    assert torch.allclose(o[0], x.sum())


@triton.jit
def checks_kernel(x, o, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK == 512)
    tl.static_print("block", BLOCK)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.device_assert(v >= 0, "negative")
    tl.device_print("sum", tl.sum(v))
    tl.assume(BLOCK > 0)
    tl.debug_barrier()
    tl.store(o + i, v)


def prints_and_asserts():
    o = torch.empty(512)
    checks_kernel[(1,)](x, o, BLOCK=512)
    assert torch.equal(o, x[:512])


@triton.jit
def constant_kernel(x, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i) * FACTOR)


def global_constexpr():
    o = torch.empty(512)
    constant_kernel[(1,)](x, o, BLOCK=512)
    assert torch.equal(o, x[:512] * 2)


def kernel_in_a_closure():
    block = tl.constexpr(512)

    @triton.jit
    def copy_kernel(x, o):
        i = tl.arange(0, block)
        tl.store(o + i, tl.load(x + i))

    o = torch.empty(512)
    copy_kernel[(1,)](x, o)
    assert torch.equal(o, x[:512])


@triton.jit
def hints_kernel(x, o, BLOCK: tl.constexpr):
    i = tl.max_contiguous(tl.multiple_of(tl.arange(0, BLOCK), 8), 8)
    v = tl.load(x + i, eviction_policy="evict_last") + tl.load(x + i, cache_modifier=".ca") * 0
    tl.store(o + i, v, cache_modifier=".wb")
    tl.store(o + i, tl.load(x + i, volatile=True), eviction_policy="evict_first")


def memory_hints():
    o = torch.empty(512)
    hints_kernel[(1,)](x, o, BLOCK=512)
    assert torch.equal(o, x[:512])


@triton.jit
def block_pointer_kernel(x, o, n, BLOCK: tl.constexpr):
    p = tl.make_block_ptr(x, (n,), (1,), (0,), (BLOCK,), (0,))
    q = tl.make_block_ptr(o, (n,), (1,), (0,), (BLOCK,), (0,))
    for _ in range(2):
        tl.store(q, tl.load(p, boundary_check=(0,), padding_option="zero"), boundary_check=(0,))
        p = tl.advance(p, (BLOCK,))
        q = tl.advance(q, (BLOCK,))


def block_pointers():
    o = torch.empty(1000)
    block_pointer_kernel[(1,)](x, o, 1000, BLOCK=512)
    assert torch.equal(o, x)


@triton.jit
def host_descriptor_kernel(source, target):
    target.store([0, 0], source.load([0, 0]) * 2.0)


def host_tensor_descriptor():
    from triton.tools.tensor_descriptor import TensorDescriptor
    a, c = torch.rand(32, 32), torch.empty(32, 32)
    host_descriptor_kernel[(1,)](TensorDescriptor.from_tensor(a, [32, 32]), TensorDescriptor.from_tensor(c, [32, 32]))
    assert torch.equal(c, a * 2)


@triton.jit
def device_descriptor_kernel(x, o):
    a = tl.make_tensor_descriptor(x, [32, 32], [32, 1], [32, 32])
    b = tl.make_tensor_descriptor(o, [32, 32], [32, 1], [32, 32])
    b.store([0, 0], a.load([0, 0]) * 2.0)


def device_tensor_descriptor():
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    a, c = torch.rand(32, 32), torch.empty(32, 32)
    device_descriptor_kernel[(1,)](a, c)
    assert torch.equal(c, a * 2)


@triton.jit
def swizzle_kernel(o, n, BLOCK: tl.constexpr):
    row, _ = tl.swizzle2d(tl.program_id(0), 0, 4, 4, 2)
    tl.store(o, tl.cdiv(n, BLOCK) + row)


def cdiv_and_swizzle():
    o = torch.empty(1, dtype=torch.int32)
    swizzle_kernel[(1,)](o, 1000, BLOCK=512)
    assert o.item() == 2 and triton.next_power_of_2(1000) == 1024


@triton.jit
def assembly_kernel(x, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.inline_asm_elementwise("tanh.approx.f32 $0,$1;", "=f,f", [tl.load(x + i)], dtype=tl.float32, is_pure=True,
                                  pack=1)
    tl.store(o + i, v)


def inline_assembly():
    assembly_kernel[(1,)](x, torch.empty(512), BLOCK=512)


@triton.jit
def scaled_dot_kernel(a, s, o, N: tl.constexpr):
    i = tl.arange(0, N)
    p = i[:, None] * N + i[None, :]
    v = tl.load(a + p)
    e = tl.load(s + i[:, None] + tl.zeros((1, N // 32), tl.int32))
    tl.store(o + p, tl.dot_scaled(v, e, "e4m3", v, e, "e4m3"))


def scaled_dot():
    a = torch.zeros(64, 64, dtype=torch.uint8)
    scaled_dot_kernel[(1,)](a, torch.zeros(64, dtype=torch.uint8), torch.empty(64, 64), N=64)


def gluon_kernel():
    from triton.experimental import gluon

    @gluon.jit
    def nothing_kernel(x):
        pass

    nothing_kernel[(1,)](x)


@triton.jit
def waiting_kernel(flag, o):
    if tl.program_id(0) == 0:
        while tl.atomic_add(flag, 0) == 0:
            pass
        tl.store(o, 1.0)
    else:
        tl.atomic_xchg(flag, 1)


def waits_for_a_later_program():
    waiting_kernel[(2,)](torch.zeros(1, dtype=torch.int32), torch.zeros(1))
