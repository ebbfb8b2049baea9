"""What the oracle's part of the checks of memory costs a trial: own_memory.py, on a machine with a GPU.

For some numbers and sizes of inputs it prints the milliseconds of the fill at a draw, of the comparison at a judgement,
and of the digest of the outputs, which two judgements of a verdict have. The replayer's part: replayer_gpu_test,
"AGuardedReplayTakesLittleLonger".
"""
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "python"))
from kernelwright._engine.cuda_arena import CudaArena  # noqa: E402
from kernelwright._engine.oracle.bits import all_same_bits, digest  # noqa: E402
from kernelwright._engine.oracle.plan import Plan  # noqa: E402

CASES = ((2, 1 << 16), (2, 1 << 26), (200, 1 << 16), (1000, 1 << 10))  # inputs, elements of each


def ms(action, calls=20):
    """The least milliseconds of a call."""
    times = []
    for _ in range(calls):
        torch.cuda.synchronize()
        began = time.perf_counter()
        action()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - began) * 1000)
    return min(times)


def line(count, elements):
    """The times of one case."""
    inputs = [torch.randn(elements, device="cuda") for _ in range(count)]
    plan = Plan(inputs, {}, inputs[0], [], tight=False)
    arena = CudaArena.create(plan.arena_bytes, 0)
    plan.fill(arena, inputs, {})
    plan.poison(arena, 2)
    end = plan.outputs_offset + elements * 4

    def compare():
        return all_same_bits([*plan.gaps.pairs(arena, 2), *plan.unused(arena, 2, end)])
    times = ms(lambda: plan.gaps.fill(arena, 2)), ms(compare), ms(lambda: digest(inputs[:1]))
    return "fill {:.3f} ms, compare {:.3f} ms, digest {:.3f} ms".format(*times)


def main():
    """Print one line a case."""
    torch.cuda.set_device(0)
    for count, elements in CASES:
        print(f"{count} inputs of {elements} elements: {line(count, elements)}", flush=True)


if __name__ == "__main__":
    main()
