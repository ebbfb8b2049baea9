// SPDX-License-Identifier: Apache-2.0
constexpr int THREADS = 128;
constexpr int ROWS = 8;      // rows per block of the first kernel
constexpr int LANES_X = 32;  // columns per block of the second kernel
constexpr int LANES_Y = 8;
constexpr float EPS = 1e-5f;

// The sum over the block, for all its threads.
__device__ float block_sum(float value, float* scratch) {
  __syncthreads();  // the last reader of the scratch is done
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int stride = THREADS / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) scratch[threadIdx.x] += scratch[threadIdx.x + stride];
    __syncthreads();
  }
  return scratch[0];
}

// The first pass: the gradient of x, and the sums of the gradients of weight and bias over the rows of the block. A
// thread owns the same columns in each row, so its partial sums need no atomics and have a fixed order.
__global__ void layer_norm_backward_kernel(
    const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ grad_y,
    float* __restrict__ grad_x, float* __restrict__ partial_weight, float* __restrict__ partial_bias, int n_rows,
    int n_cols) {
  __shared__ float scratch[THREADS];
  partial_weight += blockIdx.x * n_cols;
  partial_bias += blockIdx.x * n_cols;
  for (int col = threadIdx.x; col < n_cols; col += THREADS) {
    partial_weight[col] = 0.0f;
    partial_bias[col] = 0.0f;
  }
  const int begin = blockIdx.x * ROWS;
  const int end = min(begin + ROWS, n_rows);
  for (int row = begin; row < end; ++row) {
    const float* x_row = x + row * n_cols;
    const float* grad_row = grad_y + row * n_cols;
    float sum = 0.0f;
    for (int col = threadIdx.x; col < n_cols; col += THREADS) sum += x_row[col];
    const float mean = block_sum(sum, scratch) / n_cols;
    float squares = 0.0f;
    for (int col = threadIdx.x; col < n_cols; col += THREADS) {
      const float centred = x_row[col] - mean;
      squares += centred * centred;
    }
    const float rstd = rsqrtf(block_sum(squares, scratch) / n_cols + EPS);
    float grad_sum = 0.0f;
    float dot = 0.0f;
    for (int col = threadIdx.x; col < n_cols; col += THREADS) {
      const float normalised = (x_row[col] - mean) * rstd;
      const float grad = grad_row[col] * weight[col];
      grad_sum += grad;
      dot += grad * normalised;
      partial_weight[col] += grad_row[col] * normalised;
      partial_bias[col] += grad_row[col];
    }
    const float grad_mean = block_sum(grad_sum, scratch) / n_cols;
    const float dot_mean = block_sum(dot, scratch) / n_cols;
    for (int col = threadIdx.x; col < n_cols; col += THREADS) {
      const float normalised = (x_row[col] - mean) * rstd;
      grad_x[row * n_cols + col] = (grad_row[col] * weight[col] - grad_mean - normalised * dot_mean) * rstd;
    }
  }
}

// The second pass adds the partial sums of all blocks. LANES_Y threads share a column.
__global__ void sum_partials_kernel(
    const float* __restrict__ partial_weight, const float* __restrict__ partial_bias, float* __restrict__ grad_weight,
    float* __restrict__ grad_bias, int n_partials, int n_cols) {
  __shared__ float weights[LANES_Y][LANES_X];
  __shared__ float biases[LANES_Y][LANES_X];
  const int col = blockIdx.x * LANES_X + threadIdx.x;
  float weight = 0.0f;
  float bias = 0.0f;
  if (col < n_cols) {
    for (int i = threadIdx.y; i < n_partials; i += LANES_Y) {
      weight += partial_weight[i * n_cols + col];
      bias += partial_bias[i * n_cols + col];
    }
  }
  weights[threadIdx.y][threadIdx.x] = weight;
  biases[threadIdx.y][threadIdx.x] = bias;
  __syncthreads();
  if (threadIdx.y > 0 || col >= n_cols) return;
  for (int i = 1; i < LANES_Y; ++i) {
    weight += weights[i][threadIdx.x];
    bias += biases[i][threadIdx.x];
  }
  grad_weight[col] = weight;
  grad_bias[col] = bias;
}

// partial_weight and partial_bias have ceil(n_rows / ROWS) rows of n_cols.
void layer_norm_backward(
    const float* x, const float* weight, const float* grad_y, float* grad_x, float* grad_weight, float* grad_bias,
    float* partial_weight, float* partial_bias, int n_rows, int n_cols, cudaStream_t stream) {
  const int n_partials = (n_rows + ROWS - 1) / ROWS;
  layer_norm_backward_kernel<<<n_partials, THREADS, 0, stream>>>(
      x, weight, grad_y, grad_x, partial_weight, partial_bias, n_rows, n_cols);
  const dim3 grid((n_cols + LANES_X - 1) / LANES_X);
  const dim3 block(LANES_X, LANES_Y);
  sum_partials_kernel<<<grid, block, 0, stream>>>(
      partial_weight, partial_bias, grad_weight, grad_bias, n_partials, n_cols);
}
