"""The application for Modal: deployed with Modal's own library to a stand-in of its servers, and run here on the CPU.

docs/scale.md lists what cannot be tested without an account.
"""
import asyncio
import inspect
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import uvicorn
from end_to_end import program

from . import environments, modal_api

PYTHON = os.environ.get("KERNELWRIGHT_TEST_PYTHON", sys.executable)
# Read when the application is imported, here and in Modal's containers.
os.environ["KERNELWRIGHT_MODAL"] = json.dumps({"device": "cpu", "cpu": 2, "words": ["--python", PYTHON]})
sys.path.insert(0, str(program.ROOT / "python"))

import modal

import kernelwright
from kernelwright import modal_app
from kernelwright.client import Client, Refused
from kernelwright._fleet.calls import Unreachable
from kernelwright._fleet.front import application
from kernelwright._fleet.modal_backend import CHUNK, ModalBackend

KNOWN = ("benchmark_triton_kernel", "benchmark_kernelbench", "benchmark_batch")
EXAMPLES = program.ROOT / "examples"
PAIR = {"kernel_code": (EXAMPLES / "pair/scale_add_kernel.py").read_text(),
        "reference_code": (EXAMPLES / "pair/scale_add_reference.py").read_text(),
        "input_shapes": json.loads((EXAMPLES / "pair/scale_add_shapes.json").read_text())}
MODULE = {"triton_code": (EXAMPLES / "pair/kernel.py").read_text(),
          "pytorch_code": (EXAMPLES / "pair/reference.py").read_text()}
BROKEN_GPU = {"state": "done", "cause": None, "verdict": {
    "status": "error", "fault": "infrastructure", "error": "CUDA error: uncorrectable ECC error encountered"}}


# ---- deployed ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tree(tmp_path_factory, python):
    """The portable program, as `make dist` packs it."""
    folder = tmp_path_factory.mktemp("program")
    done = subprocess.run(["cmake", "--install", Path(program.binary()).parent, "--component", "program", "--prefix", folder],
                          capture_output=True, text=True, check=False, env={**os.environ, "KW_BUNDLED_FROM": python})
    assert done.returncode == 0, done.stderr
    return folder


def deploy(api, config, *words, python=sys.executable, **variables):
    """`kernelwright deploy modal` against the stand-in."""
    environment = {**os.environ, "HOME": str(config), "XDG_CONFIG_HOME": str(config), "MODAL_SERVER_URL": api.url,
                   "MODAL_TOKEN_ID": "ak-1", "MODAL_TOKEN_SECRET": "as-1", **variables}
    environment.pop("KERNELWRIGHT_MODAL")
    return subprocess.run([program.binary(), "deploy", "modal", "--python", python, *map(str, words)],
                          capture_output=True, text=True, check=False, timeout=60, env=environment)


@pytest.fixture(scope="module")
def deployed(tree, tmp_path_factory):
    """Its output, the requests to Modal, and the folder with settings."""
    config = tmp_path_factory.mktemp("config")
    with modal_api.ModalApi() as api:
        done = deploy(api, config, "--program", tree, "--containers", "1:3", "--", "--timeout", "60")
    assert done.returncode == 0, done.stderr
    return done, api, config


def functions(api):
    return {request.function.function_name: request.function for request in api.requests("FunctionCreate")}


def test_the_url_is_printed_and_kept(deployed):
    done, _, config = deployed
    assert done.stdout == "https://somebody--kernelbench-triton-service.modal.run\n"
    kept = json.loads((config / "kernelwright/evaluators.json").read_text())
    assert kept["modal"]["url"] == done.stdout.strip()


def test_the_gpu_is_the_very_one_that_was_asked_for(deployed):
    engine = functions(deployed[1])["Engine.*"]
    assert (engine.resources.gpu_config.gpu_type, engine.resources.gpu_config.count) == ("H100!", 1)


def test_what_runs_candidates_has_no_network_and_no_access_to_modal(deployed):
    engine = functions(deployed[1])["Engine.*"]
    assert engine.block_network and engine.untrusted


def test_one_input_at_a_time_and_what_breaks_is_tried_again(deployed):
    engine = functions(deployed[1])["Engine.*"]
    assert engine.max_concurrent_inputs in (0, 1) and engine.retry_policy.retries == 3
    assert (engine.autoscaler_settings.min_containers, engine.autoscaler_settings.max_containers) == (1, 3)


