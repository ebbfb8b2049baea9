"""Times a call on a GPU by CUDA events, launches queued behind a gate, L2 cold where asked."""
import time

import torch

FLUSH_BYTES = 256 << 20     # several times any L2 so far
GATE_MARGIN = 1.5           # times the host's own time for a call
LEAST_GATE_MS, MOST_GATE_MS = 0.05, 100.0
CYCLES_A_MS = 2_000_000     # at about 2 GHz; a slower clock makes the gate longer only


class Flush:
    """Leaves neither the call's data nor dirty lines in L2: one buffer is written, then another is read."""

    def __init__(self, device):
        self._written = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device=device)
        self._read = torch.zeros(FLUSH_BYTES // 4, dtype=torch.int32, device=device)

    def __call__(self):
        self._written.fill_(1)
        self._read.sum()


def sample(call, request, device):
    """Milliseconds of each of up to `calls` calls, within `budget_ms` of the clock on the wall."""
    flush = Flush(device) if request.flushL2 else None
    until = time.monotonic() + request.budgetMs / 1000 if request.budgetMs > 0 else float("inf")
    host_ms = _warm(call, max(1, request.warmup), device)
    gate = int(min(max(host_ms * GATE_MARGIN, LEAST_GATE_MS), MOST_GATE_MS) * CYCLES_A_MS)
    _once(call, flush, gate, device)  # loads the gate's and the flush's own kernels
    samples = []
    while len(samples) < max(1, request.calls) and (not samples or time.monotonic() < until):
        samples.append(_once(call, flush, gate, device))
    return samples


def _warm(call, times, device):
    """Call a few times; the host's milliseconds for the last call, without waiting for the device."""
    for _ in range(times + 1):
        torch.cuda.synchronize(device)
        started = time.perf_counter()
        call()
        host_ms = (time.perf_counter() - started) * 1000
    torch.cuda.synchronize(device)
    return host_ms


def _once(call, flush, gate, device):
    before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    if flush is not None:
        flush()
    # The device spins while the host queues the whole call, so that launch overhead is not measured.
    torch.cuda._sleep(gate)
    before.record()
    call()
    after.record()
    torch.cuda.synchronize(device)
    return before.elapsed_time(after)
