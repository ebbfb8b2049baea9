"""The service on a Ray cluster: one replica for each GPU, each with its own `kernelwright serve`, and an ingress.

kernelwright deploy ray                      or, in a Serve config file:
import_path: kernelwright.ray_app:application

Clients talk to the Ingress, which forwards each request to a service that judges nothing itself: it has the store, the
order, deadlines and ids, and its verifier is the Dispatcher here, which places evaluations on replicas and places them
again when a replica dies. So the API equals that of a single service. docs/scale.md.
"""
import asyncio
import logging
import os
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields

import uvicorn
from ray import serve
from ray.exceptions import RayActorError, RayError, RayTaskError
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError, ReplicaUnavailableError

from ._fleet.calls import Refused, Unreachable, as_answer, unjudged
from ._fleet.child import ServiceChild, ServiceFailed
from ._fleet.dispatch import Dispatcher, ReplicaLost, Saturated
from ._fleet.evaluations import ApiError
from ._fleet.front import application as front
from ._fleet.known_calls import blames_accelerator
from ._fleet.relay import Relay, unavailable

APP = "kernelwright"
HEAD_RESOURCE = "node:__internal_head__"  # Ray's name for the node whose disk has the store
JOBS_MAX = 12  # of one GPU: the program's own limit
AT_HAND = 2  # evaluations that wait in a replica, so that its place is never empty while the next is on its way
ABOUT_LIMIT_S = 20
log = logging.getLogger("ray.serve")


@dataclass
class Settings:
    """The settings of `application`: the arguments of `deploy ray`, or args of a Serve config file."""

    device: str = "cuda"
    min_replicas: int = 1
    max_replicas: int = 1
    gpus: float = 1  # of a replica: whole or logical
    cpus: float = 8  # likewise
    words: list = field(default_factory=list)  # further arguments of each replica's `kernelwright serve`
    ingress_words: list = field(default_factory=list)  # further arguments of the ingress's service
    store: str = "~/.local/state/kernelwright/ray.db"  # on the head node
    api_key_file: str = ""  # on the head node; empty: every client that reaches the ingress may ask
    upscale_delay_s: float = 5
    downscale_delay_s: float = 300
    look_back_period_s: float = 15  # more than the interval at which Serve measures
    drain_s: float = 600  # of a replica that is scaled away

    @property
    def jobs(self):
        """Candidates at once in one replica, as --jobs."""
        return max(1, min(JOBS_MAX, int(self.cpus)))

    @property
    def width(self):
        """Evaluations at once in one replica: on a GPU one half prepares while the other is measured."""
        return self.jobs if self.device == "cpu" else self.jobs * 2


class EngineReplica:
    """A replica: one GPU, one service. It ends with its service."""

    def __init__(self, settings):
        words = ["--quiet", "--device", settings.device, "--jobs", str(settings.jobs), *settings.words]
        self._service = ServiceChild(words)
        self._threads = ThreadPoolExecutor(settings.width + 4)
        self._closing = False
        threading.Thread(target=self._end_with_service, daemon=True).start()

    async def evaluate(self, evaluation):
        """The evaluation's state when it has ended."""
        calls = self._service.calls
        try:
            state = await self._call(calls.evaluate, evaluation)
            return {**state, "again": True} if blames_accelerator(state) else state
        except asyncio.CancelledError:
            self._threads.submit(calls.cancel, evaluation["id"])
            raise
        except Refused as refused:
            return unjudged(refused)
        except Unreachable as error:
            return {"state": "cancelled", "verdict": None, "cause": str(error), "again": True}

    async def about(self):
        return await self._call(self._service.calls.service)

    async def protocol(self, options):
        """The answer, or the service's error."""
        try:
            return await self._call(self._service.calls.protocol, options)
        except Refused as refused:
            return as_answer(refused)

    async def check_health(self):
        if why := await self._call(self._service.why_unhealthy):
            raise RuntimeError(why)

    def __del__(self):
        self._closing = True
        self._service.close()

    async def _call(self, function, *arguments):
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    def _end_with_service(self):
        self._service.wait()
        if not self._closing:
            log.error("the service of this replica is gone: %s", self._service.why_unhealthy())
            os._exit(1)  # at once, so that Ray places its evaluations elsewhere


