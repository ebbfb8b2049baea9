// Sums of rows: one block of 256 threads sums one row in shared memory.
__global__ void row_sum_kernel(const float* x, float* out, int n_cols) {
  __shared__ float partial[256];
  float sum = 0.0f;
  for (int col = threadIdx.x; col < n_cols; col += 256) sum += x[blockIdx.x * n_cols + col];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}
