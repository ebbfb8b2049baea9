#!/usr/bin/env python3
"""Kernels in the interpreter without a GPU: programs in lockstep, programs in turn, and Triton's own interpreter.

interpreter.py [--output FILE.json] [--only NAME]...     the Python of the tests (.venv/bin/python) runs it, after a build

The kernels are the honest files of tests/exploits that are marked `quick` and whose wrapper takes the inputs of a
reference without weights, on these inputs. Each way is a process of its own; all take turns, two rounds. A figure is the
least process time of a call. A file that does not run in every way, or takes more than 20 s for a round, is in no sum:
Triton's own interpreter knows no CUDA streams, for example.
"""
import argparse
import importlib.util
import json
import math
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXPLOITS = ROOT / "tests" / "exploits"
WAYS = ("lockstep", "in turn", "Triton's own")
ROUNDS, LIMIT_S = 2, 20.0
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "build" / "wire" / "python"), str(ROOT / "tests")]


def loaded(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def scope_of(way):
    """The context in which a candidate runs in this process."""
    import contextlib
    if way == WAYS[2]:
        return contextlib.nullcontext
    from kernelwright._engine.cpu import interpret, lockstep
    from kernelwright._engine.launches import LaunchLog
    interpret.install(LaunchLog())
    if way == WAYS[1]:
        interpret._seal.check = lambda: None  # it would refuse the next line
        lockstep.run = lockstep.one_by_one
    return interpret.candidate_scope


def measure(way):
    """Answers each line "REFERENCE KERNEL" with the milliseconds of a call, or null."""
    import torch
    torch.set_num_threads(1)
    scope, answers = scope_of(way), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    kernels = {}
    for line in sys.stdin:
        reference, kernel = line.split()
        try:
            with scope():
                if kernel not in kernels:
                    given = loaded(EXPLOITS / "references" / f"{reference}.py", "reference")
                    if list(given.Model(*given.get_init_inputs()).parameters()):
                        raise TypeError("the reference has weights")
                    kernels[kernel] = loaded(EXPLOITS / "honest" / f"{kernel}.py", "kernel"), given.get_inputs
                    kernels[kernel][0].triton_kernel_wrapper(*given.get_inputs())  # a first call prepares
                module, draw = kernels[kernel]
                torch.manual_seed(0)
                inputs = draw()
                begun = time.process_time()
                module.triton_kernel_wrapper(*inputs)
                took_ms = (time.process_time() - begun) * 1e3
        except Exception:  # not for this way
            took_ms = None
        print(json.dumps(took_ms), file=answers, flush=True)


class Way:
    """The process of one way; it starts anew after a file that ended it."""

    def __init__(self, name):
        self._command = [sys.executable, "-W", "ignore", __file__, "--way", name]
        self._process = None

    def ask(self, line):
        """The milliseconds of a call; None if the file does not run."""
        if self._process is None:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                env={**os.environ, "TRITON_INTERPRET": "1"})
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            self._process.wait()
            self._process = None
        return json.loads(answer or "null")

    def close(self):
        """End the process."""
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait()


def rounds(names, corpus):
    """Name → way → the least of its times, of files that run in every way."""
    processes, found = {way: Way(way) for way in WAYS}, {}
    for at, name in enumerate(names):
        times = {way: [] for way in WAYS}
        for _ in range(ROUNDS):
            begun = time.monotonic()
            for way, process in processes.items():
                times[way].append(process.ask(f"{corpus[name].reference} {name}"))
            if any(None in each for each in times.values()) or time.monotonic() - begun > LIMIT_S:
                break
        if all(len(each) == ROUNDS and None not in each for each in times.values()):
            found[name] = {way: round(min(each), 2) for way, each in times.items()}
        print(f"\r{at + 1} of {len(names)}", end="", file=sys.stderr)
    for process in processes.values():
        process.close()
    print(file=sys.stderr)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output")
    parser.add_argument("--only", action="append")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        return measure(options.way)
    from end_to_end.exploits import CORPUS
    names = [name for name, each in CORPUS.items() if each.kind == "honest" and each.on_cpu and each.quick and not each.asks_for
             and "def triton_kernel_wrapper" in each.path.read_text(encoding="utf-8")
             and (not options.only or name in options.only)]
    found = rounds(names, CORPUS)
    if not found:
        sys.exit("error: no file runs in every way; build first, and use the Python of the tests")
    sums = {way: round(sum(each[way] for each in found.values()), 1) for way in WAYS}
    report = {"command": "bench/interpreter.py", "processor": platform.machine(), "cores": os.cpu_count(),
              "load_average": os.getloadavg(), "files": len(found), "of": len(names), "sum_ms": sums}
    for way in WAYS[1:]:
        ratios = [each[way] / max(each[WAYS[0]], 1e-3) for each in found.values()]
        report[f"{way}, over lockstep"] = {
            "of the sums": round(sums[way] / sums[WAYS[0]], 2), "least": round(min(ratios), 2), "most": round(max(ratios), 2),
            "geometric mean": round(math.exp(sum(map(math.log, ratios)) / len(ratios)), 2)}
    print(json.dumps(report, indent=1))
    if options.output:
        Path(options.output).write_text(json.dumps({**report, "ms": found}, indent=1) + "\n", encoding="utf-8")
    return None


if __name__ == "__main__":
    main()
