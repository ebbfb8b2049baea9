"""A kernel within an autograd.Function, called by its apply."""
import torch
import triton
import triton.language as tl


@triton.jit
def _forward(x_ptr, weight_ptr, bias_ptr, out_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=inside, other=0.0)
    mean = tl.sum(x, axis=0) / n_cols
    centred = tl.where(inside, x - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n_cols + eps)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0)
    bias = tl.load(bias_ptr + cols, mask=inside, other=0.0)
    tl.store(out_ptr + row * n_cols + cols, centred * scale * weight + bias, mask=inside)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps=1e-5):
        out = torch.empty_like(x)
        n_cols = x.shape[-1]
        _forward[(x.numel() // n_cols,)](x, weight, bias, out, n_cols, eps, BLOCK=triton.next_power_of_2(n_cols))
        return out

    @staticmethod
    def backward(ctx, gradient):
        raise NotImplementedError


layer_norm = LayerNorm.apply
