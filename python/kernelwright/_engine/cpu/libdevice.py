"""Emulates libdevice in numpy: the real declarations select a symbol by types, and this module implements it."""
import importlib
import re

import numpy as np
import torch
import triton.runtime.interpreter as interpreter

from ..errors import Unsupported
from .floats import handle_of, wide


def _torch(function):
    return lambda *values: function(*(torch.from_numpy(np.array(each)) for each in values)).numpy()


def _round_away(x):
    return np.trunc(x + np.copysign(np.nextafter(x.dtype.type(0.5), x.dtype.type(0)), x))


def _jn(n, x):
    # Miller's upward recurrence is precise enough for the small orders that kernels use.
    before, now = _torch(torch.special.bessel_j0)(x), _torch(torch.special.bessel_j1)(x)
    order = np.broadcast_to(n, x.shape)
    found = np.where(order == 0, before, now)
    for k in range(1, int(order.max(initial=1))):
        before, now = now, 2 * k / x * now - before
        found = np.where(order == k + 1, now, found)
    return found


def _ilogb(x):
    return np.frexp(x)[1] - 1


def _ffs(x):
    lowest = x & -x
    return np.where(x == 0, 0, np.log2(np.abs(lowest.astype(np.float64)) + (x == 0)).astype(np.int32) + 1)


def _bits(x):
    return x.view(np.uint32 if x.dtype.itemsize == 4 else np.uint64)


def _popc(x):
    return np.bitwise_count(_bits(x))


def _clz(x):
    width = x.dtype.itemsize * 8
    found = np.full(x.shape, width, np.int32)
    for at in range(width):
        found = np.where((_bits(x) >> at) & 1 == 1, width - 1 - at, found)
    return found


def _brev(x):
    bits, found = _bits(x), np.zeros_like(_bits(x))
    for at in range(x.dtype.itemsize * 8):
        found = (found << 1) | ((bits >> at) & 1)
    return found.view(x.dtype)


def _mulhi(a, b):
    wide_kind = np.int64 if a.dtype == np.int32 else np.uint64
    if a.dtype.itemsize == 8:
        raise Unsupported("libdevice.mulhi on 64-bit integers")
    return (a.astype(wide_kind) * b.astype(wide_kind)) >> 32


def _float_table():
    special = torch.special
    return {
        "abs": np.abs, "fabs": np.abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint,
        "nearbyint": np.rint, "round": _round_away, "llrint": np.rint, "llround": _round_away, "lrint": np.rint,
        "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt, "rcbrt": lambda x: 1 / np.cbrt(x),
        "rcp": np.reciprocal, "exp": np.exp, "exp2": np.exp2, "exp10": lambda x: np.power(x.dtype.type(10), x),
        "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "logb": _ilogb,
        "ilogb": _ilogb, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinpi": lambda x: np.sin(np.pi * x),
        "cospi": lambda x: np.cos(np.pi * x), "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
        "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
        "acosh": np.arccosh, "atanh": np.arctanh, "erf": _torch(torch.erf), "erfc": _torch(torch.erfc),
        "erfinv": _torch(torch.erfinv), "erfcx": _torch(special.erfcx), "erfcinv": lambda x: _torch(torch.erfinv)(1 - x),
        "normcdf": _torch(special.ndtr), "normcdfinv": _torch(special.ndtri), "lgamma": _torch(torch.lgamma),
        "tgamma": lambda x: _torch(torch.exp)(_torch(torch.lgamma)(x)) * _gamma_sign(x),
        "cyl_bessel_i0": _torch(special.i0), "cyl_bessel_i1": _torch(special.i1), "j0": _torch(special.bessel_j0),
        "j1": _torch(special.bessel_j1), "y0": _torch(special.bessel_y0), "y1": _torch(special.bessel_y1), "jn": _jn,
        "pow": np.power, "powi": np.power, "fmod": np.fmod, "remainder": lambda x, y: x - y * np.rint(x / y),
        "fdim": lambda x, y: np.where(np.isnan(x - y), x - y, np.fmax(x - y, 0)), "fma": lambda x, y, z: _fma(x, y, z),
        "fmax": np.fmax, "fmin": np.fmin, "max": np.maximum, "min": np.minimum, "hypot": np.hypot,
        "rhypot": lambda x, y: 1 / np.hypot(x, y), "norm3d": lambda *v: _norm(*v), "rnorm3d": lambda *v: 1 / _norm(*v),
        "norm4d": lambda *v: _norm(*v), "rnorm4d": lambda *v: 1 / _norm(*v), "copysign": np.copysign,
        "nextafter": np.nextafter, "ldexp": np.ldexp, "scalbn": np.ldexp, "saturate": lambda x: np.fmin(np.fmax(x, 0), 1),
        "isnan": np.isnan, "isinf": np.isinf, "finite": np.isfinite, "isfinited": np.isfinite, "signbit": np.signbit,
        "fdivide": np.divide, "div": np.divide, "add": np.add, "sub": np.subtract, "mul": np.multiply,
    }


