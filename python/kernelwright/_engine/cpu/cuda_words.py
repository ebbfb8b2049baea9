"""Emulates torch.cuda and related functions without a device, only while a candidate runs."""
import functools
import importlib.abc
import importlib.machinery
import sys
import types

import torch
import torch.amp.autocast_mode
import torch.utils._device

from ..errors import Unsupported
from .candidate_mode import reenter

DEVICE = torch.device("cuda", 0)
PROPERTIES = types.SimpleNamespace(
    name="NVIDIA H100 80GB HBM3", major=9, minor=0, multi_processor_count=132, total_memory=80 << 30,
    max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32, L2_cache_size=50 << 20,
    shared_memory_per_block=49152, shared_memory_per_block_optin=232448, shared_memory_per_multiprocessor=233472,
    regs_per_multiprocessor=65536, is_integrated=0, is_multi_gpu_board=0, gcnArchName="")
EXTENSIONS = "torch.utils.cpp_extension"
BUILDERS = {"load_inline": "load_inline", "load": "torch C++ extensions"}  # its functions, and what they are called


class Nothing:
    """A stream, an event or a device guard on device 0, whose work is always complete and in order."""

    def __init__(self, *args, **kwargs):
        self.device, self.device_index, self.idx, self.prev_idx = DEVICE, 0, 0, 0
        self.cuda_stream = self.cuda_event = self.stream_id = self.priority = 0

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

    def query(self):
        """Always true: the work is complete."""
        return True

    def record_event(self, event=None):
        """An event that has occurred."""
        return event or Event()

    def elapsed_time(self, end):
        """1.0, not 0: nothing was measured, and callers divide by it."""
        return 1.0

    def synchronize(self):
        """Does nothing: the work is complete."""

    def record(self, stream=None):
        """Does nothing: the event has occurred."""

    wait = wait_event = wait_stream = record


class Stream(Nothing):
    """torch.cuda.Stream."""


class Event(Nothing):
    """torch.cuda.Event."""


class Guard(Nothing):
    """torch.cuda.device, device_of and stream."""


class Generator(torch.Generator):
    """torch.Generator whose CUDA device is the CPU."""

    def __new__(cls, device="cpu"):
        kind = torch.device(device).type if not isinstance(device, int) else "cuda"
        return super().__new__(cls, "cpu" if kind == "cuda" else device)


def refuse(feature):
    """A callable that raises an error that names the feature and says that it needs a GPU."""
    def refused(*args, **kwargs):
        raise Unsupported(feature)
    return refused


def constant(value):
    """A callable that returns the same value for all arguments."""
    return lambda *args, **kwargs: value


def pass_through(fn=None, *args, **kwargs):
    """torch.compile and similar: returns the function itself, also as a decorator with arguments."""
    return fn if fn is not None else lambda inner: inner


def _each(names, value):
    # One function for each name: PyTorch's tables of its own functions must have no duplicates.
    return {name: constant(value) for name in names}


def _words():
    cuda = torch.cuda
    yes = _each(("is_available", "is_initialized", "is_bf16_supported", "is_tf32_supported"), True)
    zero = _each(("current_device", "memory_allocated", "max_memory_allocated", "memory_reserved",
                          "max_memory_reserved", "utilization", "temperature", "initial_seed"), 0)
    quiet = _each(("init", "_lazy_init", "set_device", "set_stream", "synchronize", "empty_cache", "ipc_collect",
                           "manual_seed", "manual_seed_all", "seed", "seed_all", "reset_peak_memory_stats",
                           "reset_accumulated_memory_stats", "set_per_process_memory_fraction"), None)
    refused = {name: refuse("CUDA graphs") for name in
               ("CUDAGraph", "graph", "make_graphed_callables", "graph_pool_handle")}
    refused |= {name: refuse("CUDA C++") for name in ("compile_kernel", "_compile_kernel")}
    rest = dict(device_count=constant(1), get_device_properties=constant(PROPERTIES),
                get_device_capability=constant((9, 0)), get_device_name=constant(PROPERTIES.name),
                get_arch_list=constant(["sm_90"]), current_stream=Stream, default_stream=Stream, Stream=Stream,
                ExternalStream=Stream, Event=Event, stream=Guard, StreamContext=Guard, device=Guard, device_of=Guard,
                mem_get_info=constant((79 << 30, 80 << 30)), memory_stats=constant({}), memory_summary=constant(""),
                is_current_stream_capturing=constant(False), can_device_access_peer=constant(False),
                get_rng_state=lambda device=None: torch.get_rng_state(),
                set_rng_state=lambda state, device=None: torch.set_rng_state(state))
    words = [(cuda, name, value) for group in (yes, zero, quiet, refused, rest) for name, value in group.items()]
    words += [(cuda, f"{kind}Tensor", getattr(torch, f"{kind}Tensor")) for kind in
              ("Float", "Half", "BFloat16", "Double", "Int", "Long", "Short", "Char", "Byte", "Bool")]
    words += [(cuda.nvtx, name, constant(None)) for name in ("range_push", "range_pop", "mark")]
    words += [(torch.accelerator, "is_available", constant(True)), (torch.accelerator, "device_count", constant(1)),
              (torch.accelerator, "current_accelerator", constant(torch.device("cuda"))),
              (torch.accelerator, "synchronize", constant(None)), (torch.accelerator, "current_device_index", constant(0))]
    words += [(torch.backends.cudnn, "is_acceptable", constant(False)),
              (torch.nn.RNNBase, "flatten_parameters", constant(None)), (torch.Tensor, "record_stream", constant(None))]
    words += [(torch, "Generator", Generator), (torch, "compile", pass_through),
              (torch.compiler, "disable", pass_through), (torch, "set_default_device", _set_default_device)]
    # torch.autograd.grad() runs the backward functions of a candidate below all modes.
    words += [(torch.autograd, "_engine_run_backward", reenter(torch.autograd._engine_run_backward))]
    words += [(torch.amp.autocast_mode.autocast, "__init__", _autocast),
              (torch.utils._device.DeviceContext, "__init__", _device_context)]
    return words + _custom_operators() + _extensions()


