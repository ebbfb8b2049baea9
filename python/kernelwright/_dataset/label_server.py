"""A warm parent that works in forked, confined children: python -m kernelwright._dataset.label_server.

`--work label` compiles kernels; `--work pair` makes pairs of PyTorch and Triton, `--work cuda_pair` pairs of
CUDA and Triton.

A line on standard input is a job: a number, a space, JSON. A line on standard output is JSON: first the compilers
(`triton`, and `error` where nothing can be confined), then for each job its number, how it ended and the child's
answer, which this process does not parse. A child runs a kernel's module, so its answer is a claim about that kernel.
"""
import argparse
import ctypes
import errno
import gc
import importlib
import json
import math
import os
import resource
import select
import signal
import socket
import sys
import tempfile
import time
from dataclasses import dataclass

from .._engine import unconfined
from .._engine.forkserver import own_folders, probed_sandbox

MAX_ANSWER = 64 * 1024
# A label must not depend on the machine's other load, so a child's processor time is limited, not its elapsed time.
# A child that waits for ever is stuck: it is tried once more, alone, and then its kernel counts as not tried.
STUCK_S = 600
TRIES = 2
MEMORY_BYTES = 2 << 30
SCRATCH_BYTES = 128 << 20
PROCESSES, OPEN_FILES = 24, 256
FIRST_UID, UIDS = 63232, 1024  # above those of the verifier's runners, below nobody
SUBREAPER, DEATH_SIGNAL = 36, 1
WORK = {"label": "kernelwright._dataset.label_job", "pair": "kernelwright._dataset.synth.job",
        "cuda_pair": "kernelwright._dataset.synth.cuda_job"}
# Without one of these layers a module can read the disk, reach the network or outlive its job.
REQUIRED = ("pid_ns", "net_ns", "root", "uid")


@dataclass
class Job:
    """One request, and how often it was begun."""

    number: int
    data: bytes
    tries: int = 0


class Running:
    """One job's child, the received part of its answer, and the socket that reports its end."""

    def __init__(self, job, answer, status, deadline, cgroup):
        self.job, self.answer, self.status, self.deadline, self.cgroup = job, answer, status, deadline, cgroup
        self.parts, self.bytes = [], 0
        self.how, self.pidfd, self.closed = None, -1, False

    def read_answer(self):
        """Read the available part of the answer."""
        try:
            data = os.read(self.answer, 1 << 16)
        except BlockingIOError:
            return
        self.bytes += len(data)
        self.closed = not data
        if self.bytes > MAX_ANSWER:
            self.how = "too long"
        else:
            self.parts.append(data)

    def read_status(self):
        """True once the child has ended, or if it never started."""
        try:
            data, fds, _, _ = socket.recv_fds(self.status, 512, 4)
        except BlockingIOError:
            return False
        except OSError:
            data, fds = b"", []
        if fds:
            self.pidfd = fds[0]
        if len(data) == unconfined._SPAWNED.size:
            fields = unconfined._SPAWNED.unpack(data)
            if fields[2]:
                step = fields[-1].split(b"\0")[0].decode(errors="replace")
                self.how = f"refused: {step}: {os.strerror(fields[2])}"
            return bool(fields[2])
        if len(data) == unconfined._EXITED.size:
            status = unconfined._EXITED.unpack(data)[1]
            self.how = self.how or ending(status)
            return True
        self.how = self.how or "died"
        return True

    def finish(self, sandbox):
        """Release the child; no process of it remains afterwards."""
        self.status.close()  # its init ends all remaining processes
        if self.pidfd >= 0:
            select.select([self.pidfd], [], [], 5.0)
            try:
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            except OSError:
                pass
            os.close(self.pidfd)
        while self.how == "answered" and not self.closed and readable(self.answer):
            self.read_answer()
        os.close(self.answer)
        if sandbox is not None and self.cgroup:
            sandbox._library.kw_cgroup_finish(self.cgroup.encode(), None)


def readable(fd):
    """Whether a read would not block."""
    return bool(select.select([fd], [], [], 0)[0])


def ending(status):
    """A wait status as text."""
    if os.WIFSIGNALED(status):
        return "time limit" if os.WTERMSIG(status) == signal.SIGXCPU else f"died: signal {os.WTERMSIG(status)}"
    return f"died: status {os.WEXITSTATUS(status)}" if os.WEXITSTATUS(status) else "answered"


