"""Native code counts as built where a builder of PyTorch's is given sources."""
from types import SimpleNamespace

import pytest
import torch
from torch.utils import cpp_extension

from kernelwright._engine import native_code


@pytest.fixture
def backend(monkeypatch):
    for module, names in ((cpp_extension, native_code.BUILDERS), (torch.cuda, native_code.WITHOUT_NVCC)):
        for name in names:
            monkeypatch.setattr(module, name, lambda *args, **kwargs: "built", raising=False)
    monkeypatch.setattr(cpp_extension, "CUDA_HOME", "/usr/local/cuda")
    made = SimpleNamespace(native_code=False)
    native_code.watch(made)
    return made


@pytest.mark.parametrize("args, kwargs, native", [
    (("m", "int x;"), {}, True), (("m", ""), {"cuda_sources": ["", "int x;"]}, True), (("m",), {"cpp_sources": "int x;"}, True),
    (("m", "", ""), {"functions": ["f"]}, False), (("m", [""], [" \n"]), {}, False), (("m",), {"cuda_sources": None}, False),
])
def test_load_inline_with_sources_is_native(backend, args, kwargs, native):
    assert cpp_extension.load_inline(*args, **kwargs) == "built"
    assert backend.native_code is native


def test_a_later_empty_build_changes_nothing(backend):
    cpp_extension.load("m", sources=["a.cu"])
    cpp_extension.load("n", sources=[])
    assert backend.native_code is True


def test_a_kernel_without_nvcc_is_native(backend):
    torch.cuda._compile_kernel("__global__ void f() {}", "f")
    assert backend.native_code is True
