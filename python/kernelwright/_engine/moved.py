"""Constructs modules whose weights differ from their defaults.

A normalisation with weight 1 and bias 0 hides a missing affine part; a zero bias hides a wrong channel. So reference
and candidate are constructed with equal seeds under initialisers that add noise afterwards. The noise of a parameter
depends only on the seed, its shape and the number of earlier parameters of that shape. Equal constructors therefore
get equal bits, and so do constructors that initialise the same parameters by different calls. PyTorch's own random
numbers are the same as without this module.
"""
import contextlib
import functools
import hashlib
import inspect
import sys
import weakref

import torch
from torch.nn.modules.batchnorm import _NormBase

SCALE, FLOOR = 0.1, 0.1
FEW, SAMPLED = 1 / 4, 1 << 16  # of a parameter's elements: as many values at most are no random numbers
STATISTICS = {"running_mean": False, "running_var": True, "moving_mean": False, "moving_var": True}  # whether they only grow


@contextlib.contextmanager
def moved_initialisers(seed):
    """Seed PyTorch, and construct modules whose weights differ from the defaults."""
    torch.manual_seed(seed)
    mover = _Mover(seed)
    undo = [*_patch_functions(mover), *_patch_classes(mover)]
    try:
        yield
    finally:
        for holder, name, original in reversed(undo):
            setattr(holder, name, original)


class _Mover:
    """Adds the noise, parameter by parameter."""

    def __init__(self, seed):
        self._seed, self._depth = seed, 0
        self._counts, self._parameters = {}, {}

    def created(self, parameter):
        """Handle a new parameter, of constant data or of data that is initialised later."""
        with torch.no_grad(), torch._C.DisableTorchFunction():
            if not _can_move(parameter):
                return
            key = self._next("parameter", parameter.shape)
            if address := parameter.data_ptr():
                self._parameters[address] = (weakref.ref(parameter), key)
            if not parameter._is_view() and (_is_constant(parameter) or parameter.requires_grad and _has_few_values(parameter)):
                self._add(parameter, key)

    def initialised(self, function):
        """`function`, an in-place initialiser, with noise after the outermost call."""
        @functools.wraps(function)
        def moved(*args, **kwargs):
            self._depth += 1
            try:
                result = function(*args, **kwargs)
            finally:
                self._depth -= 1
            tensor = args[0] if args else kwargs.get("tensor")
            if self._depth == 0 and isinstance(tensor, torch.Tensor):
                self._move(tensor)
            return result
        return moved

    def refilled(self, function):
        """`function`, which gives all elements of a tensor one value, with noise afterwards if it is a parameter."""
        @functools.wraps(function)
        def moved(tensor, *args, **kwargs):
            result = function(tensor, *args, **kwargs)
            if self._depth == 0:
                with torch.no_grad(), torch._C.DisableTorchFunction():
                    if _can_move(tensor) and (key := self._known(tensor)):
                        self._add(tensor, key)
            return result
        return moved

    def registered(self, function):
        """`function`, which registers a buffer, with noise if it has the name of running statistics."""
        @functools.wraps(function)
        def moved(module, name, tensor=None, *args, **kwargs):
            function(module, name, tensor, *args, **kwargs)
            with torch.no_grad(), torch._C.DisableTorchFunction():
                if name in STATISTICS and isinstance(tensor, torch.Tensor) and _can_move(tensor) and _is_constant(tensor):
                    self._add(tensor, self._next(f"buffer {name}", tensor.shape), upwards=STATISTICS[name])
        return moved

    def reset(self, function):
        """`function`, a reset of running statistics, with noise afterwards; a variance only grows."""
        @functools.wraps(function)
        def moved(module):
            function(module)
            with torch.no_grad(), torch._C.DisableTorchFunction():
                for name in ("running_mean", "running_var"):
                    buffer = getattr(module, name, None)
                    if isinstance(buffer, torch.Tensor) and _can_move(buffer):
                        self._add(buffer, self._next(name, buffer.shape), upwards=STATISTICS[name])
        return moved

    def _move(self, tensor):
        with torch.no_grad(), torch._C.DisableTorchFunction():
            if _can_move(tensor):
                self._add(tensor, self._key(tensor))

    def _key(self, tensor):
        return self._known(tensor) or self._next("other", tensor.shape)

    def _known(self, tensor):
        """The key of a parameter, or None. Looked up by address: initialisers often receive `parameter.data`."""
        parameter, key = self._parameters.get(tensor.data_ptr(), (None, None))
        known = parameter and parameter()
        is_it = known is not None and known.data_ptr() == tensor.data_ptr() and known.shape == tensor.shape
        return key if is_it else None

    def _next(self, kind, shape):
        key = f"{kind}:{tuple(shape)}"
        count = self._counts[key] = self._counts.get(key, 0) + 1
        return f"{self._seed}:{key}:{count}"

    def _add(self, tensor, key, upwards=False):
        # Drawn on the CPU for every device, so that the bits are equal.
        digest = hashlib.sha256(key.encode()).digest()
        generator = torch.Generator("cpu").manual_seed(int.from_bytes(digest[:8], "little"))
        noise = torch.randn(tensor.shape, generator=generator, device="cpu", dtype=torch.float32)
        scale = SCALE * (tensor.abs().mean(dtype=torch.float32).item() + FLOOR)
        noise = noise.mul_(scale)
        tensor.add_((noise.abs_() if upwards else noise).to(device=tensor.device, dtype=tensor.dtype))


