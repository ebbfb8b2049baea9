"""Runs services as processes on one core, and measures their use of it."""
import os
import platform
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
TICKS = os.sysconf("SC_CLK_TCK")
SERVICE_CORE, LOAD_CORE = "0", "1"


def machine():
    """The properties of the machine on which figures depend."""
    model = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    return {"cores": os.cpu_count(), "model": model[0] if model else platform.machine(), "load_average": os.getloadavg()}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_s(pid):
    """The processor time of all its threads so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rss_mb(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def pinned(core, *words):
    """A command that is pinned to this core, where there is more than one."""
    return ["taskset", "-c", core, *map(str, words)] if os.cpu_count() > 1 else [str(word) for word in words]


class Service:
    """Some processes that are one service: the last one started prints its URL."""

    def __init__(self):
        self.processes, self.url = [], None

    def start(self, *words, **more):
        self.processes.append(subprocess.Popen(pinned(SERVICE_CORE, *words), stdin=subprocess.PIPE,
                                               stdout=subprocess.PIPE, **more))
        return self.processes[-1]

    def read_url(self, path="/openapi.json"):
        self.url = self.processes[-1].stdout.readline().decode().strip()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(self.url + path, timeout=10):
                    return self
            except OSError:
                time.sleep(0.05)
        raise TimeoutError(f"{self.url} does not answer")

    def cpu_s(self):
        return sum(cpu_s(each.pid) for each in self.processes)

    def rss_mb(self):
        return sum(rss_mb(each.pid) for each in self.processes)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in reversed(self.processes):
            each.terminate()
            each.stdin.close()
        for each in self.processes:
            each.wait(20)


def ours(build, folder, width, *times_ms):
    """This service with a verifier that answers at once, or after so many milliseconds."""
    service = Service()
    service.start(build / "noop_service", folder / "service.db", width, *times_ms)
    return service.read_url()


def peer(python, folder, fsync):
    """The peer on FastAPI and Redis, which writes as `fsync` says: "everysec" or "always"."""
    service, store, port = Service(), free_port(), free_port()
    script = HERE / "peer_service.py"
    redis = service.start("redis-server", "--port", store, "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly",
                          "yes", "--appendfsync", fsync, "--logfile", folder / "redis.log")
    deadline = time.monotonic() + 10
    while socket.socket().connect_ex(("127.0.0.1", store)) and redis.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    service.start(python, script, "--worker", store)
    service.start(python, script, port, store)
    return service.read_url()
