"""Words of Python to which Triton's compiler gives a meaning of its own."""
import torch
import triton
import triton.language as tl

UNSUPPORTED = {"map_elementwise": "tl.map_elementwise"}
x = torch.randn(64, 64)


@triton.jit
def logical_kernel(x, both, either, neither, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    value, at = tl.load(x + rows * BLOCK + columns), rows * BLOCK + columns
    tl.store(both + at, (value > 0) and (rows < 50) and (columns > 3))
    tl.store(either + at, (value > 0) or (rows > columns))
    tl.store(neither + at, not (value > 0))


def logical_words_on_blocks():
    both, either, neither = (torch.empty(64, 64, dtype=torch.bool) for _ in range(3))
    logical_kernel[(1,)](x, both, either, neither, BLOCK=64)
    rows, columns = torch.arange(64)[:, None], torch.arange(64)[None, :]
    assert torch.equal(both, (x > 0) & (rows < 50) & (columns > 3))
    assert torch.equal(either, (x > 0) | (rows > columns))
    assert torch.equal(neither, x <= 0)


@triton.jit
def constants_kernel(o, n, FIRST: tl.constexpr, SECOND: tl.constexpr):
    if FIRST and SECOND > 2:
        tl.store(o, 1)
    if FIRST and n > 3:
        tl.store(o + 1, 1)
    if not SECOND or n == 5:
        tl.store(o + 2, 1)
    if SECOND is None or FIRST:
        tl.store(o + 3, 1)


def logical_words_on_constants():
    o = torch.zeros(4, dtype=torch.int32)
    constants_kernel[(1,)](o, 5, FIRST=True, SECOND=3)
    assert o.tolist() == [1, 1, 1, 1]
    o.zero_()
    constants_kernel[(1,)](o, 4, FIRST=False, SECOND=3)
    assert o.tolist() == [0, 0, 0, 0]


@triton.jit
def extremes_kernel(x, y, most, least, scalar, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(most + at, max(tl.load(x + at), tl.load(y + at)))
    tl.store(least + at, min(tl.load(x + at), 0.25))
    tl.store(scalar, min(n, BLOCK) + max(BLOCK, 7))


def extremes_of_blocks():
    most, least, scalar = torch.empty(64), torch.empty(64), torch.empty(1, dtype=torch.int32)
    extremes_kernel[(1,)](x[0], x[1], most, least, scalar, 40, BLOCK=64)
    assert torch.equal(most, torch.maximum(x[0], x[1]))
    assert torch.equal(least, x[0].clamp(max=0.25))
    assert scalar.item() == 40 + 64


@triton.jit
def loop_kernel(x, o, n, remainders, quotients, products, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + start.to(tl.int64) + tl.arange(0, BLOCK))
    tl.store(o + tl.arange(0, BLOCK), total)
    for i in tl.range(0, 8):
        tl.store(remainders + i, (i - 4) % 3)
        tl.store(quotients + i, (i - 4) // 3)
        tl.store(products + i, i * 2000000000)


def variables_of_loops():
    o = torch.empty(64)
    numbers = [torch.empty(8, dtype=torch.int64) for _ in range(3)]
    loop_kernel[(1,)](x, o, x.numel(), *numbers, BLOCK=64)
    assert torch.allclose(o, x.sum(0), atol=1e-5)
    remainders, quotients, products = (each.tolist() for each in numbers)
    assert remainders == [-1, 0, -2, -1, 0, 1, 2, 0]
    assert quotients == [-1, -1, 0, 0, 0, 0, 0, 1]
    assert products[2] == 4000000000 - 2 ** 32


@triton.jit
def unrolled_kernel(x, o, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    size: tl.constexpr = BLOCK // PARTS
    total = tl.zeros([size], tl.float32)
    for part in tl.static_range(PARTS):
        total += tl.load(x + part * size + tl.arange(0, size))
    tl.store(o + tl.arange(0, size), total)


def unrolled_loops_with_constants():
    o = torch.empty(16)
    unrolled_kernel[(1,)](x, o, BLOCK=64, PARTS=4)
    assert torch.allclose(o, x[0].view(4, 16).sum(0), atol=1e-6)


@triton.jit
def assigned_kernel(o, n):
    count: tl.int32 = 3
    total, index = 0.0, 0
    tl.store(o, count.to(tl.float32) + index.to(tl.float32) + total.to(tl.float32) + n)
    for index in range(n):
        total += 1.5
    tl.store(o + 1, total)


def numbers_that_are_assigned():
    o = torch.empty(2)
    assigned_kernel[(1,)](o, 4)
    assert o.tolist() == [7.0, 6.0]


@triton.jit
def one_bit_kernel(x, o, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(o + at, (value > 0) + (value > 0.5))
    tl.store(count, tl.sum((value > 0).to(tl.int32), 0))


def sums_of_one_bit():
    o, count = torch.empty(64, dtype=torch.bool), torch.empty(1, dtype=torch.int32)
    one_bit_kernel[(1,)](x[0], o, count, BLOCK=64)
    assert torch.equal(o, (x[0] > 0) ^ (x[0] > 0.5)) and count.item() == (x[0] > 0).sum()


@triton.jit
def tripled_or_halved(value):
    if value > 0:
        return value * 3
    else:
        return value * 0.5


@triton.jit
def map_kernel(x, o, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(o + at, tl.map_elementwise(tripled_or_halved, tl.load(x + at)))


def map_elementwise():
    map_kernel[(1,)](x[0], torch.empty(64), BLOCK=64)


@triton.jit
def table_kernel(x, o, table, n, ROWS: tl.constexpr):
    row = tl.arange(0, ROWS)
    tl.store(table + row, (x + row * n).to(tl.int64))
    tl.store(table + ROWS + row, (o + row * n).to(tl.int64))


@triton.jit
def by_table_kernel(table, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    source = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    target = tl.load(table + ROWS + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    at = tl.arange(0, BLOCK)
    tl.store(target + at, tl.load(source + at, mask=at < n) * 2, mask=at < n)


def addresses_that_a_kernel_writes():
    o, table = torch.empty_like(x), torch.empty(128, dtype=torch.int64)
    table_kernel[(1,)](x, o, table, 64, ROWS=64)
    by_table_kernel[(64,)](table, 64, ROWS=64, BLOCK=64)
    assert torch.equal(o, x * 2)


def addresses_of_storages():
    o = torch.empty_like(x)
    pointers = [*(x.untyped_storage().data_ptr() + 256 * row for row in range(64)),
                *(o.untyped_storage().data_ptr() + 256 * row for row in range(64))]
    by_table_kernel[(64,)](torch.tensor(pointers), 64, ROWS=64, BLOCK=64)
    assert torch.equal(o, x * 2)