def _can_move(tensor):
    return (tensor.is_floating_point() and tensor.numel() > 0 and tensor.layout is torch.strided
            and tensor.device.type in ("cpu", "cuda") and not torch.nn.parameter.is_lazy(tensor))


def _is_constant(tensor):
    # Uninitialised data may be constant by chance; its initialiser overwrites the noise.
    flat = tensor.detach().reshape(-1)
    return bool((flat == flat[0]).all())


def _has_few_values(tensor):
    """Whether it is a structure, such as an identity or equal rows."""
    flat = tensor.detach().reshape(-1)[:SAMPLED]
    return flat.numel() >= 16 and torch.unique(flat).numel() <= FEW * flat.numel()


def _initialisers():
    for name, function in vars(torch.nn.init).items():
        if inspect.isfunction(function) and not name.startswith("_") and name != "calculate_gain":
            parameters = list(inspect.signature(function).parameters)
            if parameters[:1] == ["tensor"] or not name.endswith("_"):
                yield name, function


def _patch_functions(mover):
    """Replace the initialisers in every module that holds them under their own names."""
    moved = {name: (function, mover.initialised(function)) for name, function in _initialisers()}
    undo = []
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if type(names) is not dict:
            continue
        for name in moved.keys() & names.keys():
            if names[name] is moved[name][0]:
                undo.append((module, name, moved[name][0]))
                names[name] = moved[name][1]
    return undo


def _patch_classes(mover):
    plain, reset = torch.nn.Parameter.__dict__["__new__"], _NormBase.reset_running_stats
    make = plain.__func__

    def new(cls, data=None, requires_grad=True):
        made = make(cls, data, requires_grad)
        if type(made) is torch.nn.Parameter:
            mover.created(made)
        return made

    register = torch.nn.Module.register_buffer
    torch.nn.Parameter.__new__ = staticmethod(new)
    _NormBase.reset_running_stats = mover.reset(reset)
    torch.nn.Module.register_buffer = mover.registered(register)
    fills = {name: getattr(torch.Tensor, name) for name in ("zero_", "fill_")}
    for name, function in fills.items():
        setattr(torch.Tensor, name, mover.refilled(function))
    return [(torch.nn.Parameter, "__new__", plain), (_NormBase, "reset_running_stats", reset),
            (torch.nn.Module, "register_buffer", register), *((torch.Tensor, name, each) for name, each in fills.items())]
