#!/usr/bin/env python3
"""Measures how repeatable the program's times are, and whether other tools agree: twenty kernels from 5 us to 50 ms.

timing.py rows BATCH.jsonl [REPEATS]       each kernel REPEATS times, every copy with unique bytes
timing.py others OUT.json [ncu]            triton.testing.do_bench of the same kernels, and ncu's time of single launches
timing.py table VERDICTS.jsonl OTHERS.json [SUMMARY.json]
timing.py launch NAME...                   the process that ncu profiles: ten launches of each
"""
import csv
import io
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SUM = '''import torch
import triton
import triton.language as tl

N, ROUNDS = {n}, {rounds}


@triton.jit
def {name}(x, out, n, rounds, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    for _ in range(rounds):
        value = value * 0.999 + tl.sin(value)
    tl.store(out + at, value, mask=at < n)


def run(x):
    out = torch.empty_like(x)
    {name}[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), ROUNDS, BLOCK=1024)
    return out
'''
DOT = '''import torch
import triton
import triton.language as tl

N = {n}


@triton.jit
def {name}(a, b, c, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    inner, total = tl.arange(0, BK), tl.zeros((BM, BN), tl.float32)
    for start in range(0, N, BK):
        left = tl.load(a + rows[:, None].to(tl.int64) * N + start + inner[None, :])
        right = tl.load(b + (start + inner)[:, None].to(tl.int64) * N + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None].to(tl.int64) * N + columns[None, :], total.to(tl.float16))


def run(x):
    out = torch.empty_like(x)
    {name}[(N // 128, N // 128)](x, x, out, N, BM=128, BN=128, BK=64, num_warps=8, num_stages=3)
    return out
'''
ENTRY = '''

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return run(x)
'''
SUM_REFERENCE = '''import torch


class Model(torch.nn.Module):
    def forward(self, x):
        for _ in range({rounds}):
            x = x * 0.999 + torch.sin(x)
        return x


def get_inputs():
    return [torch.randn({n})]


def get_init_inputs():
    return []
'''
DOT_REFERENCE = '''import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x @ x


def get_inputs():
    return [torch.randn({n}, {n}, dtype=torch.float16)]


def get_init_inputs():
    return []
'''
# Elements and rounds of arithmetic; edges of matrices. The smallest is a few microseconds, the largest about 50 ms.
SUMS = [(1 << 14, 1), (1 << 18, 1), (1 << 20, 1), (1 << 20, 8), (1 << 21, 4), (1 << 22, 1), (1 << 23, 1), (1 << 24, 1),
        (1 << 24, 8), (1 << 25, 2), (1 << 26, 1), (1 << 27, 1), (1 << 28, 1), (1 << 26, 64), (1 << 27, 200), (1 << 28, 300)]
DOTS = [1024, 2048, 4096, 8192]


def kernels():
    """(name, reference, candidate, input's shape and dtype) of each."""
    for n, rounds in SUMS:
        name = f"sum_{n}_{rounds}"
        yield (name, SUM_REFERENCE.format(n=n, rounds=rounds), SUM.format(name=name, n=n, rounds=rounds),
               ((n,), "float32"))
    for n in DOTS:
        name = f"dot_{n}"
        yield name, DOT_REFERENCE.format(n=n), DOT.format(name=name, n=n), ((n, n), "float16")


def rows(batch, repeats="10"):
    with open(batch, "w", encoding="utf-8") as out:
        for repeat in range(int(repeats)):
            for name, reference, code, _ in kernels():
                out.write(json.dumps({"id": f"{name}#{repeat}", "reference_code": reference,
                                      "kernel_code": f"{code}{ENTRY}\n\n# {repeat}\n"}) + "\n")


def loaded(name, code, shape, dtype):
    """(function, input) of one kernel; Triton reads its source from a file."""
    import importlib.util

    import torch
    path = Path(tempfile.mkdtemp()) / f"{name}.py"
    path.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.run, torch.randn(shape, device="cuda").to(getattr(torch, dtype))