def test_only_the_engine_has_a_gpu(deployed):
    made = functions(deployed[1])
    assert set(made) == {*KNOWN, "evaluate", "service", "Engine.*"}
    assert [name for name, each in made.items() if each.resources.gpu_config.count] == ["Engine.*"]


def test_the_endpoint_asks_for_proxy_auth(deployed):
    service = functions(deployed[1])["service"]
    assert service.webhook_config.requires_proxy_auth and service.max_concurrent_inputs > 100


def test_the_application_has_the_known_name(deployed):
    assert {each.app_name for each in functions(deployed[1]).values()} == {"kernelbench-triton"}
    assert deployed[1].requests("AppPublish")[0].name == "kernelbench-triton"


@pytest.mark.parametrize("name", KNOWN)
def test_known_functions_have_their_signatures(deployed, name):
    known = [each for each in inspect.signature(getattr(kernelwright, name)).parameters.values()
             if each.kind is not each.KEYWORD_ONLY]
    ours = functions(deployed[1])[name].function_schema.arguments
    assert [(each.name, each.has_default) for each in ours] == [(each.name, each.default is not each.empty) for each in known]


def test_the_image_has_the_pins_of_the_gpu_machines(deployed):
    pins = dict(line.split("==") for line in (program.ROOT / "python/requirements.txt").read_text().split() if "==" in line)
    commands = "\n".join(line for request in deployed[1].requests("ImageGetOrCreate")
                         for line in request.image.dockerfile_commands)
    for package in ("torch", "triton", "numpy"):
        assert f"{package}=={pins[package]}" in commands
    peers = (program.ROOT / "python/requirements-peers.txt").read_text()
    assert modal_app.FRONT_PACKAGES[0] in peers, "the version that is tested here"


def test_the_image_has_the_program_whole(deployed):
    sent = {each.filename for request in deployed[1].requests("MountGetOrCreate") for each in request.files}
    for part in ("bin/kernelwright", "lib/libkwsandbox.so", "python/kernelwright/modal_app.py", "python/flatbuffers/table.py"):
        assert f"/opt/kernelwright/{part}" in sent


def test_words_reach_the_containers(deployed):
    commands = "\n".join(line for request in deployed[1].requests("ImageGetOrCreate")
                         for line in request.image.dockerfile_commands)
    assert "--timeout" in commands and "KERNELWRIGHT_MODAL" in commands


def test_the_package_modal_alone_is_enough_to_deploy(tree, tmp_path):
    python = environments.environment_of(tmp_path / "env", "modal")
    with modal_api.ModalApi() as api:
        done = deploy(api, tmp_path, "--program", tree, python=python)
    assert done.returncode == 0, done.stderr
    assert set(functions(api)) == {*KNOWN, "evaluate", "service", "Engine.*"}


def test_the_packages_of_its_image_are_enough_for_the_endpoint(tmp_path):
    python = environments.environment_of(tmp_path, "modal", *(each.partition("==")[0] for each in modal_app.FRONT_PACKAGES))
    done = subprocess.run([python, "-c", "from kernelwright import modal_app; print(modal_app.service.local())"],
                          capture_output=True, text=True, check=False, env={"PYTHONPATH": program.ROOT / "python"})
    assert done.returncode == 0 and "Starlette" in done.stdout, done.stderr


def test_a_token_that_modal_refuses_is_told_with_its_remedy(tree, tmp_path):
    with modal_api.ModalApi(refuses=True) as api:
        done = deploy(api, tmp_path, "--program", tree)
    assert done.returncode == 1 and not done.stdout
    assert "Token ID is malformed" in done.stderr and "modal token new" in done.stderr
    assert not (tmp_path / "kernelwright").exists()


def test_no_token_is_told_before_anything_is_sent(tree, tmp_path):
    with modal_api.ModalApi() as api:
        done = deploy(api, tmp_path, "--program", tree, MODAL_TOKEN_ID="", MODAL_TOKEN_SECRET="")
    assert done.returncode == 1 and "MODAL_TOKEN_ID" in done.stderr, done.stderr
    assert not api.requests("FunctionCreate")


