"""`kernelwright serve` on loopback and the CPU, as a process of ours."""
import subprocess
import time
from pathlib import Path

from kernelwright.client import Evaluator

from . import program

READY_S = 90


class EvaluationService:
    """Its store is in `folder`, so that one started there later goes on with it; at a given port clients do, too."""

    def __init__(self, folder, python, *words, port=0):
        self._log = (folder / "serve.log").open("ab")
        command = [program.binary(), "serve", "--port", str(port), "--store", str(folder / "service.db"), "--device", "cpu",
                   "--python", python, "--parent-death", *words]
        self._process = program.start(command, folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log)
        self.url = self._process.stdout.readline().decode().strip()
        self.log = folder / "serve.log"

    def __enter__(self):
        deadline = time.monotonic() + READY_S
        while not (self.url and Evaluator(self.url).ready()):
            if not self.url or self._process.poll() is not None or time.monotonic() > deadline:
                self.end()
                raise RuntimeError(f"kernelwright serve did not become ready:\n{self.log.read_text()[-3000:]}")
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.end()

    def oracles(self):
        """Pids of the processes in which references run."""
        found = []
        for pid in program.descendants(self._process.pid):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if b"oracle" in words and parent != self._process.pid:
                found.append(pid)
        return found

    def kill(self):
        """As a machine that fails, without a word."""
        self._process.kill()
        self.end()

    def end(self):
        """Its exit code, after what runs has been given the time to end."""
        self._process.terminate()
        try:
            return self._process.wait(60)
        finally:
            self._process.kill()
            self._process.stdout.close()
            self._log.close()
