// SPDX-License-Identifier: Apache-2.0
#include <math_constants.h>

constexpr int THREADS = 128;

// Softmax within segments of a flat array, as in ragged batches: segment s is values[offsets[s] .. offsets[s + 1]).
// One block per segment; its threads stride over the elements, however many there are.
__global__ void segment_softmax_kernel(
    const float* __restrict__ values, const long long* __restrict__ offsets, float* __restrict__ out) {
  __shared__ float scratch[THREADS];
  const long long begin = offsets[blockIdx.x];
  const long long end = offsets[blockIdx.x + 1];

  float peak = -CUDART_INF_F;
  for (long long i = begin + threadIdx.x; i < end; i += THREADS) peak = fmaxf(peak, values[i]);
  scratch[threadIdx.x] = peak;
  __syncthreads();
  for (int stride = THREADS / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) scratch[threadIdx.x] = fmaxf(scratch[threadIdx.x], scratch[threadIdx.x + stride]);
    __syncthreads();
  }
  peak = scratch[0];
  __syncthreads();

  float total = 0.0f;
  for (long long i = begin + threadIdx.x; i < end; i += THREADS) total += expf(values[i] - peak);
  scratch[threadIdx.x] = total;
  __syncthreads();
  for (int stride = THREADS / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) scratch[threadIdx.x] += scratch[threadIdx.x + stride];
    __syncthreads();
  }
  const float scale = 1.0f / scratch[0];

  for (long long i = begin + threadIdx.x; i < end; i += THREADS) out[i] = expf(values[i] - peak) * scale;
}

void segment_softmax(
    const float* values, const long long* offsets, float* out, int n_segments, cudaStream_t stream) {
  segment_softmax_kernel<<<n_segments, THREADS, 0, stream>>>(values, offsets, out);
}
