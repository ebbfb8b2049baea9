"""A warm parent that compiles kernels in forked, confined children: python -m kernelwright.dataset.label_server.

A line on standard input is a job: a number, a space, JSON. A line on standard output is JSON: first what compiles
(`triton`, and `error` where nothing can be confined), then for each job its number, how it ended and the child's own
words, which nobody here reads. A child runs a kernel's module, so its words are a claim about that kernel alone.
"""
import argparse
import ctypes
import errno
import gc
import json
import math
import os
import select
import signal
import socket
import sys
import tempfile
import time

from .. import unconfined
from ..forkserver import _own_folders, _sandbox

MAX_ANSWER = 64 * 1024
PATIENCE = 3  # a child's processor time is limited; of the clock it may take this much more, then it is killed
MEMORY_BYTES = 2 << 30
SCRATCH_BYTES = 128 << 20
PROCESSES, OPEN_FILES = 24, 256
FIRST_UID, UIDS = 63232, 1024  # above those of the verifier's runners, below nobody
SUBREAPER, DEATH_SIGNAL = 36, 1
# Without these a module can read the disk, reach the network or outlive its job.
REQUIRED = ("pid_ns", "net_ns", "root", "uid")


class Running:
    """One job's child, its answer as far as it has come, and the socket that tells of its end."""

    def __init__(self, number, answer, status, deadline, cgroup):
        self.number, self.answer, self.status, self.deadline, self.cgroup = number, answer, status, deadline, cgroup
        self.parts, self.bytes = [], 0
        self.how, self.pidfd, self.closed = None, -1, False

    def read_answer(self):
        """Take what has come."""
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
        """True once the child has ended, or never was."""
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

    def finish(self, confine):
        """Nothing of the child is left after this."""
        self.status.close()  # its init ends whatever still lives
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
        if confine is not None and self.cgroup:
            confine._library.kw_cgroup_finish(self.cgroup.encode(), None)


def readable(fd):
    """Whether a read of it would not wait."""
    return bool(select.select([fd], [], [], 0)[0])


def ending(status):
    """A wait status in words."""
    if os.WIFSIGNALED(status):
        return "time limit" if os.WTERMSIG(status) == signal.SIGXCPU else f"died: signal {os.WTERMSIG(status)}"
    return f"died: status {os.WEXITSTATUS(status)}" if os.WEXITSTATUS(status) else "answered"


class Server:
    """Reads jobs as it has room for them."""

    def __init__(self, options, output):
        self._options, self._output = options, output
        self._confine = None
        self._running, self._input, self._open, self._count = [], b"", True, 0
        self._mapped = 0

    def warm(self):
        """Import what every child needs, and find out what this host grants."""
        import triton
        from . import label_job
        label_job.prepare()
        self._confine = _sandbox()
        gc.collect()
        gc.freeze()
        with open("/proc/self/statm") as statm:
            self._mapped = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        ready = {"triton": triton.__version__, "error": None}
        if self._confine is None and not self._options.unconfined:
            ready["error"] = "libkwconfine.so is not there"
        self._say(ready)

    def serve(self):
        """Until the other side has closed its end and all jobs are done."""
        while self._open or self._running or b"\n" in self._input:
            while len(self._running) < self._options.jobs and (line := self._line()) is not None:
                self._start(line)
            self._wait()
            self._reap()

    def _line(self):
        line, found, rest = self._input.partition(b"\n")
        if not found:
            return None
        self._input = rest
        return line

    def _wait(self):
        room = self._open and len(self._running) < self._options.jobs
        fds = {job.status.fileno(): job for job in self._running}
        answers = {job.answer: job for job in self._running if not job.closed}
        left = min([job.deadline for job in self._running], default=None)
        timeout = None if left is None else max(0.0, left - time.monotonic())
        ready, _, _ = select.select([*fds, *answers, *([0] if room else [])], [], [], timeout)
        for job in [answers[fd] for fd in ready if fd in answers]:
            job.read_answer()
        for job in [fds[fd] for fd in ready if fd in fds]:
            if job.read_status():
                self._end(job)
        if room and 0 in ready:
            data = os.read(0, 1 << 20)
            self._open = bool(data)
            self._input += data

    def _reap(self):
        now = time.monotonic()
        for job in list(self._running):
            if job.how == "too long" or now >= job.deadline:
                job.how = job.how or "time limit"
                self._end(job)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            pass

    def _end(self, job):
        self._running.remove(job)
        job.finish(self._confine)
        answer = b"".join(job.parts).decode(errors="replace") if job.how == "answered" else ""
        self._say({"number": job.number, "how": job.how, "answer": answer})

    def _say(self, message):
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self._output, data):]

    def _start(self, line):
        number, _, job = line.partition(b" ")
        self._count += 1
        answer, into = os.pipe()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        cgroup = None if self._options.unconfined else f"kernelwright-{os.getpid()}-{self._count}"
        middle = os.fork()
        if middle == 0:
            code = 1
            try:
                self._child(job, into, theirs.fileno(), cgroup)
                code = 0
            finally:
                os._exit(code)
        os.close(into)
        theirs.close()
        os.waitpid(middle, 0)
        os.set_blocking(answer, False)
        ours.setblocking(False)
        deadline = time.monotonic() + self._options.seconds * PATIENCE
        self._running.append(Running(int(number), answer, ours, deadline, cgroup))

    def _child(self, job, into, status, cgroup):
        unconfined.close_others([into, status])
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if self._options.unconfined:
            folder = tempfile.mkdtemp(prefix="kernelwright-")
            unconfined.enter(status, folder)
        elif self._confine is None:
            unconfined.report(status, errno.ENOENT, "libkwconfine.so")
            return
        else:
            self._confine.confine(self._policy(cgroup), status)
            folder = tempfile.mkdtemp(prefix="kernelwright-", dir="/tmp")
        unconfined.close_others([into])
        from . import label_job
        label_job.serve(job, into, folder, self._options)

    def _policy(self, cgroup):
        require = sum(1 << self._confine.LAYERS.index(name) for name in REQUIRED)
        toolkit = [os.path.dirname(os.path.dirname(os.path.realpath(self._options.nvcc)))] if self._options.nvcc else []
        return self._confine.Policy(
            uid=FIRST_UID + self._count % UIDS, address_space_bytes=self._mapped + MEMORY_BYTES,
            memory_bytes=MEMORY_BYTES, tmp_bytes=SCRATCH_BYTES, file_bytes=SCRATCH_BYTES, processes=PROCESSES,
            open_files=OPEN_FILES, cpu_s=math.ceil(self._options.seconds), readable=_own_folders() + toolkit,
            cgroup_name=cgroup, require=require)


def main():
    """Warm up, then answer jobs."""
    parser = argparse.ArgumentParser(prog="kernelwright.dataset.label_server")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--seconds", type=float, default=30, metavar="S", help="a kernel's time")
    parser.add_argument("--targets", default="80,90", metavar="CC,...")
    parser.add_argument("--nvcc", default="", metavar="FILE")
    parser.add_argument("--unconfined", action="store_true")
    options = parser.parse_args()
    options.targets = [int(each) for each in options.targets.split(",") if each]
    libc = ctypes.CDLL(None)
    libc.prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    libc.prctl(SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the program's to answer
    os.environ.pop("TRITON_INTERPRET", None)
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    # What libraries print must not stand among the answers.
    output = os.dup(1)
    os.dup2(2, 1)
    server = Server(options, output)
    server.warm()
    server.serve()


if __name__ == "__main__":
    sys.exit(main())