class Server:
    """Reads jobs while it has room for them."""

    def __init__(self, options, output):
        self._options, self._output = options, output
        self._sandbox = None
        self._running, self._input, self._open, self._count = [], b"", True, 0
        self._mapped = 0
        self._stuck = []  # jobs for a second try
        self._tries = TRIES

    def warm(self):
        """Make the imports of every child, and probe the layers that this host grants."""
        import triton
        importlib.import_module(WORK[self._options.work]).prepare()
        self._sandbox = probed_sandbox()
        gc.collect()
        gc.freeze()
        with open("/proc/self/statm") as statm:
            self._mapped = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        ready = {"triton": triton.__version__, "error": None}
        if self._sandbox is None and not self._options.unconfined:
            ready["error"] = "libkwsandbox.so is not there"
        self._say(ready)

    def serve(self):
        """Serve until the input is closed and all jobs are done."""
        while self._open or self._running or self._stuck or b"\n" in self._input:
            while len(self._running) < self._options.jobs and (job := self._next()) is not None:
                self._start(job)
            self._wait()
            self._reap()

    def _next(self):
        line, found, rest = self._input.partition(b"\n")
        if found:
            self._input = rest
            number, _, data = line.partition(b" ")
            return Job(int(number), data)
        if self._running:
            return None
        while self._stuck and self._tries < TRIES:
            self._say({"number": self._stuck.pop(0).number, "how": "stuck", "answer": ""})
        return self._stuck.pop(0) if self._stuck else None

    def _wait(self):
        room = self._open and len(self._running) < self._options.jobs
        fds = {child.status.fileno(): child for child in self._running}
        answers = {child.answer: child for child in self._running if not child.closed}
        left = min([child.deadline for child in self._running], default=None)
        timeout = None if left is None else max(0.0, left - time.monotonic())
        ready, _, _ = select.select([*fds, *answers, *([0] if room else [])], [], [], timeout)
        for child in [answers[fd] for fd in ready if fd in answers]:
            child.read_answer()
        for child in [fds[fd] for fd in ready if fd in fds]:
            if child.read_status():
                self._end(child)
        if room and 0 in ready:
            data = os.read(0, 1 << 20)
            self._open = bool(data)
            self._input += data

    def _reap(self):
        now = time.monotonic()
        for child in list(self._running):
            if child.how == "too long" or now >= child.deadline:
                child.how = child.how or "stuck"
                self._end(child)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            pass

    def _end(self, child):
        self._running.remove(child)
        child.finish(self._sandbox)
        if child.how == "stuck":
            # If a second try is stuck too, later stuck jobs are not tried again.
            self._tries = self._tries if child.job.tries < TRIES else 1
            if child.job.tries < self._tries:
                self._stuck.append(child.job)
                return
        answer = b"".join(child.parts).decode(errors="replace") if child.how == "answered" else ""
        self._say({"number": child.job.number, "how": child.how, "answer": answer})

    def _say(self, message):
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self._output, data):]

    def _start(self, job):
        job.tries += 1
        self._count += 1
        answer, into = os.pipe()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        cgroup = None if self._options.unconfined else f"kernelwright-{os.getpid()}-{self._count}"
        middle = os.fork()
        if middle == 0:
            code = 1
            try:
                self._child(job.data, into, theirs.fileno(), cgroup)
                code = 0
            finally:
                os._exit(code)
        os.close(into)
        theirs.close()
        os.waitpid(middle, 0)
        os.set_blocking(answer, False)
        ours.setblocking(False)
        deadline = time.monotonic() + self._options.stuck_after
        self._running.append(Running(job, answer, ours, deadline, cgroup))

    def _child(self, job, into, status, cgroup):
        unconfined.close_others([into, status])
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if self._options.unconfined:
            folder = tempfile.mkdtemp(prefix="kernelwright-")
            unconfined.enter(status, folder)
            # The soft limit sends a signal that names the cause, the hard limit one that does not.
            resource.setrlimit(resource.RLIMIT_CPU, (self._cpu_s(), self._cpu_s() + 1))
        elif self._sandbox is None:
            unconfined.report(status, errno.ENOENT, "libkwsandbox.so")
            return
        else:
            self._sandbox.confine(self._policy(cgroup), status)
            folder = tempfile.mkdtemp(prefix="kernelwright-", dir="/tmp")
        unconfined.close_others([into])
        importlib.import_module(WORK[self._options.work]).serve(job, into, folder, self._options)

    def _cpu_s(self):
        return math.ceil(self._options.seconds)

    def _policy(self, cgroup):
        require = sum(1 << self._sandbox.LAYERS.index(name) for name in REQUIRED)
        toolkit = [os.path.dirname(os.path.dirname(os.path.realpath(self._options.nvcc)))] if self._options.nvcc else []
        return self._sandbox.Policy(
            uid=FIRST_UID + self._count % UIDS, address_space_bytes=self._mapped + MEMORY_BYTES,
            memory_bytes=MEMORY_BYTES, tmp_bytes=SCRATCH_BYTES, file_bytes=SCRATCH_BYTES, processes=PROCESSES,
            open_files=OPEN_FILES, cpu_s=self._cpu_s(), readable=own_folders() + toolkit,
            cgroup_name=cgroup, require=require)


def main():
    """Warm up, then answer jobs."""
    parser = argparse.ArgumentParser(prog="kernelwright._dataset.label_server")
    parser.add_argument("--work", choices=sorted(WORK), default="label")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--seconds", type=float, default=30, metavar="S", help="a kernel's processor time")
    parser.add_argument("--stuck-after", type=float, default=STUCK_S, metavar="S", help="of the clock, without an end")
    parser.add_argument("--targets", default="80,86,90", metavar="CC,...")
    parser.add_argument("--nvcc", default="", metavar="FILE")
    parser.add_argument("--unconfined", action="store_true")
    options = parser.parse_args()
    options.targets = [int(each) for each in options.targets.split(",") if each]
    libc = ctypes.CDLL(None)
    libc.prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    libc.prctl(SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program handles Ctrl-C
    os.environ.pop("TRITON_INTERPRET", None)
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    # Keeps the output of libraries out of the answers.
    output = os.dup(1)
    os.dup2(2, 1)
    server = Server(options, output)
    server.warm()
    server.serve()


if __name__ == "__main__":
    sys.exit(main())
