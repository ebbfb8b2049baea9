"""The common parts of Ray's and Modal's applications: placing evaluations over replicas that die, and the endpoint."""
import asyncio
import sys
import time

import pytest
from end_to_end import program
from starlette.testclient import TestClient

sys.path.insert(0, str(program.ROOT / "python"))

from kernelwright._fleet import dispatch
from kernelwright._fleet.dispatch import Dispatcher, ReplicaLost, Saturated
from kernelwright._fleet.front import ApiError, application
from kernelwright._fleet.known_calls import evaluations_of

DONE = {"state": "done", "verdict": {"status": "correct"}, "cause": None}
ONE = {"id": "a", "reference_code": "r", "kernel_code": "k"}
ABOUT = {"width": 4, "protocol": "p"}


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(dispatch, "BACKOFF_S", 0.001)


class Replicas:
    """The outcome of each evaluation in turn: an exception, a state, or an event to wait for."""

    def __init__(self, *endings):
        self.endings, self.placed = list(endings), []

    async def __call__(self, evaluation):
        self.placed.append(evaluation)
        ending = self.endings.pop(0) if self.endings else DONE
        if isinstance(ending, Exception):
            raise ending
        if isinstance(ending, asyncio.Event):
            await ending.wait()
            return DONE
        return ending


def dispatcher(place):
    return Dispatcher(place, None, None)


async def ending(over, name="a"):
    return await over.wait(name, time.monotonic() + 5)


def run(work):
    return asyncio.run(work)


def test_what_a_replica_took_along_is_placed_again_under_the_same_id():
    async def work():
        replicas = Replicas(ReplicaLost("gone"), {"state": "cancelled", "verdict": None, "cause": "gone", "again": True})
        over = dispatcher(replicas)
        await over.submit([ONE])
        state = await ending(over)
        assert (state["id"], state["state"], state["verdict"]) == ("a", "done", DONE["verdict"])
        assert len(replicas.placed) == 3 and len({each["id"] for each in replicas.placed}) == 1
    run(work())


def test_an_evaluation_that_takes_every_replica_along_ends():
    async def work():
        replicas = Replicas(*[ReplicaLost("the node is gone")] * 100)
        over = dispatcher(replicas)
        await over.submit([ONE])
        state = await ending(over)
        assert state["state"] == "cancelled" and "the node is gone" in state["cause"]
        assert len(replicas.placed) == dispatch.TRIES
    run(work())


def test_a_verdict_that_blames_a_gpu_stands_only_where_no_replica_does_better():
    broken = {"state": "done", "cause": None, "verdict": {"fault": "infrastructure"}, "again": True}

    async def work(endings):
        over = dispatcher(Replicas(*[dict(each) for each in endings]))
        await over.submit([ONE])
        return (await ending(over))["verdict"]
    assert run(work([broken, DONE])) == DONE["verdict"]
    assert run(work([broken] * dispatch.TRIES)) == broken["verdict"]


def test_waiting_for_room_is_no_loss():
    async def work():
        over = dispatcher(Replicas(*[Saturated()] * (3 * dispatch.TRIES)))
        await over.submit([ONE])
        assert (await ending(over))["state"] == "done"
    run(work())


def test_one_id_is_placed_once_and_another_body_is_refused():
    async def work():
        replicas = Replicas(asyncio.Event())
        over = dispatcher(replicas)
        assert [new for _, new in await over.submit([ONE])] == [True]
        assert [new for _, new in await over.submit([dict(reversed(ONE.items()))])] == [False]
        with pytest.raises(ApiError) as refused:
            await over.submit([{**ONE, "id": "b"}, {**ONE, "kernel_code": "other"}])
        assert refused.value.status == 409
        assert await over.wait("b", time.monotonic()) is None, "all or none"
        await asyncio.sleep(0.01)
        assert len(replicas.placed) == 1
        replicas.endings.clear()
    run(work())


def test_the_order_of_the_shapes_is_part_of_an_evaluation():
    shapes = {"a": {"shape": [1]}, "b": {"shape": [2]}}

    async def work():
        over = dispatcher(Replicas())
        await over.submit([{**ONE, "input_shapes": shapes}])
        with pytest.raises(ApiError) as refused:
            await over.submit([{**ONE, "input_shapes": dict(reversed(shapes.items()))}])
        assert refused.value.status == 409
        await ending(over)
    run(work())


