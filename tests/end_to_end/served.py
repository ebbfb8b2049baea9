"""`kernelwright serve` as a process that a test may kill and start again."""
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from . import program

KEY = "a-key-of-these-tests"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Served:
    """A service with a store of its own, on the same port at every start."""

    def __init__(self, folder, *words, python=sys.executable):
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._words = ["--python", python, *map(str, words)]
        self._process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.end()

    def start(self):
        command = [program.binary(), "serve", "--port", str(self.port), "--store", str(self.folder / "service.db"),
                   "--device", program.DEVICE, "--drain", "2s", "--parent-death", *self._words]
        with (self.folder / "service.log").open("ab") as log:
            self._process = program.start(command, self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                          environment={"KERNELWRIGHT_API_KEY": KEY})

    @property
    def pid(self):
        return self._process.pid

    @property
    def exit_code(self):
        """The exit code once it has ended."""
        return self._process.returncode

    def kill(self):
        """Kill it with all that it started, as the machine does when memory runs out."""
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait(program.LIMIT_S)

    def end(self):
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(program.LIMIT_S)

    def ready(self, seconds=60):
        """Wait until it can judge."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=10):
                    return self
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        raise AssertionError((self.folder / "service.log").read_text(encoding="utf-8")[-2000:])

    def text(self, path):
        """The answer to a GET with the key."""
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {KEY}"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read().decode("utf-8")

    def asked(self, path):
        """The answer to a GET with the key, as JSON."""
        return json.loads(self.text(path))

    def log(self):
        """Its log, a dict for each line of JSON."""
        lines = (self.folder / "service.log").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]
