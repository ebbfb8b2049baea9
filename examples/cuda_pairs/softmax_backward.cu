// SPDX-License-Identifier: Apache-2.0
constexpr int WARPS = 8;  // rows per block

// The gradient of softmax from its output: grad_x = y * (grad_y - sum(y * grad_y)). One warp per row.
__global__ void softmax_backward_kernel(
    const float* __restrict__ y, const float* __restrict__ grad_y, float* __restrict__ grad_x, int n_rows, int n_cols) {
  const int lane = threadIdx.x % 32;
  const int row = blockIdx.x * WARPS + threadIdx.x / 32;
  if (row >= n_rows) return;
  y += row * n_cols;
  grad_y += row * n_cols;
  grad_x += row * n_cols;
  float dot = 0.0f;
  for (int col = lane; col < n_cols; col += 32) dot += y[col] * grad_y[col];
  for (int offset = 16; offset > 0; offset >>= 1) dot += __shfl_xor_sync(0xffffffff, dot, offset);
  for (int col = lane; col < n_cols; col += 32) grad_x[col] = y[col] * (grad_y[col] - dot);
}

void softmax_backward(
    const float* y, const float* grad_y, float* grad_x, int n_rows, int n_cols, cudaStream_t stream) {
  const dim3 grid((n_rows + WARPS - 1) / WARPS);
  softmax_backward_kernel<<<grid, 32 * WARPS, 0, stream>>>(y, grad_y, grad_x, n_rows, n_cols);
}
