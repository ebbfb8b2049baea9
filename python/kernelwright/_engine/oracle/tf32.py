"""Estimates the error of TF32: float32 operands of matrix products with 10 mantissa bits.

Triton's tl.dot multiplies float32 so unless it is told input_precision="ieee"; PyTorch by default does not.
"""
import torch
from torch.overrides import TorchFunctionMode

FINDING = ("the difference is what TF32 would give: tl.dot multiplies float32 in TF32 unless "
           "input_precision='ieee'")
BITS = 10  # of the mantissa
SLACK = 4.0  # times TF32's own error, because orders of summation differ

# Positions of the operands; None: all tensors.
_FIRST_TWO, _AFTER_SUM = (0, 1), (1, 2)
_OPERANDS = {
    **dict.fromkeys(("matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "dot", "inner", "linear", "bilinear",
                     "tensordot", "outer", "ger", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
                     "conv_transpose2d", "conv_transpose3d", "convolution", "_convolution"), _FIRST_TWO),
    **dict.fromkeys(("addmm", "addmm_", "addmv", "addbmm", "baddbmm", "baddbmm_", "addmm_out"), _AFTER_SUM),
    "scaled_dot_product_attention": (0, 1, 2), "einsum": None, "chain_matmul": None, "multi_dot": None,
}
_IN_PLACE = ("addmm_", "baddbmm_")
_KEYWORDS = {"input", "other", "mat1", "mat2", "mat", "vec", "vec2", "batch1", "batch2", "weight", "query", "key",
             "value"}


def rounded(tensor, bits=BITS):
    """A float32 tensor with its mantissas rounded to so many bits, halves away from zero; others as they are."""
    if not isinstance(tensor, torch.Tensor) or tensor.dtype is not torch.float32:
        return tensor
    return _Rounded.apply(tensor, bits) if tensor.requires_grad else _rounded(tensor, bits)


def _rounded(tensor, bits):
    # The low ones of 23 bits are cleared. A NaN's payload must not carry over into the exponent.
    low = 1 << 23 - bits
    words = (tensor.contiguous().view(torch.int32) + (low >> 1)) & ~(low - 1)
    return torch.where(torch.isfinite(tensor), words.view(torch.float32), tensor)


def _every(value, bits):
    if isinstance(value, (list, tuple)):
        return type(value)(_every(each, bits) for each in value)
    return rounded(value, bits)


class _Rounded(torch.autograd.Function):
    """Rounds values; their gradient passes unchanged."""

    @staticmethod
    def forward(ctx, tensor, bits):
        return _rounded(tensor, bits)

    @staticmethod
    def backward(ctx, given):
        return given, None


class _RoundedGradient(torch.autograd.Function):
    """Rounds the gradient of values, an operand of the products of the backward pass; they themselves stay."""

    @staticmethod
    def forward(ctx, tensor, bits):
        ctx.bits = bits
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx, given):
        return rounded(given, ctx.bits), None


class RoundedProducts(TorchFunctionMode):
    """Rounds the operands of each matrix product and convolution, and of its backward pass, to mantissas of so many bits."""

    def __init__(self, bits=BITS):
        super().__init__()
        self._bits = bits

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in _OPERANDS:
            places = _OPERANDS[name]
            args = tuple(_every(each, self._bits) if places is None or at in places else each for at, each in enumerate(args))
            # In addmm, "input" is the summand.
            words = _KEYWORDS - {"input"} if places == _AFTER_SUM else _KEYWORDS
            kwargs = {key: rounded(each, self._bits) if key in words else each for key, each in kwargs.items()}
            found = func(*args, **kwargs)
            needs = isinstance(found, torch.Tensor) and found.requires_grad and name not in _IN_PLACE
            return _RoundedGradient.apply(found, self._bits) if needs else found
        return func(*args, **kwargs)


def explains(error, reference_error):
    """Whether TF32 explains an error of this size."""
    return 0.0 < reference_error and error <= SLACK * reference_error
