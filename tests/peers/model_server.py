"""Runs `transformers serve` as a child process."""
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

LIMIT_S = 120
PR_SET_PDEATHSIG = 1


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def die_with_parent():
    """The server ends when the test run is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class ModelServer:
    """Serves the model of a folder. Its list of models differs: all models in the hub cache of `home`."""

    def __init__(self, model, home, log):
        self.port, self._log = free_port(), log
        self.url = f"http://127.0.0.1:{self.port}/v1"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-c", "from transformers.cli.transformers import main; main()", "serve", str(model),
                 "--host", "127.0.0.1", "--port", str(self.port), "--device", "cpu", "--default-seed", "0"],
                env={**os.environ, "HF_HOME": str(home)}, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                preexec_fn=die_with_parent)

    def __enter__(self):
        deadline = time.monotonic() + LIMIT_S
        while not self._healthy():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.end()
                raise RuntimeError(f"transformers serve did not start:\n{self._log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.2)
        return self

    def __exit__(self, *_):
        self.end()

    def _healthy(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def end(self):
        self._process.terminate()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
