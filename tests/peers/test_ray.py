"""The service on a Ray cluster of one machine: logical GPUs, and replicas that judge on the CPU."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest
from end_to_end import program

from .model_server import die_with_parent, free_port

sys.path.insert(0, str(program.ROOT / "python"))

from kernelwright.client import Client, Refused

PYTHON = os.environ.get("KERNELWRIGHT_TEST_PYTHON", sys.executable)
EXAMPLES = program.ROOT / "examples"
LIMIT_S, LONG_S = 60, 1.2
SAME = ("id", "task_id", "candidate_sha256", "status", "correctness", "fault", "error_class", "counts", "counts_reason",
        "trust")


class Cluster:
    """Ray's processes, which end with the test's, in a folder of their own."""

    def __init__(self, gpus, cpus=4):
        self.port, self.folder = free_port(), Path(tempfile.mkdtemp(prefix="kw-ray-", dir="/tmp"))  # sockets: short names
        words = ["--head", "--block", "--node-ip-address=127.0.0.1", f"--port={self.port}", f"--num-gpus={gpus}",
                 f"--num-cpus={cpus}", "--include-dashboard=false", "--disable-usage-stats",
                 f"--temp-dir={self.folder / 'ray'}", "--object-store-memory=100000000"]
        # Ray counts the GPUs that it is told of only where it may see all, and keeps the cluster's token in HOME. Load
        # is measured more often than every ten seconds, so that replicas start and end during a test.
        self.environment = {**os.environ, "HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder),
                            "RAY_SERVE_HANDLE_AUTOSCALING_METRIC_PUSH_INTERVAL_S": "0.5",
                            "RAY_SERVE_REPLICA_AUTOSCALING_METRIC_PUSH_INTERVAL_S": "0.5"}
        del self.environment["CUDA_VISIBLE_DEVICES"]
        self._log = self.folder / "ray.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen([sys.executable, "-m", "ray.scripts.scripts", "start", *words],
                                             env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                             preexec_fn=die_with_parent)
        until(lambda: "Ray runtime started" in self._log.read_text() or self._process.poll() is not None, "Ray does not start")
        assert self._process.poll() is None, self._log.read_text()

    def call(self, *words, limit=120):
        """The program, with this cluster's token."""
        return subprocess.run([program.binary(), *map(str, words)], capture_output=True, text=True, check=False, timeout=limit,
                              env=self.environment)

    def services(self, role):
        """Processes of `kernelwright serve` here: role "--device" is a replica's, "--evaluator" the ingress's."""
        return [each for each in self.processes() if "serve" in each.info["cmdline"][1:2] and role in each.info["cmdline"]]

    def processes(self):
        """All living processes below Ray's."""
        alive = []
        for each in psutil.Process(self._process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # some end during the loop
                each.info = each.as_dict(["cmdline", "status"])
                if each.info["cmdline"] and each.info["status"] != psutil.STATUS_ZOMBIE:
                    alive.append(each)
        return alive

    def end(self):
        """Kill all at once: an orderly end takes half a minute."""
        for each in [*psutil.Process(self._process.pid).children(recursive=True), self._process]:
            with contextlib.suppress(psutil.NoSuchProcess):  # some end with others
                each.kill()
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def until(seen, what, limit_s=LIMIT_S):
    deadline = time.monotonic() + limit_s
    while not (found := seen()):
        assert time.monotonic() < deadline, what
        time.sleep(0.1)
    return found


@pytest.fixture(scope="module")
def cluster():
    running = Cluster(gpus=2)
    yield running
    running.end()


@pytest.fixture(scope="module")
def url(cluster):
    """The URL of a deployment by the program: one to two replicas, one candidate at a time each."""
    done = cluster.call("deploy", "ray", "--address", f"127.0.0.1:{cluster.port}", "--port", free_port(),
                        "--device", "cpu", "--cpus", 1, "--replicas", "1:2", "--idle", 2, "--store", cluster.folder / "ray.db",
                        "--wait", 100, "--python", sys.executable, "--", "--python", PYTHON)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@pytest.fixture
def client(url):
    return Client(url)


def slow(name, seconds=LONG_S):
    """A right kernel that runs for a while."""
    kernel = (EXAMPLES / "pair/kernel.py").read_text() + f"\nimport time\ntime.sleep({seconds})  # {name}\n"
    return {"id": name, "reference_code": (EXAMPLES / "pair/reference.py").read_text(), "kernel_code": kernel,
            "options": {"correctness_trials": 1}}


def verdicts(cluster, *words):
    output = cluster.folder / "verdicts.jsonl"
    done = cluster.call("verify", EXAMPLES / "sample/single_turn.json", "--limit", 5, "--output", output, "--fresh",
                        *words)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    return {row["id"]: {**{name: row[name] for name in SAME}, "protocol": row["environment"]["protocol"]} for row in rows}


def test_verdicts_are_those_of_the_engine_on_this_machine(cluster, url):
    there = verdicts(cluster, "--evaluator", "ray")
    here = verdicts(cluster, "--device", "cpu", "--python", PYTHON)
    assert there == here and len(here) == 5
    assert len({each["status"] for each in here.values()}) > 1, "rows that end differently"


def test_more_is_on_the_way_than_replicas_judge_at_once(client):
    assert client.service()["width"] > 2


def test_load_makes_a_second_replica_and_a_dead_one_loses_nothing(cluster, client):
    names = [f"load-{number}" for number in range(8)]
    for name in names:
        client.submit(slow(name))
    until(lambda: len(cluster.services("--device")) == 2, "no second replica")
    # The first replica may have judged all before the second one was there.
    late = [f"late-{number}" for number in range(4)]
    for name in late:
        client.submit(slow(name))
    until(lambda: any(client.get(name).state == "running" for name in late), "none starts", 2 * LIMIT_S)
    names += late
    service = cluster.services("--device")[0]
    service.parent().kill()  # the replica
    assert not psutil.wait_procs([service], 10)[1], "it takes its service along"
    ended = [client.get(name, wait_s=50) for name in names]
    assert all(each.correct for each in ended), [each for each in ended if not each.correct]
    assert [client.get(name) for name in names] == ended, "one verdict each"


def test_an_id_is_one_evaluation_through_a_restart_of_the_service_in_front(cluster, client):
    first = client.evaluate(slow("kept", 0))
    [front] = cluster.services("--evaluator")
    front.kill()
    until(lambda: [each.pid for each in cluster.services("--evaluator")] not in ([], [front.pid]), "it is not started again")
    until(client.ready, "it is not ready")
    assert client.get("kept") == first
    with pytest.raises(Refused) as refused:
        client.submit(slow("kept", 1))
    assert refused.value.status == 409


def test_a_replica_without_work_goes(cluster, url):
    until(lambda: len(cluster.services("--device")) == 1, "both stay")
