// SPDX-License-Identifier: Apache-2.0
#include <math_constants.h>

constexpr int WARPS = 4;                // tokens per block
constexpr int EXPERTS = 64;             // of the model
constexpr int PER_LANE = EXPERTS / 32;  // logits of a lane, in registers
constexpr int CHOSEN = 4;               // experts of a token

// The gate of a mixture of experts: each token takes the experts with the CHOSEN largest logits, the lower number first
// where logits are equal, and the softmax over these logits weights them. A warp owns a token. In each round its lanes
// agree by shuffles on the best expert that is left, and the lane that holds it takes it out.
__global__ void moe_gating_kernel(
    const float* __restrict__ logits, float* __restrict__ weights, int* __restrict__ experts, int n_tokens) {
  const int lane = threadIdx.x % 32;
  const int token = blockIdx.x * WARPS + threadIdx.x / 32;
  if (token >= n_tokens) return;
  float left[PER_LANE];
  for (int i = 0; i < PER_LANE; ++i) left[i] = logits[token * EXPERTS + i * 32 + lane];

  float peak = 0.0f;
  float total = 0.0f;
  float weight = 0.0f;  // of lane k: that of choice k
  int expert = 0;
  for (int k = 0; k < CHOSEN; ++k) {
    float best = -CUDART_INF_F;
    int best_expert = EXPERTS;
    for (int i = 0; i < PER_LANE; ++i) {
      if (left[i] > best) {
        best = left[i];
        best_expert = i * 32 + lane;
      }
    }
    for (int offset = 16; offset > 0; offset >>= 1) {
      const float other = __shfl_xor_sync(0xffffffff, best, offset);
      const int other_expert = __shfl_xor_sync(0xffffffff, best_expert, offset);
      if (other > best || (other == best && other_expert < best_expert)) {
        best = other;
        best_expert = other_expert;
      }
    }
    for (int i = 0; i < PER_LANE; ++i)
      if (i * 32 + lane == best_expert) left[i] = -CUDART_INF_F;
    if (k == 0) peak = best;
    const float exponential = expf(best - peak);
    total += exponential;
    if (lane == k) {
      weight = exponential;
      expert = best_expert;
    }
  }
  if (lane < CHOSEN) {
    weights[token * CHOSEN + lane] = weight / total;
    experts[token * CHOSEN + lane] = expert;
  }
}

void moe_gating(const float* logits, float* weights, int* experts, int n_tokens, cudaStream_t stream) {
  const dim3 grid((n_tokens + WARPS - 1) / WARPS);
  moe_gating_kernel<<<grid, 32 * WARPS, 0, stream>>>(logits, weights, experts, n_tokens);
}