_real_autocast = torch.amp.autocast_mode.autocast.__init__
_real_device_context = torch.utils._device.DeviceContext.__init__
_real_set_default_device = torch.set_default_device


def _autocast(self, device_type, dtype=None, *args, **kwargs):
    # CPU autocast with CUDA's default type, so that the same operations are cast.
    if device_type == "cuda":
        device_type, dtype = "cpu", dtype or torch.float16
    _real_autocast(self, device_type, dtype, *args, **kwargs)


def _device_context(self, device):
    kind = device if isinstance(device, int) else torch.device(device).type
    _real_device_context(self, "cpu" if kind == "cuda" or isinstance(kind, int) else device)


def _set_default_device(device):
    if device is not None and not isinstance(device, int) and torch.device(device).type != "cuda":
        _real_set_default_device(device)


def _custom_operators():
    from torch._library.custom_ops import CustomOpDef
    register, impl = CustomOpDef.register_kernel, torch.library.Library.impl

    def register_kernel(self, device_types, fn=None, /):
        if fn is None:
            return lambda inner: register_kernel(self, device_types, inner)
        kinds = [device_types] if isinstance(device_types, str) else device_types
        kinds = kinds and list(dict.fromkeys("cpu" if each == "cuda" else each for each in kinds))
        register(self, kinds, reenter(fn))
        return fn

    def implement(self, op_name, fn, dispatch_key="", **kwargs):
        if dispatch_key != "CUDA":
            return impl(self, op_name, fn, dispatch_key, **kwargs)
        try:
            return impl(self, op_name, reenter(fn), "CPU", **kwargs)
        except RuntimeError:
            return None  # this operator has a CPU kernel, which is used

    return [(CustomOpDef, "register_kernel", register_kernel), (torch.library.Library, "impl", implement)]


def _extensions():
    found = sys.modules.get(EXTENSIONS)
    return [] if found is None else [(found, name, refuse(feature)) for name, feature in BUILDERS.items()]


class _ExtensionFinder(importlib.abc.MetaPathFinder):
    """Refuses the building of extensions in the module that does it, once a candidate imports the module.

    Its import takes a fifth of a second, for setuptools, and few candidates need it.
    """

    def find_spec(self, fullname, path, target=None):
        """The module's own spec, with a loader that replaces the functions."""
        if fullname != EXTENSIONS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None:
            spec.loader.exec_module = functools.partial(self._load, spec.loader.exec_module)
        return spec

    @staticmethod
    def _load(exec_module, module):
        exec_module(module)
        for name, feature in BUILDERS.items():
            setattr(module, name, refuse(feature))


_cached = []


def prepare():
    """Build the list of replacements in the parent, before children are forked."""
    if not _cached:
        _cached.extend(_words())
        sys.meta_path.insert(0, _ExtensionFinder())


def apply():
    """Install the replacements; returns the function that removes them."""
    prepare()
    missing = object()
    before = [(owner, name, vars(owner).get(name, missing)) for owner, name, _ in _cached]
    for owner, name, value in _cached:
        setattr(owner, name, value)

    def restore():
        for owner, name, value in reversed(before):
            if value is not missing:
                setattr(owner, name, value)
            elif name in vars(owner):
                delattr(owner, name)
    return restore