class Ingress:
    """The ingress: a service with a store, whose verifier is the replicas."""

    async def __init__(self, evaluator, settings):
        self._settings, self._relay, self._service = settings, Relay(), None
        self._replicas = Replicas(evaluator, settings)
        key = secrets.token_urlsafe(24)
        dispatcher = Dispatcher(self._replicas.place, self._replicas.about, self._replicas.protocol)
        url = await _listen(front(dispatcher, key))
        self._closing = False
        threading.Thread(target=self._keep_service, args=(url, key), daemon=True).start()

    async def __call__(self, request):
        service = self._service
        return await self._relay.send(service.url, request) if service else unavailable(request, "it is starting")

    def __del__(self):
        self._closing = True
        if self._service:
            self._service.close()

    def _keep_service(self, url, key):
        """Starts the service again when it ends; its store keeps the unfinished evaluations."""
        # The same arguments, because this service states how each evaluation is judged.
        words = ["--evaluator", url, *self._settings.words, *self._settings.ingress_words]
        if self._settings.api_key_file:
            words += ["--api-key-file", self._settings.api_key_file]
        store = os.path.expanduser(self._settings.store)
        os.makedirs(os.path.dirname(store), exist_ok=True)
        while not self._closing:
            try:
                self._service = ServiceChild(words, store=store, key="", ready=False,
                                             environment={"KERNELWRIGHT_EVALUATOR_KEY": key})
                self._service.wait()
            except ServiceFailed as error:
                log.error("the service in front: %s", error)
            self._service = None
            time.sleep(1)


class Replicas:
    """Calls any replica, through the dispatcher's interface."""

    def __init__(self, evaluator, settings):
        self._evaluator, self._settings, self._about = evaluator, settings, None

    async def place(self, evaluation):
        response = self._evaluator.evaluate.remote(evaluation)
        try:
            return await response
        except asyncio.CancelledError:
            response.cancel()
            raise
        except BackPressureError as error:
            raise Saturated from error
        except (RayActorError, RayTaskError, ReplicaUnavailableError, DeploymentUnavailableError) as error:
            raise ReplicaLost(str(error).splitlines()[0]) from error

    async def about(self):
        """The description of one replica, with the width of all possible ones: waiting evaluations make Ray start more."""
        if self._about is None:
            found = await self._ask(self._evaluator.about.remote())
            self._about = {**found, "width": (found["width"] + AT_HAND) * self._settings.max_replicas}
        return self._about

    async def protocol(self, options):
        found = await self._ask(self._evaluator.protocol.remote(options))
        if "error" in found:
            error = found["error"]
            raise ApiError(found["status"], error["class"], error["message"], error["field"])
        return found

    async def _ask(self, response):
        try:
            return await asyncio.wait_for(response, ABOUT_LIMIT_S)
        except (TimeoutError, RayError, BackPressureError, ReplicaUnavailableError, DeploymentUnavailableError) as error:
            raise ApiError(503, "unavailable", f"no replica is ready: {error}", retry_after_s=5) from error


def application(args):
    """The Serve application, from a dict with fields of Settings."""
    unknown = set(args) - {each.name for each in fields(Settings)}
    if unknown:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}; there are {[each.name for each in fields(Settings)]}")
    settings = Settings(**args)
    evaluator = serve.deployment(
        EngineReplica, name="EngineReplica",
        ray_actor_options={"num_gpus": settings.gpus, "num_cpus": settings.cpus},
        max_ongoing_requests=settings.width + AT_HAND,
        max_queued_requests=settings.width * settings.max_replicas * 4,
        autoscaling_config={"min_replicas": settings.min_replicas, "max_replicas": settings.max_replicas,
                            "target_ongoing_requests": settings.width, "upscale_delay_s": settings.upscale_delay_s,
                            "downscale_delay_s": settings.downscale_delay_s,
                            "look_back_period_s": settings.look_back_period_s},
        health_check_period_s=10, health_check_timeout_s=30, graceful_shutdown_timeout_s=settings.drain_s)
    ingress = serve.deployment(
        Ingress, name="Ingress", num_replicas=1,
        ray_actor_options={"num_cpus": 0, "resources": {HEAD_RESOURCE: 0.001}},
        max_ongoing_requests=10_000, max_queued_requests=10_000, graceful_shutdown_timeout_s=20)
    return ingress.bind(evaluator.bind(settings), settings)


async def _listen(app):
    """Serves the application on a free port of loopback, in this loop; returns its URL."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", lifespan="off"))
    server.install_signal_handlers = lambda: None
    task = asyncio.create_task(server.serve())
    while not server.started:
        if task.done():
            task.result()
        await asyncio.sleep(0.01)
    server.kept = task  # the loop itself keeps no reference to the task
    port = server.servers[0].sockets[0].getsockname()[1]
    return f"http://127.0.0.1:{port}"
