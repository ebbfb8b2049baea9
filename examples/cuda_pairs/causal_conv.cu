// SPDX-License-Identifier: Apache-2.0
constexpr int WIDTH = 4;      // taps of the filter
constexpr int THREADS = 128;  // channels per block
constexpr int STEPS = 32;     // time steps per block

// The row at `step` of the sequence with the state before it: steps -(WIDTH - 1) to -1 are the state's.
__device__ float row_at(const float* state, const float* x, int step, int channel, int n_channels) {
  if (step < 0) return state[(step + WIDTH - 1) * n_channels + channel];
  return x[step * n_channels + channel];
}

// Causal depthwise convolution with SiLU over a part of a sequence. The state holds the WIDTH - 1 rows before the part,
// and the next part begins with next_state. A thread owns a channel for STEPS steps and keeps its window in registers, so
// it reads each row once; neighbouring threads read neighbouring channels.
__global__ void causal_conv_kernel(
    const float* __restrict__ x, const float* __restrict__ state, const float* __restrict__ weight,
    const float* __restrict__ bias, float* __restrict__ out, float* __restrict__ next_state, int n_steps,
    int n_channels) {
  const int channel = blockIdx.x * THREADS + threadIdx.x;
  const int begin = blockIdx.y * STEPS;
  if (channel >= n_channels) return;
  x += blockIdx.z * n_steps * n_channels;
  out += blockIdx.z * n_steps * n_channels;
  state += blockIdx.z * (WIDTH - 1) * n_channels;
  next_state += blockIdx.z * (WIDTH - 1) * n_channels;

  float taps[WIDTH];
  float window[WIDTH];
  for (int i = 0; i < WIDTH; ++i) taps[i] = weight[i * n_channels + channel];
  for (int i = 1; i < WIDTH; ++i) window[i] = row_at(state, x, begin - WIDTH + i, channel, n_channels);
  const int end = min(begin + STEPS, n_steps);
  for (int step = begin; step < end; ++step) {
    for (int i = 1; i < WIDTH; ++i) window[i - 1] = window[i];
    window[WIDTH - 1] = x[step * n_channels + channel];
    float sum = bias[channel];
    for (int i = 0; i < WIDTH; ++i) sum += taps[i] * window[i];
    out[step * n_channels + channel] = sum / (1.0f + expf(-sum));
  }
  if (end == n_steps)
    for (int i = 1; i < WIDTH; ++i) next_state[(i - 1) * n_channels + channel] = window[i];
}

void causal_conv(
    const float* x, const float* state, const float* weight, const float* bias, float* out, float* next_state,
    int n_sequences, int n_steps, int n_channels, cudaStream_t stream) {
  const dim3 grid((n_channels + THREADS - 1) / THREADS, (n_steps + STEPS - 1) / STEPS, n_sequences);
  causal_conv_kernel<<<grid, THREADS, 0, stream>>>(x, state, weight, bias, out, next_state, n_steps, n_channels);
}