def test_a_missing_package_is_told_with_the_command_that_installs_it(tmp_path, python):
    with modal_api.ModalApi() as api:
        done = deploy(api, tmp_path, python=python)
    if subprocess.run([python, "-c", "import modal"], capture_output=True, check=False).returncode != 0:
        assert done.returncode == 1 and f"{python} -m pip install 'modal==" in done.stderr


def test_a_dry_run_sends_nothing(tree, tmp_path):
    with modal_api.ModalApi() as api:
        done = deploy(api, tmp_path, "--program", tree, "--dry-run")
    assert done.returncode == 0 and not api.calls
    assert json.loads(done.stdout)["settings"]["gpu"] == "H100!"


# ---- run here ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def engine():
    """The program under test, found by the application."""
    os.environ["KERNELWRIGHT"] = program.binary()


def facts(verdict):
    names = ("status", "correctness", "error_class", "counts", "candidate_sha256", "kernel_name")
    return {name: verdict[name] for name in names}


def test_a_pair_gets_the_verdict_that_it_gets_here(engine):
    verdict = asyncio.run(modal_app.benchmark_triton_kernel.local(
        PAIR["kernel_code"], PAIR["reference_code"], PAIR["input_shapes"], n_correctness=2, kernel_name="scale_add"))
    here = kernelwright.benchmark_triton_kernel(
        PAIR["kernel_code"], PAIR["reference_code"], PAIR["input_shapes"], n_correctness=2, kernel_name="scale_add",
        options=("--device", "cpu", "--python", PYTHON))
    assert facts(verdict) == facts(here) and here["status"] == "correct"
    assert verdict["comparison"]["trials"] == 2
    assert verdict["environment"]["protocol"] == here["environment"]["protocol"]


def test_a_module_gets_its_verdict(engine):
    verdict = asyncio.run(modal_app.benchmark_kernelbench.local(**MODULE, n_correctness=2))
    assert (verdict["status"], verdict["counts"]) == ("correct", True), verdict["error"]


def test_a_batch_comes_back_in_its_order_with_its_own_fields(engine):
    kernels = [{**PAIR, "id": "right", "problem": 7, "n_correctness": 2},
               {**PAIR, "kernel_code": "def triton_kernel_wrapper(x): return x\n", "id": "wrong"},
               {**PAIR, "kernel_code": "def triton_kernel_wrapper(:\n"}]
    verdicts = asyncio.run(modal_app.benchmark_batch.local(kernels))
    assert [each["id"] for each in verdicts] == ["right", "wrong", "kernel-2"]
    assert verdicts[0]["status"] == "correct" and verdicts[0]["problem"] == 7
    assert verdicts[1]["status"] != "correct"
    assert verdicts[2]["error_class"] == "syntax_error"


def test_what_a_broken_gpu_judged_goes_to_another_container(monkeypatch):
    good = {"state": "done", "cause": None, "verdict": {"status": "correct", "fault": None, "error": None}}
    placed = []

    async def on_engine(evaluations):
        placed.append([each["id"] for each in evaluations])
        return [BROKEN_GPU if len(placed) == 1 and each["id"] == "b" else good for each in evaluations]

    monkeypatch.setattr(modal_app, "_on_engine", on_engine)
    states = asyncio.run(modal_app.evaluate.local([{"id": each} for each in "abc"]))
    assert placed == [["a", "b", "c"], ["b"]]
    assert [each["verdict"]["status"] for each in states] == ["correct"] * 3


def test_a_gpu_that_is_always_broken_ends_as_infrastructure(monkeypatch):
    async def on_engine(evaluations):
        return [BROKEN_GPU] * len(evaluations)

    monkeypatch.setattr(modal_app, "_on_engine", on_engine)
    [state] = asyncio.run(modal_app.evaluate.local([{"id": "a"}]))
    assert state["verdict"]["fault"] == "infrastructure"


class Judged:
    """Calls of a service that ends every evaluation in this state."""

    def __init__(self, ending):
        self._ending = ending

    def evaluate(self, _):
        if isinstance(self._ending, Exception):
            raise self._ending
        return self._ending


