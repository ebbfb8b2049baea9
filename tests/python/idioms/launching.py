"""Ways to launch kernels."""
import torch
import triton
import triton.language as tl

UNSUPPORTED = {"warmup_handle": "kernel.warmup", "launch_handle_registers": "n_regs"}
x, y = torch.rand(1000), torch.rand(1000)
GRID = (triton.cdiv(1000, 256),)


@triton.jit
def add_kernel(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


def _add(grid=GRID, **options):
    o = torch.empty(1000)
    returned = add_kernel[grid](x, y, o, 1000, BLOCK=256, **options)
    assert torch.equal(o, x + y)
    return returned


def warps_and_stages():
    _add(num_warps=8, num_stages=2)


def other_launch_options():
    _add(num_ctas=1)
    _add(launch_pdl=True)
    _add(maxnreg=64)


def grid_from_meta():
    _add(lambda meta: (triton.cdiv(1000, meta["BLOCK"]),))


def grid_reads_runtime_arguments():
    _add(lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),))


def grid_as_list():
    _add([4])


def grid_of_integer_tensor():
    _add((torch.tensor(4),))


def grid_of_float_is_refused():
    try:
        _add((4.0,))
    except TypeError:
        return
    raise AssertionError("a float grid must be refused")


def grid_of_no_programs():
    o = torch.zeros(1000)
    add_kernel[(0,)](x, y, o, 0, BLOCK=256)
    assert not o.any()


def run_method():
    o = torch.empty(1000)
    add_kernel.run(x, y, o, 1000, BLOCK=256, grid=GRID, warmup=False)
    assert torch.equal(o, x + y)


def warmup_handle():
    add_kernel.warmup(x, y, x, 1000, BLOCK=256, grid=(1,))


def launch_handle_registers():
    _add().n_regs


@triton.jit
def scaled_kernel(x, bias, o, stride, double, factor, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i * stride, mask=m) * factor
    if bias is not None:
        v += tl.load(bias + i, mask=m)
    if double:
        v = v * 2
    tl.store(o + i, v, mask=m)


def scalar_none_and_bool_arguments():
    o = torch.empty(1000)
    scaled_kernel[(1,)](x, None, o, 1, True, 1.0, 1000, BLOCK=1024)
    assert torch.equal(o, x * 2)
    scaled_kernel[(1,)](x, y, o, 1, False, 1.0, 1000, BLOCK=1024)
    assert torch.equal(o, x + y)


@triton.jit
def promoting_kernel(x, factor, o):
    # A run-time float is float32 on the device, so the product is not rounded to 16 bits.
    tl.store(o, tl.load(x) * factor)


def float_argument_promotes_half():
    a, o = torch.tensor([1.0009765625], dtype=torch.float16), torch.empty(1)
    promoting_kernel[(1,)](a, 1.0009765625, o)
    assert o.item() != torch.tensor(o.item()).half().item()


@triton.jit
def tensor_scale_kernel(x, s, o, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) * tl.load(s), mask=m)


def zero_dimensional_tensor_argument():
    o = torch.empty(1000)
    tensor_scale_kernel[(1,)](x, torch.tensor(2.0), o, 1000, BLOCK=1024)
    assert torch.equal(o, x * 2)


@triton.jit
def strided_kernel(x, o, s0, s1, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    m = i < 1000
    tl.store(o + i, tl.load(x + (i // 10) * s0 + (i % 10) * s1, mask=m), mask=m)


def non_contiguous_argument():
    a, o = torch.rand(10, 100).t(), torch.empty(1000)
    strided_kernel[(1,)](a, o, a.stride(0), a.stride(1), BLOCK=1024)
    assert torch.equal(o.view(100, 10), a)


@triton.jit
def address_kernel(address, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(address.to(tl.pointer_type(tl.float32)) + i))


def raw_address():
    o = torch.empty(512)
    address_kernel[(1,)](x.data_ptr(), o, BLOCK=512)
    assert torch.equal(o, x[:512])


@triton.jit
def pair_kernel(pair, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(pair[0] + i) + tl.load(pair[1] + i))


def tuple_argument():
    o = torch.empty(512)
    pair_kernel[(1,)]((x, y), o, BLOCK=512)
    assert torch.equal(o, (x + y)[:512])


@triton.jit
def wide_grid_kernel(o):
    at = (tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)) * tl.num_programs(0) + tl.program_id(0)
    tl.store(o + at, at)


def three_dimensional_grid():
    o = torch.empty(24, dtype=torch.int32)
    wide_grid_kernel[(2, 3, 4)](o)
    assert o.tolist() == list(range(24))
