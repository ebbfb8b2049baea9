// Softmax of rows: the CUDA twin of row_softmax.py.
#include <cuda_runtime.h>
#include <math.h>

// One warp of 32 threads computes one row.
__global__ void row_softmax_kernel(const float* x_ptr, float* out_ptr, int n_cols) {
  const float* x = x_ptr + blockIdx.x * n_cols;
  float* out = out_ptr + blockIdx.x * n_cols;
  float row_max = -INFINITY;
  for (int col = threadIdx.x; col < n_cols; col += 32) row_max = fmaxf(row_max, x[col]);
  for (int lane = 16; lane > 0; lane /= 2) row_max = fmaxf(row_max, __shfl_xor_sync(0xffffffff, row_max, lane));
  float row_sum = 0.0f;
  for (int col = threadIdx.x; col < n_cols; col += 32) row_sum += expf(x[col] - row_max);
  for (int lane = 16; lane > 0; lane /= 2) row_sum += __shfl_xor_sync(0xffffffff, row_sum, lane);
  for (int col = threadIdx.x; col < n_cols; col += 32) out[col] = expf(x[col] - row_max) / row_sum;
}

void row_softmax(const float* x, float* out, int n_rows, int n_cols) {
  row_softmax_kernel<<<n_rows, 32>>>(x, out, n_cols);
}