@pytest.fixture
def given_up(monkeypatch):
    found = []
    monkeypatch.setattr(modal_app, "_give_up_container", lambda: found.append(True))
    return found


def test_an_accelerator_error_gives_the_container_up(given_up):
    assert modal_app.evaluate_here(Judged(BROKEN_GPU), [{"id": "a"}]) == [BROKEN_GPU]
    assert given_up


@pytest.mark.parametrize("changes", [{"fault": "kernel"}, {"fault": "task"},
                                     {"error": "cannot write: No space left on device"}])
def test_nothing_else_gives_the_container_up(given_up, changes):
    state = {**BROKEN_GPU, "verdict": {**BROKEN_GPU["verdict"], **changes}}
    assert modal_app.evaluate_here(Judged(state), [{"id": "a"}]) == [state]
    assert not given_up


def test_a_service_that_is_gone_gives_the_container_up_and_is_for_modal_to_try_again(given_up):
    with pytest.raises(Unreachable):
        modal_app.evaluate_here(Judged(Unreachable("gone")), [{"id": "a"}])
    assert given_up


# ---- its endpoint --------------------------------------------------------------------------------------------


class Calls:
    """Function calls as Modal keeps them, in this process: started, found again by their ids, cancelled."""

    def __init__(self):
        self.known, self.started = {}, []

    async def start(self, evaluations):
        self.started.append([each["id"] for each in evaluations])
        return self._keep(modal_app.evaluate.local(evaluations))

    async def ask(self, name, *arguments):
        return self._keep(asyncio.to_thread(getattr(modal_app._local_engine(), name).local, *arguments))

    async def result(self, call):
        return await asyncio.shield(self.known[call])

    async def cancel(self, call):
        self.known[call].cancel()

    def _keep(self, work):
        call = f"fc-{len(self.known)}"
        self.known[call] = asyncio.ensure_future(work)
        return call


class Table(dict):
    """modal.Dict has this behaviour; its first answer stays."""

    async def get(self, key):
        return dict.get(self, key)

    async def put(self, key, value):
        self[key] = value

    async def put_new(self, key, value):
        is_new = key not in self
        self.setdefault(key, value)
        return is_new


@pytest.fixture(scope="module")
def endpoint(engine):
    """(URL, calls): the endpoint's application, behind a local server."""
    calls = Calls()
    server = uvicorn.Server(uvicorn.Config(application(ModalBackend(calls, Table(), "test", CHUNK)), host="127.0.0.1", port=0,
                                           log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", calls
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def client(endpoint):
    return Client(endpoint[0])


def asked(**changes):
    return {"reference_code": PAIR["reference_code"], "kernel_code": PAIR["kernel_code"], "input_shapes": PAIR["input_shapes"],
            "options": {"correctness_trials": 2}, **changes}


def test_the_endpoint_judges(client):
    evaluation = client.evaluate(asked())
    assert evaluation.correct, evaluation


def test_one_id_is_one_call_and_another_body_is_refused(client, endpoint):
    for _ in range(3):
        client.submit(asked(id="once"))
    assert sum(started.count("once") for started in endpoint[1].started) == 1
    with pytest.raises(Refused) as refused:
        client.submit(asked(id="once", kernel_code="pass"))
    assert refused.value.status == 409


def test_a_batch_shares_calls(client, endpoint):
    before = len(endpoint[1].started)
    evaluations = client.evaluate_many([asked(id=f"many-{number}") for number in range(CHUNK + 1)])
    assert all(each.correct for each in evaluations)
    assert len(endpoint[1].started) - before == 2


def test_what_the_service_refuses_is_cancelled_with_its_words(client):
    evaluation = client.evaluate(asked(options={"no_such_option": 1}))
    assert evaluation.state == "cancelled" and "no_such_option" in evaluation.cause


def test_a_cancelled_one_stays_so(client):
    # With an entry, or it is refused before it runs.
    name = client.submit(asked(kernel_code="import time\ntime.sleep(20)\n" + PAIR["kernel_code"]))
    assert client.cancel(name).state == "cancelled"
    assert client.get(name).state == "cancelled"


def test_the_modal_library_is_the_one_that_is_pinned():
    assert f"modal=={modal.__version__}\n" in (program.ROOT / "python/requirements-peers.txt").read_text()
