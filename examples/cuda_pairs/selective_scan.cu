// SPDX-License-Identifier: Apache-2.0
constexpr int STATES = 16;    // of a channel, one per lane
constexpr int CHANNELS = 16;  // per block

// The recurrence of a selective state space, for channel c with STATES states h:
//   h = exp(delta * a) * h + delta * b * x        out = sum(c * h) + skip * x
// where delta, b and c change with the step. Half a warp owns a channel, with one state in a register of each lane, and
// adds the lanes by shuffles. The steps come one after the other; sequences and channels run beside each other.
__global__ void selective_scan_kernel(
    const float* __restrict__ x, const float* __restrict__ delta, const float* __restrict__ a,
    const float* __restrict__ b, const float* __restrict__ c, const float* __restrict__ skip, float* __restrict__ out,
    int n_steps, int n_channels) {
  const int lane = threadIdx.x % STATES;
  const int channel = blockIdx.x * CHANNELS + threadIdx.x / STATES;
  const bool inside = channel < n_channels;  // all lanes of a warp take part in its shuffles
  x += blockIdx.y * n_steps * n_channels;
  delta += blockIdx.y * n_steps * n_channels;
  out += blockIdx.y * n_steps * n_channels;
  b += blockIdx.y * n_steps * STATES;
  c += blockIdx.y * n_steps * STATES;
  const float decay = inside ? a[channel * STATES + lane] : 0.0f;
  const float direct = inside ? skip[channel] : 0.0f;
  float state = 0.0f;
  for (int step = 0; step < n_steps; ++step) {
    const float value = inside ? x[step * n_channels + channel] : 0.0f;
    const float width = inside ? delta[step * n_channels + channel] : 0.0f;
    state = expf(width * decay) * state + width * b[step * STATES + lane] * value;
    float sum = c[step * STATES + lane] * state;
    for (int offset = STATES / 2; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, offset);
    if (inside && lane == 0) out[step * n_channels + channel] = sum + direct * value;
  }
}

void selective_scan(
    const float* x, const float* delta, const float* a, const float* b, const float* c, const float* skip, float* out,
    int n_sequences, int n_steps, int n_channels, cudaStream_t stream) {
  const dim3 grid((n_channels + CHANNELS - 1) / CHANNELS, n_sequences);
  selective_scan_kernel<<<grid, CHANNELS * STATES, 0, stream>>>(
      x, delta, a, b, c, skip, out, n_steps, n_channels);
}
