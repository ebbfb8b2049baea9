"""The service on Modal: the application `kernelbench-triton`. `kernelwright deploy modal` deploys it. docs/scale.md.

Engine has the GPU and runs untrusted code: no network, no access to Modal, one input at a time, which may hold several
evaluations. All other functions hold no GPU and run only this file; they place inputs on an Engine and wait. Thus one
pool of GPUs serves the three known functions and the HTTP endpoint alike, and no HTTP request has to last as long as a
verdict.

The deploying machine and every container import this file, so it imports the standard library and modal alone.
"""
import asyncio
import functools
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import modal
import modal.experimental

from .api import KERNEL_NAME, N_CORRECTNESS, N_TRIALS, N_WARMUP, TOLERANCE
from ._fleet.calls import Refused, Unreachable, as_answer, unjudged
from ._fleet.child import ServiceChild
from ._fleet.known_calls import blames_accelerator, evaluations_of, verdicts_of
from ._fleet.modal_backend import CHUNK, ModalBackend

APP = "kernelbench-triton"
ROOT = "/opt/kernelwright"
SETTINGS_VARIABLE = "KERNELWRIGHT_MODAL"  # read on the deploying machine and in the containers
TREE_VARIABLE = "KERNELWRIGHT_MODAL_TREE"  # the unpacked program, on the deploying machine
PYTHON = "3.12"
ENGINE_PACKAGES = ("torch==2.11.0", "triton==3.6.0", "numpy==2.3.5")
FRONT_PACKAGES = ("starlette==1.10.0",)
PLACES = 3  # of an evaluation whose GPU broke: each on a fresh container
ENGINE_LIMIT_S = 3600  # for one input, which holds at most CHUNK evaluations
FRONT_LIMIT_S = 4 * ENGINE_LIMIT_S


@dataclass
class Settings:
    device: str = "cuda"
    gpu: str = "H100!"  # the mark forbids other GPUs, which "H100" allows Modal to give
    cpu: float = 8
    memory_mb: int = 32768
    min_containers: int = 0
    max_containers: int = 4
    scaledown_window_s: int = 300
    words: list = field(default_factory=list)  # further arguments of `kernelwright serve`
    deployment: str = ""  # its name among several deployments of this application

    @property
    def serve_words(self):
        return ["--quiet", "--device", self.device, "--jobs", str(max(1, int(self.cpu))), *self.words]


SETTINGS = Settings(**json.loads(os.environ.get(SETTINGS_VARIABLE, "{}")))


def _image(packages, system=()):
    """Debian 12, for whose glibc the program is linked, with the program."""
    image = modal.Image.debian_slim(python_version=PYTHON)
    if system:
        image = image.apt_install(*system)
    image = image.uv_pip_install(*packages)
    if modal.is_local() and os.environ.get(TREE_VARIABLE):
        image = image.add_local_dir(os.environ[TREE_VARIABLE], ROOT, copy=True, ignore=["docs", "examples", "tests"])
    # Not PYTHONPATH: Modal uses that itself.
    return image.run_commands(f"python -c \"import site; open(site.getsitepackages()[0] + '/kernelwright.pth', 'w')"
                              f".write('{ROOT}/python')\"").env(
        {"KERNELWRIGHT": f"{ROOT}/bin/kernelwright", SETTINGS_VARIABLE: os.environ.get(SETTINGS_VARIABLE, "{}")})


app = modal.App(APP, include_source=False)
engine_image = _image(ENGINE_PACKAGES, ("gcc", "libc6-dev"))  # Triton compiles its launchers
front_image = _image(FRONT_PACKAGES)


@app.cls(image=engine_image, gpu=SETTINGS.gpu, cpu=SETTINGS.cpu, memory=SETTINGS.memory_mb,
         min_containers=SETTINGS.min_containers, max_containers=SETTINGS.max_containers,
         scaledown_window=SETTINGS.scaledown_window_s, timeout=ENGINE_LIMIT_S, startup_timeout=1200,
         retries=modal.Retries(max_retries=3, initial_delay=1.0, backoff_coefficient=2.0),
         block_network=True, restrict_modal_access=True)
class Engine:
    """A container with a GPU. Modal retries inputs without a result: containers that were taken away or broke."""

    @modal.enter()
    def start(self):
        self._service = ServiceChild(SETTINGS.serve_words)

    @modal.method()
    def evaluate(self, evaluations):
        """Their states when all are over."""
        return evaluate_here(self._service.calls, evaluations)

    @modal.method()
    def about(self):
        return self._service.calls.service()

    @modal.method()
    def protocol(self, options):
        try:
            return self._service.calls.protocol(options)
        except Refused as refused:
            return as_answer(refused)

    @modal.exit()
    def stop(self):
        self._service.close()


