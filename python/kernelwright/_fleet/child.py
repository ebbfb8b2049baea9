"""Runs `kernelwright serve` as a child on a free port of loopback; the child ends with this process."""
import atexit
import os
import secrets
import shutil
import subprocess
import tempfile
import threading
import time

from ..api import find_program
from .calls import ServiceCalls, Unreachable

START_LIMIT_S = 600  # for fork servers that import PyTorch from a cold disk, and the first verdict
END_LIMIT_S = 20
_POLL_S = 0.25


class ServiceFailed(RuntimeError):
    """The child did not start, or has ended."""


class ServiceChild:
    """The child and its folder. `words` are further arguments of `kernelwright serve`. With `ready` the constructor waits
    until a verdict is possible, otherwise until the service listens. `key`: None makes one; with an empty one the service
    asks clients for none."""

    def __init__(self, words=(), *, environment=None, store=None, key=None, ready=True, start_limit_s=START_LIMIT_S):
        self.url = None
        self._key = secrets.token_urlsafe(24) if key is None else key
        self._folder = tempfile.mkdtemp(prefix="kernelwright-serve-")
        self._told = threading.Event()
        store = store or os.path.join(self._folder, "service.db")
        # The process that places services here ends one only after its work is done, so nothing must be drained.
        command = [find_program(), "serve", "--host", "127.0.0.1", "--port", "0", "--store", str(store),
                   "--parent-death", "--drain", "0", *words]
        variables = {**os.environ, **(environment or {}), "KERNELWRIGHT_API_KEY": self._key}
        if not self._key:
            del variables["KERNELWRIGHT_API_KEY"]
        self._process = subprocess.Popen(command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         text=True, errors="replace")
        atexit.register(self.close)
        threading.Thread(target=self._listen, name="kernelwright-serve", daemon=True).start()
        try:
            self._await_start(ready, time.monotonic() + start_limit_s)
        except BaseException:
            self.close()
            raise

    @property
    def calls(self):
        return ServiceCalls(self.url, self._key or None)

    def why_unhealthy(self):
        """None, or the reason why no verdict is possible."""
        if self._process.poll() is not None:
            return f"the service ended with {_words_of(self._process.returncode)}"
        try:
            return self.calls.why_not_ready()
        except Unreachable as error:
            return str(error)

    def wait(self):
        """Wait until the child has ended."""
        self._process.wait()

    def close(self):
        atexit.unregister(self.close)
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(END_LIMIT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _listen(self):
        with self._process.stdout as lines:
            for line in lines:
                if self.url is None and line.startswith("http"):
                    self.url = line.strip()
                    self._told.set()
        self._told.set()

    def _await_start(self, ready, deadline):
        if not self._told.wait(max(0, deadline - time.monotonic())) or self.url is None:
            raise ServiceFailed("`kernelwright serve` did not say where it listens; its own words stand above")
        while ready and (why := self.why_unhealthy()):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise ServiceFailed(why)
            time.sleep(_POLL_S)


def _words_of(returncode):
    return f"signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
