# SPDX-License-Identifier: Apache-2.0
import torch
import triton
import triton.language as tl


@triton.jit
def adam_step_kernel(
    param_ptr, grad_ptr, new_param_ptr, moment1_ptr, moment2_ptr, numel,
    BETA1: tl.constexpr, BETA2: tl.constexpr, EPS: tl.constexpr, LEARNING_RATE: tl.constexpr, BLOCK: tl.constexpr,
):
    # The first step: the moments start as zero.
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < numel
    g = tl.load(grad_ptr + offs, mask=mask, other=0.0)
    m = (1.0 - BETA1) * g
    v = (1.0 - BETA2) * g * g
    tl.store(moment1_ptr + offs, m, mask=mask)
    tl.store(moment2_ptr + offs, v, mask=mask)
    step = LEARNING_RATE * (m / (1.0 - BETA1)) / (tl.sqrt(v / (1.0 - BETA2)) + EPS)
    param = tl.load(param_ptr + offs, mask=mask, other=0.0)
    tl.store(new_param_ptr + offs, param - step, mask=mask)


def triton_kernel_wrapper(param, grad):
    numel = param.numel()
    new_param, moment1, moment2 = (torch.empty_like(param) for _ in range(3))
    BLOCK = 512
    grid = (triton.cdiv(numel, BLOCK),)
    adam_step_kernel[grid](
        param, grad, new_param, moment1, moment2, numel,
        BETA1=0.9, BETA2=0.999, EPS=1e-8, LEARNING_RATE=1e-3, BLOCK=BLOCK)
    return new_param, moment1, moment2
