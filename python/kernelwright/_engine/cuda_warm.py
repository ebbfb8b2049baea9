"""Does the work of a first launch in a parent that must not touch the device."""
import contextlib
import os
import tempfile


@contextlib.contextmanager
def hands_off():
    """Keeps PyTorch's C++ extensions from asking for a device at import, which would break CUDA in forked children."""
    import torch
    asked, torch.cuda.is_available = torch.cuda.is_available, lambda: True
    try:
        yield
    finally:
        torch.cuda.is_available = asked


def compiler():
    """Triton's hash of its own files, its late imports, and the compiler's tables."""
    import triton.experimental.gluon  # noqa: F401  (imported by the first launch)
    import triton.tools.tensor_descriptor  # noqa: F401
    from triton._C.libtriton import get_cache_invalidating_env_vars, ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import compiler as triton_compiler
    from triton.runtime.cache import triton_key

    triton_key()
    backend = triton_compiler.make_backend(GPUTarget("cuda", 90, 32))
    backend.hash()
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    backend.get_codegen_implementation(backend.parse_options({}))
    backend.get_module_map()
    get_cache_invalidating_env_vars()


def driver_helper():
    """Compile and load Triton's C helper, which does not use the device until it is called."""
    from triton.backends.nvidia import driver

    from . import cuda_launcher
    cuda_launcher.install(driver)
    kept = os.environ.get("TRITON_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        try:
            driver.CudaUtils()
        except Exception:
            pass  # without a driver or a C compiler each child reports its own error
        finally:
            _put_back("TRITON_CACHE_DIR", kept)


def _put_back(name, value):
    if value is None:
        del os.environ[name]
    else:
        os.environ[name] = value
