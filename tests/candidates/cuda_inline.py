"""A candidate in CUDA C++: compiled by load_inline where nvcc exists, otherwise not its own fault."""
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <torch/types.h>
__global__ void add(const float* x, const float* y, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] + y[i];
}
torch::Tensor add_cuda(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  int n = x.numel();
  add<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}
"""

extension = load_inline("added", cpp_sources="torch::Tensor add_cuda(torch::Tensor x, torch::Tensor y);",
                        cuda_sources=CUDA, functions=["add_cuda"])


def triton_kernel_wrapper(x, y):
    return extension.add_cuda(x.contiguous(), y.contiguous())
