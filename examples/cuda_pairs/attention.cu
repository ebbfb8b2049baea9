// SPDX-License-Identifier: Apache-2.0
#include <math_constants.h>

constexpr int WARPS = 4;      // query rows per block
constexpr int HEAD_DIM = 64;  // two elements per lane

// Attention of one head, out = softmax(q k^T / sqrt(HEAD_DIM)) v, with the online softmax: a warp owns a query row,
// walks over the keys once, and rescales its sum and its output whenever the maximum grows. No score is stored.
__global__ void attention_kernel(
    const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v, float* __restrict__ out,
    int n_queries, int n_keys) {
  const int lane = threadIdx.x % 32;
  const int row = blockIdx.x * WARPS + threadIdx.x / 32;
  if (row >= n_queries) return;
  const float scale = rsqrtf(static_cast<float>(HEAD_DIM));
  const float q0 = q[row * HEAD_DIM + lane] * scale;
  const float q1 = q[row * HEAD_DIM + 32 + lane] * scale;
  float peak = -CUDART_INF_F;
  float total = 0.0f;
  float out0 = 0.0f;
  float out1 = 0.0f;
  for (int key = 0; key < n_keys; ++key) {
    float score = q0 * k[key * HEAD_DIM + lane] + q1 * k[key * HEAD_DIM + 32 + lane];
    for (int offset = 16; offset > 0; offset >>= 1) score += __shfl_xor_sync(0xffffffff, score, offset);
    const float new_peak = fmaxf(peak, score);
    const float rescale = expf(peak - new_peak);
    const float weight = expf(score - new_peak);
    total = total * rescale + weight;
    out0 = out0 * rescale + weight * v[key * HEAD_DIM + lane];
    out1 = out1 * rescale + weight * v[key * HEAD_DIM + 32 + lane];
    peak = new_peak;
  }
  out[row * HEAD_DIM + lane] = out0 / total;
  out[row * HEAD_DIM + 32 + lane] = out1 / total;
}

void attention(
    const float* q, const float* k, const float* v, float* out, int n_queries, int n_keys, cudaStream_t stream) {
  const dim3 grid((n_queries + WARPS - 1) / WARPS);
  attention_kernel<<<grid, 32 * WARPS, 0, stream>>>(q, k, v, out, n_queries, n_keys);
}
