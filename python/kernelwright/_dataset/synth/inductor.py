"""Triton code of PyTorch's compiler on a machine without a GPU.

The compiler asks the CUDA runtime and Triton's driver what the device can do, and needs neither to write code.
`fake_device` answers for an H100, and `compile_to_source` traces a function over tensors without data.
"""
import contextlib
from types import SimpleNamespace
from unittest import mock

import torch
import torch.cuda
import triton
from torch._inductor import config
from torch._inductor.debug import DebugContext
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.fake_tensor_prop import FakeTensorProp
from triton.backends.compiler import GPUTarget

CAPABILITY = (9, 0)
H100 = SimpleNamespace(
    name="NVIDIA H100", major=9, minor=0, multi_processor_count=132, total_memory=80 << 30, warp_size=32,
    regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, gcnArchName="",
    L2_cache_size=50 << 20, shared_memory_per_block=49152, shared_memory_per_block_optin=232448,
    shared_memory_per_multiprocessor=233472)


class Driver:
    """Stands for Triton's driver: the device's name is all that the compiler asks."""

    def get_current_target(self):
        """The machine that code is written for."""
        return GPUTarget("cuda", CAPABILITY[0] * 10 + CAPABILITY[1], 32)

    def get_current_device(self):
        """The first one."""
        return 0

    def get_current_stream(self, *_):
        """The default stream."""
        return 0

    def get_device_interface(self):
        """PyTorch's module of the device."""
        return torch.cuda

    def get_active_torch_device(self):
        """The device on which tensors lie."""
        return torch.device("cuda")


ANSWERS = {
    "torch.cuda.is_available": True,
    "torch.cuda.current_device": 0,
    "torch.cuda.device_count": 1,
    "torch.cuda._lazy_init": None,
    "torch.cuda.get_device_properties": H100,
    "torch.cuda.get_device_capability": CAPABILITY,
    "torch.utils._triton.has_triton": True,
    "torch._subclasses.fake_tensor.init_gpu_context": None,
    "torch._dynamo.device_interface.CudaInterface.get_compute_capability": 90,
    "torch._dynamo.device_interface.CudaInterface.get_device_properties": H100,
    "torch._dynamo.device_interface.CudaInterface.get_raw_stream": 0,
    "torch._dynamo.device_interface.CudaInterface.is_triton_capable": True,
    "torch._dynamo.device_interface.CudaInterface.raise_if_triton_unavailable": None,
    "torch._dynamo.device_interface.CudaInterface.Worker.get_device_properties": H100,
}

SETTINGS = {
    "triton.native_matmul": True,  # a product is tl.dot in a kernel, not a call of a library
    "triton.unique_kernel_names": True,
    "triton.descriptive_names": "original_aten",
    "triton.autotune_at_compile_time": False,
    "fx_graph_cache": False,
    "compile_threads": 1,
    "split_reductions": False,
    "comprehensive_padding": False,
}


@contextlib.contextmanager
def fake_device():
    """PyTorch and Triton believe in an H100 inside; nothing can run there."""
    triton.runtime.driver.set_active(Driver())
    with contextlib.ExitStack() as stack:
        for name, value in ANSWERS.items():
            stack.enter_context(mock.patch(name, lambda *_, value=value, **__: value))
        stack.enter_context(config.patch(SETTINGS))
        yield


def compile_to_source(function, shapes):
    """The module that the compiler writes for `function` over inputs of these shapes: (sizes, dtype) each."""
    with fake_device(), FakeTensorMode() as mode, torch.no_grad():
        traced = traced_on_device(function, shapes)
        inputs = [torch.empty(sizes, dtype=dtype, device="cuda") for sizes, dtype in shapes]
        FakeTensorProp(traced, mode).propagate_dont_convert_inputs(*inputs)
        lowering = GraphLowering(traced, shape_env=mode.shape_env)
        with V.set_graph_handler(lowering), V.set_fake_mode(mode), DebugContext():
            lowering.run(*inputs)
            code = lowering.codegen()[0]
    return getattr(code, "value", code)


def traced_on_device(function, shapes):
    """The operations of the function, traced on CPU tensors without data and moved to the device.

    Some methods of a tensor on the device ask the CUDA runtime for the current one, even without data.
    """
    inputs = [torch.empty(sizes, dtype=dtype) for sizes, dtype in shapes]
    traced = make_fx(function, decomposition_table=select_decomp_table())(*inputs)
    for node in traced.graph.nodes:
        if "device" in node.kwargs:
            node.kwargs = {**node.kwargs, "device": torch.device("cuda", 0)}
    traced.recompile()
    return traced