def _integer_table():
    return {"ffs": _ffs, "popc": _popc, "clz": _clz, "brev": _brev, "mulhi": _mulhi, "mul24": lambda a, b: _low(a) * _low(b),
            "hadd": lambda a, b: (a & b) + ((a ^ b) >> 1), "rhadd": lambda a, b: (a | b) - ((a ^ b) >> 1),
            "sad": lambda a, b, c: np.abs(a.astype(np.int64) - b) + c}


def _low(x):
    return (x << 8) >> 8


def _fma(x, y, z):
    return x.astype(np.float64) * y + z


def _norm(*values):
    return np.sqrt(sum(np.square(each.astype(np.float64)) for each in values))


def _gamma_sign(x):
    return np.where((x < 0) & (np.floor(x) % 2 != 0), -1.0, 1.0)


# Prefixes and endings that only select a type or a speed: __nv_fast_expf, __nv_fsqrt_rn, __nv_llabs, …
ROUND = re.compile(r"_r[nzdu]$")
REINTERPRETED = {"int_as_float", "float_as_int", "uint_as_float", "float_as_uint", "longlong_as_double",
                 "double_as_longlong"}
CONVERSION = re.compile(r"^(double|float|int|uint|ll|ull)2(double|float|int|uint|ll|ull)(?:_r([nzdu]))?$")
ROUNDINGS = {"n": np.rint, "z": np.trunc, "d": np.floor, "u": np.ceil, None: np.trunc}
_floats, _integers = _float_table(), _integer_table()


def _find(symbol):
    name = symbol.removeprefix("__nv_")
    if name in REINTERPRETED:
        return "bits"
    conversion = CONVERSION.match(name)
    if conversion:
        rounding = ROUNDINGS[conversion[3]]
        floating = conversion[1] in ("double", "float") and conversion[2] not in ("double", "float")
        return rounding if floating else lambda x: x
    # Other rounding directions differ in the last bit only, which a numeric comparison tolerates.
    base = ROUND.sub("", name).removeprefix("fast_")
    integers = [base, re.sub(r"^(ull|ll|u)", "", base), base.removesuffix("ll")]
    for each in integers:
        if each in _integers:
            return _integers[each]
    for each in (base, base.removesuffix("f"), base.removeprefix("f"), base.removeprefix("f").removesuffix("f"),
                 base.removeprefix("d"), base.removeprefix("ll"), base.removesuffix("d"), base.removeprefix("__")):
        if each in _floats:
            return _floats[each]
    return None


def create_extern_elementwise(self, lib_name, lib_path, symbol, arguments, return_type, is_pure):
    """An external function by its symbol; an unknown symbol raises Unsupported, so that it is not judged wrong."""
    function = _find(symbol)
    if function is None:
        raise Unsupported(f"external function {symbol}")
    target = return_type.scalar
    if function == "bits":
        return interpreter.TensorHandle(arguments[0].data.view(interpreter._get_np_dtype(target)), target)
    values = np.asarray(function(*np.broadcast_arrays(*(wide(each) for each in arguments))))
    return handle_of(values, target)


def install():
    """Install the functions, and make both import paths of libdevice the module with declarations."""
    interpreter.InterpreterBuilder.create_extern_elementwise = create_extern_elementwise
    declared = importlib.import_module("triton.language.extra.cuda.libdevice")
    generic = importlib.import_module("triton.language.extra.libdevice")
    interpreter._patch_builtin(declared, interpreter.interpreter_builder, interpreter._LangPatchScope())
    for name, function in vars(declared).items():
        if callable(function) and not name.startswith("_") and hasattr(generic, name):
            setattr(generic, name, function)
    cuda = importlib.import_module("triton.language.extra.cuda")
    gdc = importlib.import_module("triton.language.extra.cuda.gdc")
    # Triton imports it twice: the module that `tl.extra.cuda` names differs from the one that an import gives.
    named = importlib.import_module("triton.language.extra").cuda
    for owner in (cuda, named, gdc):
        # Programs run one after another here, so a dependent launch never waits.
        owner.gdc_wait = owner.gdc_launch_dependents = lambda *args, **kwargs: None
    for owner in (cuda, named):
        interpreter._patch_builtin(owner, interpreter.interpreter_builder, interpreter._LangPatchScope())
    interpreter._patch_builtin(importlib.import_module("triton.language.extra.cuda.utils"),
                               interpreter.interpreter_builder, interpreter._LangPatchScope())
