
import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK_SIZE: tl.constexpr):
    """Multiplies by a factor."""
    pid = tl.program_id(0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    if factor > 0:
        x = x * factor
    else:
        x = x - factor
    tl.store(out_ptr + offsets, x, mask=mask)


def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=torch.float32, device=x.device)
    n = x.numel()
    scale_kernel[(triton.cdiv(n, BLOCK),)](x, out, n, 2.0, BLOCK_SIZE=BLOCK)
    return out
