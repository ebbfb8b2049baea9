
#include <cuda_runtime.h>
#include <cfloat>

__device__ float row_max(const float* row, int n_cols) {
  float best = -FLT_MAX;
  for (int i = 0; i < n_cols; ++i) best = fmaxf(best, row[i]);
  return best;
}

__global__ void softmax_rows_kernel(float* out, const float* in, int in_stride, int out_stride, int n_cols) {
  int row = blockIdx.x;
  const float* values = in + row * in_stride;
  float best = row_max(values, n_cols);
  float denominator = 0.f;
  for (int i = 0; i < n_cols; ++i) denominator += expf(values[i] - best);
  for (int i = threadIdx.x; i < n_cols; i += blockDim.x)
    out[row * out_stride + i] = expf(values[i] - best) / denominator;
}

void softmax_rows(float* out, const float* in, int rows, int n_cols) {
  softmax_rows_kernel<<<rows, 256>>>(out, in, n_cols, n_cols, n_cols);
}
