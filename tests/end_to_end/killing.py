"""Kills the loop at random moments, calls it again, and checks that no finished work is lost."""
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from . import loop, program

REFERENCE = """\
import torch


def reference_impl(x):
    return torch.relu(x) + {number}.0


def get_inputs():
    return [torch.randn(128)]
"""
KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def relu_plus_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr + at, tl.maximum(x, 0.0) + {added}, mask=at < n)


def triton_kernel_wrapper(x):
    out = torch.empty_like(x)
    relu_plus_kernel[(1,)](x, out, x.numel(), BLOCK=128)
    return out
"""
WITHOUT_ENTRY = "import triton\n\n\ndef helper_{number}_{turn}(x):\n    return x\n"

# Reports that it is ready, as a zygote and its fork servers do, and does nothing else.
PID = 0x7EADBEEF  # replaced by the process's own
STAND_IN = """\
import os
import signal
import socket
import sys

signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def serve(control):
    control.send(bytes.fromhex("{ready}").replace(({pid}).to_bytes(4, "little"), os.getpid().to_bytes(4, "little")))
    while True:
        packet, fds, _, _ = socket.recv_fds(control, 1 << 16, 4)
        if not packet:
            return
        if len(fds) == 2 and os.fork() == 0:  # of a zygote
            control.close()
            os.close(fds[1])
            return serve(socket.socket(fileno=fds[0]))
        for fd in fds:
            os.close(fd)


