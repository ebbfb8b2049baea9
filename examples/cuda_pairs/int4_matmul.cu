// SPDX-License-Identifier: Apache-2.0
constexpr int TILE_M = 16;
constexpr int TILE_N = 64;
constexpr int TILE_K = 32;  // rows of the weight that share a scale
constexpr int LANES_M = 4;  // rows of the tile that are computed at a time
constexpr int THREADS = TILE_N * LANES_M;

// out = x w, where w has four bits an element. A word of `packed` has eight rows of a column, the first in the lowest
// bits; an element is (bits - 8) * scale, with a scale for TILE_K rows of a column. Each thread unpacks one word a tile
// into shared memory and computes TILE_M / LANES_M rows of one column. n_inner is a multiple of TILE_K.
__global__ void int4_matmul_kernel(
    const float* __restrict__ x, const int* __restrict__ packed, const float* __restrict__ scales,
    float* __restrict__ out, int n_rows, int n_cols, int n_inner) {
  __shared__ float x_tile[TILE_M][TILE_K];
  __shared__ float w_tile[TILE_K][TILE_N];
  const int tx = threadIdx.x % TILE_N;
  const int ty = threadIdx.x / TILE_N;
  const int row0 = blockIdx.y * TILE_M;
  const int col = blockIdx.x * TILE_N + tx;
  float acc[TILE_M / LANES_M] = {};
  for (int start = 0; start < n_inner; start += TILE_K) {
    for (int i = threadIdx.x; i < TILE_M * TILE_K; i += THREADS) {
      const int row = row0 + i / TILE_K;
      x_tile[i / TILE_K][i % TILE_K] = row < n_rows ? x[row * n_inner + start + i % TILE_K] : 0.0f;
    }
    const bool inside = col < n_cols;
    const unsigned word = inside ? packed[(start / 8 + ty) * n_cols + col] : 0;
    const float scale = inside ? scales[start / TILE_K * n_cols + col] : 0.0f;
    for (int i = 0; i < 8; ++i)
      w_tile[ty * 8 + i][tx] = (static_cast<int>(word >> (4 * i) & 15u) - 8) * scale;
    __syncthreads();
    for (int k = 0; k < TILE_K; ++k) {
      const float w = w_tile[k][tx];
      for (int i = 0; i < TILE_M / LANES_M; ++i) acc[i] += x_tile[i * LANES_M + ty][k] * w;
    }
    __syncthreads();
  }
  for (int i = 0; i < TILE_M / LANES_M; ++i) {
    const int row = row0 + i * LANES_M + ty;
    if (row < n_rows && col < n_cols) out[row * n_cols + col] = acc[i];
  }
}

void int4_matmul(
    const float* x, const int* packed, const float* scales, float* out, int n_rows, int n_cols, int n_inner,
    cudaStream_t stream) {
  static_assert(TILE_K == 8 * LANES_M, "each thread unpacks one word a tile");
  const dim3 grid((n_cols + TILE_N - 1) / TILE_N, (n_rows + TILE_M - 1) / TILE_M);
  int4_matmul_kernel<<<grid, THREADS, 0, stream>>>(x, packed, scales, out, n_rows, n_cols, n_inner);
}
