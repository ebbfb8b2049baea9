"""Uses of torch.cuda in wrappers."""
import torch
import triton
import triton.language as tl

UNSUPPORTED = {"cuda_graph": "CUDA graphs", "inline_cuda": "load_inline"}
x, y = torch.rand(1000), torch.rand(1000)


@triton.jit
def add_kernel(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


def _add():
    o = torch.empty(1000, device=x.device)
    add_kernel[(4,)](x, y, o, 1000, BLOCK=256)
    assert torch.equal(o, x + y)


def device_string():
    assert torch.ones(4, device="cuda").sum() == 4
    assert torch.ones(4, device="cuda:0").device.type == "cuda"
    assert torch.ones(4, device=0).is_cuda


def device_object():
    assert torch.zeros(2, device=torch.device("cuda")).device == torch.device("cuda", 0)


def device_context():
    with torch.device("cuda"):
        assert torch.zeros(3).is_cuda


def default_device():
    torch.set_default_device("cuda")
    _add()
    torch.set_default_device(None)


def tensor_cuda():
    assert x.cuda().is_cuda and torch.equal(x.cuda(non_blocking=True), x)


def tensor_to():
    assert torch.equal(x.to("cuda"), x) and x.to("cuda", torch.float16).dtype is torch.float16
    assert x.to(device="cuda").is_cuda and x.to(0).is_cuda and x.to(x.device, dtype=torch.float64).is_cuda


def tensor_cpu_and_numpy():
    assert x.cpu().numpy().shape == (1000,)


def module_cuda():
    layer = torch.nn.Linear(2, 2).cuda().to("cuda").to(torch.device("cuda:0"))
    assert layer.weight.is_cuda and layer(torch.ones(1, 2, device="cuda")).shape == (1, 2)


def module_on_device():
    assert torch.nn.Linear(2, 2, device="cuda").weight.is_cuda


def assert_is_cuda():
    assert x.is_cuda and not x.is_cpu


def device_type_and_index():
    assert x.device.type == "cuda" and x.device.index == 0 and x.get_device() == 0


def guard_by_device():
    with torch.cuda.device(x.device):
        _add()


def guard_by_index():
    with torch.cuda.device(x.device.index):
        _add()


def guard_by_number():
    with torch.cuda.device(0):
        _add()


def guard_device_of():
    with torch.cuda.device_of(x):
        _add()


def synchronize():
    _add()
    torch.cuda.synchronize()


def current_device():
    assert torch.cuda.current_device() == 0 and torch.cuda.device_count() == 1


def is_available():
    assert torch.cuda.is_available()


def device_properties():
    assert torch.cuda.get_device_properties(0).multi_processor_count == 132
    assert torch.cuda.get_device_properties(x.device).major == 9


def device_capability():
    assert torch.cuda.get_device_capability() >= (9, 0)


def current_stream():
    assert torch.cuda.current_stream().cuda_stream == 0


def streams():
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        _add()
    torch.cuda.current_stream().wait_stream(stream)


def events():
    first, second = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    first.record()
    second.record()
    second.synchronize()
    assert first.elapsed_time(second) > 0


def empty_cache():
    torch.cuda.empty_cache()
    _add()


def cuda_graph():
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        _add()


def allow_tf32():
    torch.backends.cuda.matmul.allow_tf32 = True
    _add()


def autocast():
    with torch.autocast("cuda"):
        assert (torch.rand(4, 4) @ torch.rand(4, 4)).dtype is torch.float16
        _add()


def autocast_type():
    with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
        assert torch.nn.functional.linear(torch.rand(4, 4), torch.rand(4, 4)).dtype is torch.bfloat16


def custom_forward():
    from torch.amp import custom_fwd

    class Add(torch.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cuda")
        def forward(ctx, a):
            return a + 1

    assert torch.equal(Add.apply(x), x + 1)


def pinned_memory():
    assert torch.empty(4).pin_memory().shape == (4,)
    assert torch.empty(4, pin_memory=True).shape == (4,)


def generator():
    drawn = torch.rand(4, device="cuda", generator=torch.Generator(device="cuda").manual_seed(1))
    again = torch.rand(4, device="cuda", generator=torch.Generator("cuda").manual_seed(1))
    assert torch.equal(drawn, again)


def nvtx_range():
    torch.cuda.nvtx.range_push("add")
    _add()
    torch.cuda.nvtx.range_pop()


def torch_compile():
    assert torch.equal(torch.compile(lambda a: a + 1)(x), x + 1)

    @torch.compile(mode="max-autotune")
    def twice(a):
        return a * 2

    assert torch.equal(twice(x), x * 2)


def inline_cuda():
    from torch.utils.cpp_extension import load_inline
    load_inline("extension", cpp_sources="", cuda_sources="__global__ void k(){}", functions=[])


def library_on_host():
    q = torch.rand(1, 1, 4, 8, device="cuda")
    assert torch.nn.functional.scaled_dot_product_attention(q, q, q).is_cuda


def autograd_function():
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            o = torch.empty_like(a)
            add_kernel[(4,)](a, b, o, 1000, BLOCK=256)
            return o

    with torch.no_grad():
        assert torch.equal(Add.apply(x, y), x + y)


def custom_operator():
    @torch.library.custom_op("idioms::add", mutates_args=(), device_types="cuda")
    def add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        assert a.is_cuda
        o = torch.empty(a.shape, device="cuda")
        add_kernel[(4,)](a, b, o, 1000, BLOCK=256)
        return o

    assert torch.equal(add(x, y), x + y)


def triton_operator():
    from torch.library import triton_op, wrap_triton

    @triton_op("idioms::triton_add", mutates_args={})
    def add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        o = torch.empty_like(a)
        wrap_triton(add_kernel)[(4,)](a, b, o, 1000, BLOCK=256)
        return o

    assert torch.equal(add(x, y), x + y)
