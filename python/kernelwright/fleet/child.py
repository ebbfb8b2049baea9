"""`kernelwright serve` as a child: started on a free port of loopback, waited for, and gone when this process is."""
import atexit
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from ..api import find_program
from .calls import ServiceCalls, Unreachable

START_LIMIT_S = 600  # fork servers that import PyTorch from a cold disk, and the first verdict
END_LIMIT_S = 20
_POLL_S = 0.1

# The kernel's own tie outlasts the exec. It fires when the *thread* that forked ends, hence _own below; the parent
# may be gone before it is asked for. No preexec_fn: between fork and exec a process with threads may do little.
_TIED = """
import ctypes, os, sys
PR_SET_PDEATHSIG, SIGKILL = 1, 9
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""


class ServiceFailed(RuntimeError):
    """The child did not start, or is gone."""


class ServiceChild:
    """The child and its folder. `words` are further ones of `kernelwright serve`; with `ready` it is waited for
    until a verdict would come about, else until it listens. `key`: none makes one, empty asks for none."""

    def __init__(self, words=(), *, environment=None, store=None, key=None, ready=True,
                 start_limit_s=START_LIMIT_S):
        self._folder = tempfile.mkdtemp(prefix="kernelwright-serve-")
        self.key = secrets.token_urlsafe(24) if key is None else key
        store = store or os.path.join(self._folder, "service.db")
        self._command = [find_program(), "serve", "--host", "127.0.0.1", "--port", "0", "--store", str(store), *words]
        self._environment = {**os.environ, **(environment or {}), "KERNELWRIGHT_API_KEY": self.key}
        if not self.key:
            del self._environment["KERNELWRIGHT_API_KEY"]
        self._process, self._url, self._ready = None, None, ready
        self._running, self._told = threading.Event(), threading.Event()
        atexit.register(self.close)
        threading.Thread(target=self._own, name="kernelwright-serve", daemon=True).start()
        try:
            self._await_start(time.monotonic() + start_limit_s)
        except BaseException:
            self.close()
            raise

    @property
    def url(self):
        return self._url

    @property
    def pid(self):
        return self._process.pid

    @property
    def calls(self):
        return ServiceCalls(self._url, self.key or None)

    def why_unhealthy(self):
        """None, or why a verdict would not come about."""
        if self._process.poll() is not None:
            return f"the service ended with {_words_of(self._process.returncode)}"
        try:
            return self.calls.why_not_ready()
        except Unreachable as error:
            return str(error)

    def wait(self):
        """Until it has ended."""
        self._process.wait()

    def close(self, drain_s=END_LIMIT_S):
        """Ends it: first with time for what runs, then at once."""
        atexit.unregister(self.close)
        process = self._process
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(drain_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _own(self):
        """The thread whose end would be the child's: it stays until the child has ended."""
        command = [sys.executable, "-S", "-E", "-c", _TIED, str(os.getpid()), *self._command]
        try:
            self._process = subprocess.Popen(command, env=self._environment, stdin=subprocess.DEVNULL,
                                             stdout=subprocess.PIPE, text=True, errors="replace")
            self._running.set()
            for line in self._process.stdout:
                if self._url is None and line.strip().startswith("http"):
                    self._url = line.strip()
                    self._told.set()
            self._process.wait()
        finally:
            self._running.set()
            self._told.set()

    def _await_start(self, deadline):
        self._running.wait()
        if self._process is None:
            raise ServiceFailed(f"{self._command[0]} does not run")
        if not self._told.wait(max(0, deadline - time.monotonic())) or self._url is None:
            raise ServiceFailed(f"{self._command[0]} serve did not say where it listens; its own words stand above")
        while self._ready and (why := self.why_unhealthy()):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise ServiceFailed(why)
            time.sleep(_POLL_S)


def _words_of(returncode):
    return f"signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