def test_once_fetched_the_same_id_is_a_new_evaluation():
    async def work():
        replicas = Replicas()
        over = dispatcher(replicas)
        for _ in range(2):
            assert [new for _, new in await over.submit([ONE])] == [True]
            await ending(over)
        assert len({each["id"] for each in replicas.placed}) == 2
    run(work())


def test_a_cancelled_one_is_taken_from_its_replica_and_stays_cancelled():
    async def work():
        gone = asyncio.Event()

        async def place(_):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                gone.set()
                raise

        over = dispatcher(place)
        await over.submit([ONE])
        await asyncio.sleep(0.01)
        assert (await over.cancel("a"))["state"] == "cancelled"
        await asyncio.wait_for(gone.wait(), 5)
        assert (await ending(over))["state"] == "cancelled"
    run(work())


class Backend(Dispatcher):
    def __init__(self, place):
        super().__init__(place, self._about, None)

    async def _about(self):
        return ABOUT


@pytest.fixture
def endpoint():
    with TestClient(application(Backend(Replicas()), key="secret"), headers={"Authorization": "Bearer secret"}) as client:
        yield client


def test_the_endpoint_takes_polls_and_forgets_nothing(endpoint):
    assert endpoint.post("/v1/evaluations", json=ONE).status_code == 202
    polled = endpoint.post("/v1/evaluations/poll", json={"ids": ["a", "nobody's"], "wait_s": 5}).json()["evaluations"]
    assert {"id": "nobody's", "state": "unknown"} in polled
    found = endpoint.get("/v1/evaluations/a?wait_s=5").json()
    assert (found["state"], found["verdict"]) == ("done", DONE["verdict"])


@pytest.mark.parametrize("method, path, body, status", [
    ("POST", "/v1/evaluations", {"kernel_code": "k"}, 400),
    ("POST", "/v1/evaluations", [], 400),
    ("POST", "/v1/evaluations/batch", {"evaluations": [ONE, {**ONE, "kernel_code": 3}]}, 400),
    ("POST", "/v1/evaluations/poll", {"ids": ["a"], "wait_s": 61}, 400),
    ("GET", "/v1/evaluations/nobody's", None, 404),
    ("DELETE", "/v1/evaluations/nobody's", None, 404),
    ("GET", "/v1/nowhere", None, 404),
    ("PUT", "/v1/evaluations", ONE, 405),
])
def test_what_is_wrong_is_said_in_the_contract_s_words(endpoint, method, path, body, status):
    answer = endpoint.request(method, path, json=body)
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"class", "message", "field"}


def test_the_one_to_blame_in_a_batch_is_named(endpoint):
    answer = endpoint.post("/v1/evaluations/batch", json={"evaluations": [ONE, {"reference_code": "r"}]})
    assert answer.json()["error"]["field"] == "evaluations[1].kernel_code"
    assert endpoint.get("/v1/evaluations/a").status_code == 404, "all or none"


@pytest.mark.parametrize("given", ["", "Bearer other", "secret"])
def test_without_the_key_only_health_answers(endpoint, given):
    headers = {"Authorization": given}
    assert endpoint.get("/v1/service").json()["width"] == ABOUT["width"]
    assert endpoint.get("/v1/service", headers=headers).status_code == 401
    assert endpoint.get("/health", headers=headers).status_code == 200


def test_known_parameters_become_a_request_of_the_service():
    [made] = evaluations_of([{"triton_code": "k", "pytorch_code": "r", "n_trials": 7, "problem": 3}])
    assert made["options"] == {"correctness_trials": 5, "timing_trials": 7, "tolerance": {"rtol": 1e-4, "atol": 1e-4}}
    assert (made["kernel_code"], made["reference_code"], made["problem"]) == ("k", "r", 3)
    assert made["kernel_name"] == "generated_kernel"


@pytest.mark.parametrize("kernel", [{"triton_code": "k"}, {"kernel_code": "k", "reference_code": "r", "n_trials": 0}])
def test_parameters_that_make_no_sense_are_refused_before_a_gpu_is_taken(kernel):
    with pytest.raises(ValueError):
        evaluations_of([kernel])
