// SPDX-License-Identifier: Apache-2.0
constexpr int THREADS = 256;
constexpr float BETA1 = 0.9f;
constexpr float BETA2 = 0.999f;
constexpr float EPS = 1e-8f;
constexpr float LEARNING_RATE = 1e-3f;

// The first step of Adam for all parameters, which reads and writes each element once. The moments start as zero, and
// the corrections of their bias cancel the factors of the first step.
__global__ void adam_step_kernel(
    const float* __restrict__ param, const float* __restrict__ grad, float* __restrict__ new_param,
    float* __restrict__ moment1, float* __restrict__ moment2, int numel) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += gridDim.x * blockDim.x) {
    const float g = grad[i];
    const float m = (1.0f - BETA1) * g;
    const float v = (1.0f - BETA2) * g * g;
    moment1[i] = m;
    moment2[i] = v;
    const float corrected_m = m / (1.0f - BETA1);
    const float corrected_v = v / (1.0f - BETA2);
    new_param[i] = param[i] - LEARNING_RATE * corrected_m / (sqrtf(corrected_v) + EPS);
  }
}

void adam_step(
    const float* param, const float* grad, float* new_param, float* moment1, float* moment2, int numel,
    cudaStream_t stream) {
  const dim3 grid((numel + THREADS - 1) / THREADS);
  adam_step_kernel<<<grid, THREADS, 0, stream>>>(param, grad, new_param, moment1, moment2, numel);
}