serve(socket.socket(fileno=int(sys.argv[sys.argv.index("--control") + 1])))
"""


class World(NamedTuple):
    """The workload that is run repeatedly: each kill comes at most `reach_s` after a start."""

    name: str
    traces: Path
    words: tuple
    reach_s: float
    changing: frozenset  # fields that differ between any two runs


def stand_in_python(folder):
    """A stand-in for Python that starts at once: enough where every answer ends at the static stage."""
    from kernelwright._engine import packets, wire
    ready = wire.made(wire.ReadyT, pid=PID, python="0", torch="none", triton="none", numpy="none", cuda="")
    script, path = folder / "stand_in.py", folder / "python"
    script.write_text(STAND_IN.format(ready=packets.encoded(ready).hex(), pid=PID), encoding="utf-8")
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{script}" "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path


def quick_traces(folder, tasks):
    """Four answers a task, which all end at the static stage."""
    return loop.write(folder / "quick.json", [
        loop.conversation(f"quick_{number}", REFERENCE.format(number=number),
                          [WITHOUT_ENTRY.format(number=number, turn=turn) for turn in range(1, 5)])
        for number in range(tasks)])


def quick_world(folder, tasks=40):
    """No answer is right, so each task has two samples of four turns. The loop and its store are killed."""
    words = ("--device", "cpu", "--python", stand_in_python(folder), "--multi-turn", "--replay-delay", "0.02")
    return World("quick", quick_traces(folder, tasks), words, 0.8, frozenset(loop.TIMES))


def judged_world(folder, tasks=12):
    """Three turns a task, of which two are run by the interpreter: no entry, wrong, right."""
    traces = [loop.conversation(f"judged_{number}", REFERENCE.format(number=number),
                                [WITHOUT_ENTRY.format(number=number, turn=1), KERNEL.format(added=number + 0.5),
                                 KERNEL.format(added=float(number))])
              for number in range(tasks)]
    words = ("--multi-turn", "--device", "cpu")
    return World("judged", loop.write(folder / "judged.json", traces), words, 7.0, frozenset(loop.TIMES | loop.DRAWN))


class Tally:
    """The counts of a series of kills."""

    def __init__(self):
        self.phases = Counter()
        self.lost, self.unsound, self.failures = [], [], []
        self.kills = self.laps = self.turns = self.answers_lost = 0
        self.wall_s = 0.0

    def as_json(self):
        return {"kills": self.kills, "completed_runs": self.laps, "turns_judged": self.turns,
                "turns_lost": len(self.lost), "answers_lost": self.answers_lost,
                "databases_unsound": len(self.unsound), "other_failures": len(self.failures),
                "phases": dict(self.phases), "wall_s": round(self.wall_s, 1),
                "examples": (self.lost + self.unsound + self.failures)[:10]}


class Killing:
    """Runs of one workload, one after another; each is started again until it completes."""

    def __init__(self, world, folder, seed):
        self.world, self.folder, self.random, self.tally = world, folder, random.Random(seed), Tally()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.undisturbed, self.traces = None, len(loop.read(world.traces))
        self._begin_run()

    def _begin_run(self):
        self.output = self.folder / f"run_{self.tally.laps}.json"
        self.store, self.known, self.struck = loop.Store(self.output), {}, False

    def kill(self, kills, deadline=float("inf")):
        """So many kills, fewer where the monotonic clock reaches `deadline`; then the last run completes."""
        began = time.monotonic()
        if self.undisturbed is None:
            self.undisturbed = self._whole_run(self.folder / "undisturbed.json")
        wanted = self.tally.kills + kills
        while self.tally.kills < wanted and time.monotonic() < deadline and not self.tally.failures:
            self._start_and_strike()
        if self.struck and not self.tally.failures:
            self._get_through()
        self.tally.wall_s += time.monotonic() - began
        return self.tally

    def _start(self, output):
        command = loop.command(self.world.traces, output, *self.world.words, "--quiet")
        return program.start(command, self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)

    def _whole_run(self, output):
        """The traces of an undisturbed run."""
        done = program.finish(self._start(output))
        if done.code != 0:
            self.tally.failures.append(f"{output.name}: exit code {done.code}: {done.stderr[-500:]}")
            return None
        return self._exported(output)

    def _start_and_strike(self):
        process = self._start(self.output)
        seen = self._wait_for_the_moment(process)
        if process.poll() is not None:
            self._ended(process)
            return
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        if process.returncode != -signal.SIGKILL:  # the process had ended before the kill
            self._ended(process)
            return
        self.tally.kills += 1
        self.struck = True
        self._examine(seen)

    def _wait_for_the_moment(self, process):
        """Wait by the clock, for a judged turn, or for the end; returns the state of the store before."""
        def sleep(seconds):
            loop.wait_for(lambda: False, process, seconds, every=0.001)

        patience_s = 3 * self.world.reach_s
        kind = self.random.choices(("clock", "turn", "end"), (45, 40, 15))[0]
        if kind == "clock":
            sleep(self.random.uniform(0, self.world.reach_s))
            return {}
        if kind == "end":
            loop.wait_for(lambda: self.store.ended() >= self.traces, process, patience_s, every=0.001)
            sleep(self.random.uniform(0, 0.04))
            return {}
        more = self.random.randint(1, 4)
        known = sum(row.judged for row in self.known.values())
        loop.wait_for(lambda: self.store.judged() >= known + more, process, patience_s, every=0.002)
        seen = self.store.turns()
        sleep(self.random.uniform(0, 0.1) ** 2 * 30)
        return seen

    def _examine(self, seen):
        copy = self.store.copied(self.folder / "copy")
        found = self.store.turns(copy)
        self.tally.phases[self._phase(found, self.store.ended(copy))] += 1
        self.tally.unsound += [f"kill {self.tally.kills}: {each}" for each in loop.check(copy)]
        self._compare(seen, found)
        self._compare(self.known, found)
        self.known = found

    def _phase(self, found, ended):
        if not found:
            return "before the first turn"
        if ended == self.traces:
            return "after the last turn"
        if set(found) == set(self.known) and not any(found[key] != self.known[key] for key in found):
            return "starting again"
        return "a turn being judged" if any(not row.judged for row in found.values()) else "between turns"

    def _compare(self, before, after):
        for key, row in before.items():
            now = after.get(key)
            if now is None or now.answer != row.answer:
                if row.judged:
                    self.tally.lost.append(f"kill {self.tally.kills}: turn {key} is gone or another")
                else:
                    self.tally.answers_lost += 1
            elif row.judged and (now.verdict != row.verdict or row.feedback not in (None, now.feedback)):
                self.tally.lost.append(f"kill {self.tally.kills}: turn {key} has another verdict or feedback")

    def _get_through(self):
        process = self._start(self.output)
        process.wait(program.LIMIT_S)
        self._ended(process)

    def _ended(self, process):
        """Check a completed run: its traces must equal those of an undisturbed one."""
        done = program.finish(process)
        if done.code != 0:
            self.tally.failures.append(f"{self.output.name}: exit code {done.code}: {done.stderr[-500:]}")
            return
        self._compare(self.known, self.store.turns())
        self.tally.turns += len(self.store.turns())
        if differs := loop.difference(self._exported(self.output), self.undisturbed):
            self.tally.failures.append(f"{self.output.name} differs from an undisturbed run at {differs}")
        self.tally.laps += 1
        self._begin_run()

    def _exported(self, output):
        """Traces and failed traces of a run, sorted."""
        failed = output.with_name(f"{output.stem}_failed.json")
        return {each.name.removeprefix(output.stem): sorted((loop.without(trace, self.world.changing) for trace in
                                                            loop.read(each)), key=lambda trace: trace["task_id"])
                for each in (output, failed)}
