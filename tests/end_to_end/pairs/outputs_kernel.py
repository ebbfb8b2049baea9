"""A wrapper with two outputs of one kernel."""
import triton
import triton.language as tl


@triton.jit
def row_statistics(x_ptr, mean_ptr, spread_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=inside, other=0.0)
    mean = tl.sum(x, axis=0) / n_cols
    tl.store(mean_ptr + row, mean)
    tl.store(spread_ptr + row, tl.max(tl.where(inside, tl.abs(x - mean), 0.0), axis=0))


def fused_statistics(x):
    mean, spread = x.new_empty(x.shape[0]), x.new_empty(x.shape[0])
    row_statistics[(x.shape[0],)](x, mean, spread, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return mean, spread
