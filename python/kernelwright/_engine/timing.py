"""Times calls: by CUDA events, queued behind a gate to exclude the host's overhead, and as whole calls."""
import statistics
import time

import torch

INSTRUMENT = "cuda-events"
BATCH = 8
CYCLES_A_MS = 2_000_000          # at about the highest clock of these devices
GATE_MS = (0.05, 20.0)           # least and most
WRITTEN_BYTES = 256 << 20
WHOLE_CALLS = 10
WHOLE_SHARE = 0.25               # of the budget, at most


def samples(run, warmup, calls, budget_ms, flush_l2, device):
    """Milliseconds of up to `calls` calls of run(); at least one, however small the budget."""
    with torch.no_grad():
        host_ms = _warm(run, max(warmup, 1))
        flush = Flush(device) if flush_l2 else None
        gate = _gate(host_ms)
        _batch(run, 1, gate, flush)  # the first events and the first flush are slow
        found, deadline = [], time.perf_counter() + budget_ms / 1e3
        while len(found) < calls and (not found or time.perf_counter() < deadline):
            found += _batch(run, min(BATCH if found else 1, calls - len(found)), gate, flush)
    return found


def whole_call_ms(run, budget_ms):
    """Median milliseconds of a call by the host's clock, from its start until the device is idle."""
    spent, deadline = [], time.perf_counter() + WHOLE_SHARE * budget_ms / 1e3
    with torch.no_grad():
        while len(spent) < WHOLE_CALLS and (not spent or time.perf_counter() < deadline):
            torch.cuda.synchronize()
            began = time.perf_counter()
            run()
            torch.cuda.synchronize()
            spent.append((time.perf_counter() - began) * 1e3)
    return statistics.median(spent)


def _warm(run, calls):
    """Uncounted calls; returns how long the host was busy with the fastest."""
    spent = []
    for _ in range(calls):
        began = time.perf_counter()
        run()
        spent.append((time.perf_counter() - began) * 1e3)
        torch.cuda.synchronize()
    return min(spent)


def _gate(host_ms):
    """The cycles for which the device waits; a call that waits for the device also waits for the gate."""
    return int(min(max(2 * host_ms, GATE_MS[0]), GATE_MS[1]) * CYCLES_A_MS)


class OneCall:
    """Calls run() once through `OneCall(...)(run)`, and keeps how long the device was busy with it."""

    def __init__(self, host_ms, flush):
        self._gate, self._flush, self.device_ms = _gate(host_ms), flush, -1.0

    def __call__(self, run):
        """The result of run()."""
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        if self._flush:
            self._flush()
        torch.cuda._sleep(self._gate)
        begin.record()
        value = run()
        end.record()
        torch.cuda.synchronize()
        self.device_ms = begin.elapsed_time(end)
        return value


def _batch(run, count, gate, flush):
    pairs = []
    for _ in range(count):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        if flush:
            flush()
        torch.cuda._sleep(gate)
        begin.record()
        run()
        end.record()
        pairs.append((begin, end))
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) for begin, end in pairs]


class Flush:
    """Replaces the contents of the L2 cache, and leaves no dirty lines whose write-back would count as the call's time."""

    def __init__(self, device):
        cache = torch.cuda.get_device_properties(device).L2_cache_size
        self._written = torch.empty(max(WRITTEN_BYTES, 2 * cache) // 4, dtype=torch.int32, device=device)
        self._read = torch.zeros(max(2 * cache, 64 << 20) // 4, dtype=torch.int32, device=device)
        self._sum = torch.zeros((), dtype=torch.int64, device=device)

    def __call__(self):
        self._written.zero_()
        torch.sum(self._read, dim=0, out=self._sum)
