"""Detects candidates that compile CUDA or C++ of their own."""
import functools
import shutil

import torch

from .errors import Unsupported

BUILDERS = ("load", "load_inline")
SOURCES = ("sources", "cpp_sources", "cuda_sources")  # of a builder, after the extension's name
WITHOUT_NVCC = ("_compile_kernel", "compile_kernel")  # functions of torch.cuda


def watch(backend):
    """From now on `backend.native_code` says whether native code was built."""
    for name in WITHOUT_NVCC:
        if build := getattr(torch.cuda, name, None):
            setattr(torch.cuda, name, _noted(backend, build))
    try:
        from torch.utils import cpp_extension
    except ImportError:
        return  # it needs setuptools, without which a candidate cannot build either
    for name in BUILDERS:
        setattr(cpp_extension, name, _watched(backend, getattr(cpp_extension, name), cpp_extension))


def _noted(backend, build):
    @functools.wraps(build)
    def noted(*args, **kwargs):
        backend.native_code = True
        return build(*args, **kwargs)
    return noted


def _passes_sources(args, kwargs):
    given = [*args[1:3], *(kwargs.get(name) for name in SOURCES)]
    return any(str(text).strip() for each in given if each for text in (each if isinstance(each, (list, tuple)) else [each]))


def _watched(backend, build, cpp_extension):
    @functools.wraps(build)
    def watched(*args, **kwargs):
        backend.native_code = backend.native_code or _passes_sources(args, kwargs)
        if cpp_extension.CUDA_HOME is None and shutil.which("nvcc") is None:
            raise Unsupported("compiling CUDA C++ without nvcc")
        return build(*args, **kwargs)
    return watched