def evaluate_here(calls, evaluations):
    """Their states. A container whose GPU or service is broken accepts nothing afterwards."""
    def judged(evaluation):
        try:
            return calls.evaluate(evaluation)
        except Refused as refused:
            return unjudged(refused)

    with ThreadPoolExecutor(len(evaluations)) as threads:
        try:
            states = list(threads.map(judged, evaluations))
        except Unreachable:
            _give_up_container()
            raise
    if any(blames_accelerator(state) for state in states):
        _give_up_container()
    return states


_thin = {"image": front_image, "timeout": FRONT_LIMIT_S, "startup_timeout": 600}


@app.function(**_thin)
@modal.concurrent(max_inputs=100)
async def evaluate(evaluations):
    """The states of evaluations when they have ended."""
    return await _place_until_sound(evaluations)


@app.function(**_thin)
@modal.concurrent(max_inputs=100)
async def benchmark_triton_kernel(kernel_code, reference_torch_code, input_shapes, n_correctness=N_CORRECTNESS,
                                  n_trials=N_TRIALS, n_warmup=N_WARMUP, kernel_name=KERNEL_NAME, rtol=TOLERANCE,
                                  atol=TOLERANCE):
    """The verdict on a function pair: see kernelwright.benchmark_triton_kernel."""
    [verdict] = await _judge([{
        "kernel_code": kernel_code, "reference_code": reference_torch_code, "input_shapes": input_shapes,
        "kernel_name": kernel_name, "n_correctness": n_correctness, "n_trials": n_trials, "n_warmup": n_warmup,
        "rtol": rtol, "atol": atol}])
    return verdict


@app.function(**_thin)
@modal.concurrent(max_inputs=100)
async def benchmark_kernelbench(triton_code, pytorch_code, n_correctness=N_CORRECTNESS, n_trials=N_TRIALS,
                                kernel_name=KERNEL_NAME, entry_point=None, rtol=TOLERANCE, atol=TOLERANCE):
    """The verdict on a module: see kernelwright.benchmark_kernelbench."""
    [verdict] = await _judge([{
        "kernel_code": triton_code, "reference_code": pytorch_code, "kernel_name": kernel_name,
        "entry_point": entry_point, "n_correctness": n_correctness, "n_trials": n_trials, "rtol": rtol, "atol": atol}])
    return verdict


@app.function(**_thin)
@modal.concurrent(max_inputs=100)
async def benchmark_batch(kernels):
    """Verdicts on many kernels, in their order, over as many containers as the settings allow."""
    return await _judge(list(kernels))


@app.function(**_thin)
@modal.concurrent(max_inputs=1000)
@modal.asgi_app(requires_proxy_auth=True)
def service():
    from ._fleet.front import application as front  # needs starlette, which only the endpoint's image has

    table = modal.Dict.from_name("kernelwright-evaluations", create_if_missing=True)
    return front(ModalBackend(ModalCalls(), ModalTable(table), SETTINGS.deployment, SETTINGS.max_containers * CHUNK))


class ModalCalls:
    """Calls of this file's functions, by the ids that Modal gives them."""

    async def start(self, evaluations):
        return (await evaluate.spawn.aio(evaluations)).object_id

    async def ask(self, name, *arguments):
        return (await getattr(Engine(), name).spawn.aio(*arguments)).object_id

    async def result(self, call):
        return await modal.FunctionCall.from_id(call).get.aio()

    async def cancel(self, call):
        await modal.FunctionCall.from_id(call).cancel.aio()


class ModalTable:
    def __init__(self, shared):
        self._shared = shared

    async def get(self, key):
        return await self._shared.get.aio(key)

    async def put(self, key, value):
        await self._shared.put.aio(key, value)

    async def put_new(self, key, value):
        return await self._shared.put.aio(key, value, skip_if_exists=True)


async def _judge(kernels):
    evaluations = evaluations_of(kernels)
    chunks = [evaluations[begin:begin + CHUNK] for begin in range(0, len(evaluations), CHUNK)]
    states = await asyncio.gather(*(_place_until_sound(chunk) for chunk in chunks))
    return verdicts_of([state for each in states for state in each], kernels)


async def _place_until_sound(evaluations):
    """Evaluations whose GPU broke go to a fresh container; the verdict of the last container stands."""
    states = [None] * len(evaluations)
    places = list(range(len(evaluations)))
    for _ in range(PLACES):
        found = await _on_engine([evaluations[place] for place in places])
        for place, state in zip(places, found, strict=True):
            states[place] = state
        places = [place for place in places if blames_accelerator(states[place])]
        if not places:
            break
    return states


@functools.cache
def _local_engine():
    return Engine()


async def _on_engine(evaluations):
    if modal.is_local():
        return await asyncio.to_thread(_local_engine().evaluate.local, evaluations)
    return await Engine().evaluate.remote.aio(evaluations)


def _give_up_container():
    if not modal.is_local():
        modal.experimental.stop_fetching_inputs()
