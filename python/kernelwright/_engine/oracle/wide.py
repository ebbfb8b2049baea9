"""Runs a reference in float64 throughout, also where it converts to float32 inside.

Each result that another precision would round can be moved: such a run shows which values rounding decides.
"""
import contextlib
import time

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_map_only

_WIDE = (torch.float64, torch.complex128)
_REINTERPRETED = ("aten::view.dtype", "aten::view_as_real", "aten::view_as_complex")
# What rounds its results; what selects, compares or moves numbers does not.
_ROUNDS = frozenset("""
    add sub rsub mul div addcmul addcdiv lerp pow reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p logaddexp
    logaddexp2 sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc erfinv sigmoid log_sigmoid_forward
    logit gelu silu mish softplus elu hardswish softmax log_softmax logsumexp sum nansum mean var var_mean std std_mean prod
    cumsum cumprod logcumsumexp norm linalg_vector_norm cdist_forward pdist_forward dot vdot mv mm bmm addmv addmm addbmm
    baddbmm addr convolution native_layer_norm native_group_norm native_batch_norm fused_rms_norm avg_pool1d avg_pool2d
    avg_pool3d adaptive_avg_pool2d adaptive_avg_pool3d upsample_bilinear2d upsample_bicubic2d upsample_linear1d
    upsample_trilinear3d grid_sampler_2d grid_sampler_3d index_add scatter_add mse_loss smooth_l1_loss huber_loss
    binary_cross_entropy nll_loss_forward scaled_dot_product_attention scaled_dot_product_flash_attention_for_cpu
    scaled_dot_product_attention_math fft_r2c fft_c2c fft_c2r linalg_svd linalg_eigh linalg_solve_ex linalg_inv_ex
""".split())


class Late(Exception):
    """A run took longer than it may."""


def wider(dtype):
    """The dtype with 64-bit components; others stay."""
    if dtype.is_complex:
        return torch.complex128
    return torch.float64 if dtype.is_floating_point else dtype


class WideMode(TorchDispatchMode):
    """Widens what operators convert to and create. `narrowed` names the first operator that loses digits all the same.

    `moved` changes each tensor of results that another precision would round.
    """

    def __init__(self, limit_s, moved=None):
        super().__init__()
        self.narrowed = ""
        self._moved = moved
        self._deadline = time.monotonic() + limit_s

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if time.monotonic() > self._deadline:
            raise Late("the reference takes too long in float64")
        kwargs = kwargs or {}
        given = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, torch.Tensor)]
        wide = any(each.dtype in _WIDE for each in given)
        name = func.name()
        if name not in _REINTERPRETED:
            args, kwargs = tree_map(_wider_dtype, args), tree_map(_wider_dtype, kwargs)
            if wide and not func._schema.is_mutable:
                args, kwargs = tree_map_only(torch.Tensor, _widened, args), tree_map_only(torch.Tensor, _widened, kwargs)
        found = func(*args, **kwargs)
        if wide and not self.narrowed and (name == "aten::view.dtype" or any(_narrow(each) for each in tree_flatten(found)[0])):
            self.narrowed = name.removeprefix("aten::")
        if not (self._moved and wide and _rounds(name)):
            return found
        if func._schema.is_mutable:
            return tree_map_only(torch.Tensor, lambda own: own.copy_(self._moved(own)), found)
        return tree_map_only(torch.Tensor, self._moved, found)


def _rounds(name):
    return name.removeprefix("aten::").split(".")[0].strip("_") in _ROUNDS


def _wider_dtype(value):
    return wider(value) if isinstance(value, torch.dtype) else value


def _widened(tensor):
    return tensor.to(wider(tensor.dtype)) if _narrow(tensor) else tensor


def _narrow(value):
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()) \
        and value.dtype not in _WIDE


@contextlib.contextmanager
def widely(limit_s, moved=None):
    """A WideMode is active, and what is created without a dtype is float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with WideMode(limit_s, moved) as mode:
            yield mode
    finally:
        torch.set_default_dtype(before)
