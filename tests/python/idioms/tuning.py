"""Autotuning, heuristics and measuring."""
import torch
import triton
import triton.language as tl

x, y = torch.rand(1000), torch.rand(1000)


@triton.jit
def add_kernel(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def sum_kernel(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(o, tl.sum(tl.load(x + i, mask=i < n, other=0.0)))


def _configs(*sizes, **more):
    return [triton.Config({"BLOCK": size}, num_warps=4, **more) for size in sizes]


def _add(kernel):
    o = torch.zeros(1000)
    kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, o, 1000)
    assert torch.equal(o, x + y)
    return kernel


def one_configuration():
    _add(triton.autotune(_configs(256), key=["n"])(add_kernel))


def first_of_two():
    kernel = _add(triton.autotune(_configs(256, 512), key=["n"])(add_kernel))
    assert kernel.best_config.kwargs == {"BLOCK": 256}
    _add(kernel)


def reset_to_zero_with_atomics():
    kernel = triton.autotune(_configs(256, 512), key=["n"], reset_to_zero=["o"])(sum_kernel)
    o = torch.zeros(1)
    kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, o, 1000)
    assert torch.allclose(o, x.sum())


def early_prune():
    prune = {"early_config_prune": lambda configs, named, **more: configs[1:]}
    kernel = _add(triton.autotune(_configs(256, 512), key=["n"], prune_configs_by=prune)(add_kernel))
    assert kernel.best_config.kwargs == {"BLOCK": 512}


def performance_model():
    prune = {"perf_model": lambda **named: -named["BLOCK"], "top_k": 1}
    kernel = _add(triton.autotune(_configs(256, 512), key=["n"], prune_configs_by=prune)(add_kernel))
    assert kernel.best_config.kwargs == {"BLOCK": 512}


def configuration_hook():
    _add(triton.autotune(_configs(256, pre_hook=lambda named: named["o"].zero_()), key=["n"])(add_kernel))


def heuristics():
    o = torch.empty(1000)
    triton.heuristics({"BLOCK": lambda named: 256})(add_kernel)[(4,)](x, y, o, 1000)
    assert torch.equal(o, x + y)


def do_bench():
    assert triton.testing.do_bench(lambda: x + y) > 0
    assert len(triton.testing.do_bench(lambda: x + y, quantiles=[0.5, 0.2, 0.8])) == 3


def driver_target():
    assert triton.runtime.driver.active.get_current_target().arch == 90


def driver_device():
    device = triton.runtime.driver.active.get_active_torch_device()
    assert torch.zeros(2, device=device).is_cuda


def driver_properties():
    assert triton.runtime.driver.active.utils.get_device_properties(0)["multiprocessor_count"] == 132
