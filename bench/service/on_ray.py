#!/usr/bin/env python3
"""Measures whether eight logical GPUs behind Ray Serve are kept busy. Replicas, the ingress and its service are real; only
a replica's own service is a stand-in whose verdicts take 50 to 500 ms without using a core (noop_service).

on_ray.py --build BUILD --ray-python PYTHON [--clients 64] [--seconds 30] [--output F]

PYTHON has ray[serve] and psutil. A replica is busy while its one place is taken.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import processes
from places import FROM_MS, MARGIN_S, PLACES, TO_MS, WARM_S, taken

ROOT = Path(__file__).resolve().parents[2]
START_LIMIT_S = 300
# Ray's replicas start this as `kernelwright`: for a replica the stand-in, which ends with it, otherwise the program.
STAND_IN = """\
#!{python}
import ctypes, os, signal, subprocess, sys
words = sys.argv[1:]
if "--device" not in words or "serve" not in words[:1] or "--evaluator" in words:
    os.execv("{program}", ["{program}", *words])
def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
die_with_parent()
store = words[words.index("--store") + 1]
child = subprocess.Popen(["{noop}", store, "1", "{from_ms}", "{to_ms}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         preexec_fn=die_with_parent)
url = child.stdout.readline().decode()
with open("{urls}/" + str(child.pid), "w") as file:
    file.write(url.strip())
sys.stdout.write(url)
sys.stdout.flush()
sys.exit(child.wait())
"""


def make_stand_in(flags, folder):
    path, urls = folder / "kernelwright", folder / "urls"
    urls.mkdir()
    build = flags.build.resolve()
    path.write_text(STAND_IN.format(python=sys.executable, program=build / "kernelwright", noop=build / "noop_service",
                                    from_ms=FROM_MS, to_ms=TO_MS, urls=urls), encoding="utf-8")
    path.chmod(0o755)
    return path, urls


def measure(flags, folder):
    path, urls = make_stand_in(flags, folder)
    os.environ |= {"KERNELWRIGHT": str(path), "CUDA_VISIBLE_DEVICES": ""}
    from peers import test_ray
    cluster = test_ray.Cluster(gpus=PLACES, cpus=PLACES)
    try:
        done = cluster.call("deploy", "ray", "--address", f"127.0.0.1:{cluster.port}", "--port", test_ray.free_port(),
                            "--device", "cpu", "--cpus", 1, "--replicas", f"{PLACES}:{PLACES}", "--store",
                            cluster.folder / "ray.db", "--wait", START_LIMIT_S, "--python", sys.executable,
                            limit=START_LIMIT_S + 30)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-3000:])
        url = done.stdout.strip()
        return look(flags, url, urls)
    finally:
        cluster.end()


def busy_ms(urls):
    """For each replica, the milliseconds in which its place was taken, and the total."""
    times = [taken(each.read_text()) for each in sorted(urls.iterdir())]
    return [(each[-1], sum(each)) for each in times]


def look(flags, url, urls):
    command = [flags.build.resolve() / "service_load", url, str(flags.clients), str(WARM_S + flags.seconds + MARGIN_S), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as load:
        time.sleep(WARM_S)
        before = busy_ms(urls)
        time.sleep(flags.seconds)
        after = busy_ms(urls)
        ended = json.load(load.stdout)
    shares = [round((now[0] - then[0]) / (now[1] - then[1]), 4) for now, then in zip(after, before, strict=True)]
    return {"replicas": len(shares), "clients": flags.clients, "busy": shares, "mean_busy": round(sum(shares) / len(shares), 4),
            "verdicts_a_second": round(ended["submit"]["count"] / ended["seconds"], 1), "failures": ended["failures"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--output", type=Path)
    flags = parser.parse_args()
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "python")]
    with tempfile.TemporaryDirectory(prefix="bench-ray-") as folder:
        Path(folder).chmod(0o755)
        record = {"machine": processes.machine(), **measure(flags, Path(folder))}
    text = json.dumps(record, indent=1)
    print(text)
    if flags.output:
        flags.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
