"""Exchanges values by shared memory, with a barrier."""
import torch
from torch.cuda import _compile_kernel

SOURCE = """
extern "C" __global__ void add_relu(const float* x, const float* y, float* out, int count) {
  __shared__ volatile float sums[256];
  int thread = threadIdx.x, other = thread ^ 1, at = blockIdx.x * 256;
  if (at + thread < count) sums[thread] = x[at + thread] + y[at + thread];
  BARRIER
  if (at + other < count) out[at + other] = fmaxf(sums[other], 0.0f);
}
"""
kernel = _compile_kernel(SOURCE.replace("BARRIER", "__syncthreads();"), "add_relu")


def triton_kernel_wrapper(x, y):
    out = torch.empty_like(x)
    kernel(((x.numel() + 255) // 256, 1, 1), (256, 1, 1), (x, y, out, x.numel()))
    return out
