// SPDX-License-Identifier: Apache-2.0
#include <math_constants.h>

constexpr int WARPS = 4;
constexpr int PAGE = 16;      // tokens per page of the cache
constexpr int HEAD_DIM = 64;  // two elements per lane

// Attention of one new token per sequence over keys and values in pages, as a server decodes: token t of a sequence is
// row t % PAGE of page pages[t / PAGE], so that sequences grow without copies. A block owns a head of a sequence. Its
// warps take tokens in turns, each with an online softmax of its own, and the block merges their results.
__global__ void paged_attention_kernel(
    const float* __restrict__ q, const float* __restrict__ k_cache, const float* __restrict__ v_cache,
    const int* __restrict__ pages, const int* __restrict__ lengths, float* __restrict__ out, int n_heads,
    int max_pages) {
  __shared__ float peaks[WARPS];
  __shared__ float totals[WARPS];
  __shared__ float outs[WARPS][HEAD_DIM];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int head = blockIdx.x;
  const int sequence = blockIdx.y;
  q += (sequence * n_heads + head) * HEAD_DIM;
  out += (sequence * n_heads + head) * HEAD_DIM;
  pages += sequence * max_pages;
  const float scale = rsqrtf(static_cast<float>(HEAD_DIM));
  const float q0 = q[lane] * scale;
  const float q1 = q[32 + lane] * scale;

  float peak = -CUDART_INF_F;
  float total = 0.0f;
  float out0 = 0.0f;
  float out1 = 0.0f;
  for (int token = warp; token < lengths[sequence]; token += WARPS) {
    const long long row = static_cast<long long>(pages[token / PAGE]) * PAGE + token % PAGE;
    const float* k = k_cache + (row * n_heads + head) * HEAD_DIM;
    const float* v = v_cache + (row * n_heads + head) * HEAD_DIM;
    float score = q0 * k[lane] + q1 * k[32 + lane];
    for (int offset = 16; offset > 0; offset >>= 1) score += __shfl_xor_sync(0xffffffff, score, offset);
    const float new_peak = fmaxf(peak, score);
    const float rescale = expf(peak - new_peak);
    const float weight = expf(score - new_peak);
    total = total * rescale + weight;
    out0 = out0 * rescale + weight * v[lane];
    out1 = out1 * rescale + weight * v[32 + lane];
    peak = new_peak;
  }
  if (lane == 0) {
    peaks[warp] = peak;
    totals[warp] = total;
  }
  outs[warp][lane] = out0;
  outs[warp][32 + lane] = out1;
  __syncthreads();

  // A warp without tokens has the peak -inf and adds nothing. Each sequence has at least one token.
  if (threadIdx.x >= HEAD_DIM) return;
  float block_peak = peaks[0];
  for (int i = 1; i < WARPS; ++i) block_peak = fmaxf(block_peak, peaks[i]);
  float sum = 0.0f;
  float block_total = 0.0f;
  for (int i = 0; i < WARPS; ++i) {
    const float rescale = expf(peaks[i] - block_peak);
    sum += outs[i][threadIdx.x] * rescale;
    block_total += totals[i] * rescale;
  }
  out[threadIdx.x] = sum / block_total;
}

void paged_attention(
    const float* q, const float* k_cache, const float* v_cache, const int* pages, const int* lengths, float* out,
    int n_sequences, int n_heads, int max_pages, cudaStream_t stream) {
  const dim3 grid(n_heads, n_sequences);
  paged_attention_kernel<<<grid, 32 * WARPS, 0, stream>>>(
      q, k_cache, v_cache, pages, lengths, out, n_heads, max_pages);
}
