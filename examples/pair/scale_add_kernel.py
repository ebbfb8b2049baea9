"""A Triton kernel for scale_add_reference.py; its inputs are described in scale_add_shapes.json.

kernelwright verify examples/pair/scale_add_reference.py examples/pair/scale_add_kernel.py \\
    --input-shapes @examples/pair/scale_add_shapes.json
"""
import torch
import triton
import triton.language as tl


@triton.jit
def scale_add_kernel(x_ptr, y_ptr, scale_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < n_cols
    scale = tl.load(scale_ptr + row)
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    y = tl.load(y_ptr + row * n_cols + cols, mask=mask, other=0.0)
    tl.store(out_ptr + row * n_cols + cols, x * scale + y, mask=mask)


def triton_kernel_wrapper(x, y, scale):
    x, y, scale = x.contiguous(), y.contiguous(), scale.contiguous()
    out = torch.empty_like(x)
    n_rows, n_cols = x.shape
    grid = (n_rows, triton.cdiv(n_cols, 512))
    scale_add_kernel[grid](x, y, scale, out, n_cols, BLOCK=512)
    return out
