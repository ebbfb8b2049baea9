"""Deploys ray_app on a running cluster. `python -m kernelwright._fleet.deploy_ray JSON`; see events.

JSON: `settings` (ray_app.Settings; missing ones are derived from the cluster), `address`, `http` (Serve's http_options),
`wait_s` until a verdict is possible, `dry_run`.
"""
import json
import logging
import os
import sys
import time
from pathlib import Path

from .calls import ServiceCalls, Unreachable
from .events import DeployError, errors_told, package_missing, say, tell

RAY = "ray[serve]==2.60.0"
APP = "kernelwright"
POLL_S = 0.5
PROXY_LIMIT_S = 30  # until Serve listens, once the application runs
_START = "`ray start --head` on this machine, with `--num-gpus=N` where it has none"


def main(words):
    request = json.loads(words[0])
    with errors_told():
        if request["dry_run"]:
            tell(plan=json.dumps(serve_config(request), indent=2))
        else:
            tell(url=deploy(request))


def serve_config(request):
    """The configuration in the form of `serve deploy` and KubeRay's serveConfigV2."""
    return {"proxy_location": "HeadOnly", "http_options": request["http"], "applications": [{
        "name": APP, "route_prefix": "/", "import_path": "kernelwright.ray_app:application",
        "runtime_env": {"env_vars": environment()}, "args": request["settings"]}]}


def environment():
    """The environment of processes that Ray starts: the folder of this package, if it is not installed."""
    parent = str(Path(__file__).resolve().parents[2])
    found = {"RAY_SERVE_LOG_TO_STDERR": "0"}
    if "site-packages" not in parent:
        found["PYTHONPATH"] = parent
    if "KERNELWRIGHT" in os.environ:
        found["KERNELWRIGHT"] = os.environ["KERNELWRIGHT"]
    return found


def deploy(request):
    try:
        import ray
        from ray import serve
    except ImportError as error:
        raise package_missing(error.name or "ray", RAY) from error
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    connect(ray, request["address"])
    settings = complete(request["settings"], ray.nodes())
    say(f"deploying {settings['min_replicas']} to {settings['max_replicas']} replicas, each with {settings['cpus']:g} CPUs")
    from ..ray_app import application

    serve.start(proxy_location="HeadOnly", http_options=request["http"])
    try:
        serve.run(application(settings), name=APP, route_prefix="/")
    except RuntimeError as error:
        raise DeployError(f"the application does not start: {error}", "`serve status` and the replica's log tell why: "
                          "/tmp/ray/session_latest/logs/serve on its node") from error
    return await_ready(url_of(request["http"], ray), request["wait_s"])


def connect(ray, address):
    try:
        ray.init(address=address or "auto", log_to_driver=False, logging_level=logging.WARNING,
                 runtime_env={"env_vars": environment()})
    except ConnectionError as error:
        where = f"at {address}" if address else "here"
        raise DeployError(f"there is no Ray cluster {where}: {error}", f"{_START}; or --address HOST:PORT") from error


def complete(settings, nodes):
    """The settings with defaults: as many replicas as GPUs, and the CPUs of a node divided among its GPUs."""
    gpus = [node["Resources"] for node in nodes if node["Alive"] and node["Resources"].get("GPU", 0) >= 1]
    if not gpus and settings.get("max_replicas") is None:
        raise DeployError("the cluster has no GPU, not even a logical one", f"{_START}; --replicas MIN:MAX where Ray "
                          "adds nodes by itself")
    most = settings.get("max_replicas") or int(sum(each["GPU"] for each in gpus))
    cpus = settings.get("cpus") or min((int(each.get("CPU", 0) // each["GPU"]) for each in gpus), default=8)
    return {**settings, "max_replicas": most, "min_replicas": min(settings.get("min_replicas", 1), most),
            "cpus": max(1, min(12, cpus))}


def url_of(http, ray):
    host = http["host"]
    if host in ("0.0.0.0", "::"):
        host = ray.util.get_node_ip_address()
    return f"http://[{host}]:{http['port']}" if ":" in host else f"http://{host}:{http['port']}"


def await_ready(url, wait_s):
    started, said = time.monotonic(), None
    calls = ServiceCalls(url)
    while True:
        try:
            why = calls.why_not_ready()
        except Unreachable as error:
            why = str(error)
            if time.monotonic() - started > PROXY_LIMIT_S:
                raise DeployError(f"the application runs, and {error}", "if Serve ran here before, it kept its own host "
                                  "and port: `serve shutdown` and deploy again, or name them by --host and --port") from error
        if why is None:
            return url
        if time.monotonic() - started > wait_s:
            raise DeployError(f"{url} is not ready after {wait_s:g} s: {why}", "`serve status`; --wait S waits longer")
        if why != said:
            say(f"{url}: {why}")
            said = why
        time.sleep(POLL_S)


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr)
    main(sys.argv[1:])