def launch(*names):
    import torch
    for name, _, code, given in kernels():
        if name in names:
            run, x = loaded(name, code, *given)
            for _ in range(10):
                run(x)
            torch.cuda.synchronize()


def others(path, ncu=None):
    import triton.testing
    found = {}
    for name, _, code, given in kernels():
        run, x = loaded(name, code, *given)
        run(x)
        found[name] = {"do_bench_ms": triton.testing.do_bench(lambda run=run, x=x: run(x), warmup=20, rep=100,
                                                              return_mode="median")}
        del x
    if ncu:
        for name, ms in ncu_times([each[0] for each in kernels()]).items():
            found[name]["ncu_ms"] = ms
    Path(path).write_text(json.dumps(found, indent=1), encoding="utf-8")


def ncu_times(names):
    """Median milliseconds of single launches by ncu, with its flush of the caches before each."""
    command = ["ncu", "--clock-control", "none", "--cache-control", "all", "--metrics", "gpu__time_duration.sum",
               "--kernel-name", "regex:^(sum|dot)_", "--csv", sys.executable, __file__, "launch", *names]
    said = subprocess.run(command, capture_output=True, text=True, timeout=200)
    lines = said.stdout.splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith('"ID"')), None)
    if first is None:
        print(f"ncu said nothing of use: {said.stdout[-300:]} {said.stderr[-300:]}")
        return {}
    times = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines[first:]))):
        scale = {"ns": 1e-6, "nsecond": 1e-6, "us": 1e-3, "usecond": 1e-3, "ms": 1.0, "msecond": 1.0}[row["Metric Unit"]]
        times.setdefault(row["Kernel Name"], []).append(float(row["Metric Value"].replace(",", "")) * scale)
    return {name: statistics.median(each[1:] or each) for name, each in times.items()}


def table(verdicts, others_path, summary=None):
    times, trust = {}, {}
    for line in open(verdicts, encoding="utf-8"):
        verdict = json.loads(line)
        name = verdict["id"].split("#")[0]
        trust.setdefault(name, []).append(f"{verdict['status']}, {verdict['trust']}")
        if verdict["kernel_time_ms"]:
            times.setdefault(name, []).append(verdict["kernel_time_ms"])
    theirs = json.loads(Path(others_path).read_text(encoding="utf-8")) if Path(others_path).exists() else {}
    print(f"{'kernel':<18} {'ours ms':>10} {'CV %':>6} {'ncu ms':>10} {'ours/ncu':>8} {'do_bench':>10} {'ours/do':>8}")
    sums = {}
    for name, _, _, _ in kernels():
        own = times.get(name, [])
        if not own:
            print(f"{name:<18} {trust.get(name)}")
            continue
        ms, other = statistics.median(own), theirs.get(name, {})
        cv = 100 * statistics.stdev(own) / statistics.mean(own) if len(own) > 1 else None
        ncu, bench = other.get("ncu_ms"), other.get("do_bench_ms")
        sums[name] = {"ms": ms, "samples_ms": own, "cv_percent": cv, "ncu_ms": ncu, "do_bench_ms": bench,
                      "trust": sorted(set(trust[name]))}
        print(f"{name:<18} {ms:>10.5f} {cv if cv is not None else float('nan'):>6.2f} {ncu or float('nan'):>10.5f} "
              f"{ms / ncu if ncu else float('nan'):>8.3f} {bench or float('nan'):>10.5f} "
              f"{ms / bench if bench else float('nan'):>8.3f}  {','.join(sums[name]['trust'])}")
    if summary:
        Path(summary).write_text(json.dumps(sums, indent=1), encoding="utf-8")


if __name__ == "__main__":
    {"rows": rows, "others": others, "table": table, "launch": launch}[sys.argv[1]](*sys.argv[2:])
