"""The client against a service that fails on request. tests/end_to_end tests it against the real one."""
import asyncio
import json
import os
import pickle
import time
import traceback

import pytest
from fake_service import FakeService

from kernelwright.client import Client, Refused, ServiceError, Unreachable, evaluator_url


@pytest.fixture
def service(monkeypatch):
    for name in ("KERNELWRIGHT_EVALUATOR", "KERNELWRIGHT_EVALUATOR_KEY", "MODAL_KEY", "MODAL_SECRET"):
        monkeypatch.delenv(name, raising=False)
    running = FakeService()
    yield running
    running.close()


@pytest.fixture
def evaluator(service):
    return Client(service.url, patience_s=5)


def asked(count):
    return [{"id": f"e{number}", "reference_code": "r", "kernel_code": f"k{number}"} for number in range(count)]


def until(holds, seconds=5):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_the_former_name_of_the_client_stays():
    import kernelwright
    assert kernelwright.Evaluator is kernelwright.Client is Client


def test_an_evaluation_is_submitted_and_waited_for(evaluator, service):
    found = evaluator.evaluate(reference_code="r", kernel_code="k", entry_point=None)
    assert (found.state, found.correct, found.speedup) == ("done", True, 2.0)
    assert "entry_point" not in service.bodies[0]


@pytest.mark.parametrize("trouble", ["cut", 503, 429, 502])
def test_what_may_pass_is_asked_again_under_the_same_id(evaluator, service, trouble):
    service.troubles = [("/v1/evaluations", trouble), ("/v1/evaluations", trouble)]
    found = evaluator.evaluate(reference_code="r", kernel_code="k")
    assert service.ids() == [found.id] * 3


def test_a_service_says_how_long_it_is_to_be_left_alone(evaluator, service):
    service.troubles = [("/v1/evaluations", 503, [("Retry-After", "1")])]
    began = time.monotonic()
    evaluator.submit(reference_code="r", kernel_code="k")
    assert time.monotonic() - began >= 1


def test_a_broken_wait_is_taken_up_again(evaluator, service):
    service.troubles = [("/mine", "cut"), ("/mine", "cut")]
    assert evaluator.evaluate(id="mine", reference_code="r", kernel_code="k").state == "done"
    assert service.ids() == ["mine"]


def test_a_service_that_has_lost_it_is_told_again(evaluator, service):
    service.troubles = [("/mine", 404)]
    assert evaluator.evaluate(id="mine", reference_code="r", kernel_code="k").state == "done"
    assert service.ids() == ["mine", "mine"]


@pytest.mark.parametrize("status", [400, 401, 409, 413])
def test_a_refusal_is_told_at_once(evaluator, service, status):
    service.troubles = [("/v1/evaluations", status)]
    with pytest.raises(Refused, match=f"told to answer {status}") as refused:
        evaluator.evaluate(reference_code="r", kernel_code="k")
    assert (refused.value.status, refused.value.error_class, refused.value.field) == (status, "told_to", "kernel_code")
    assert "HTTPError" not in "".join(traceback.format_exception(refused.value))
    assert len(service.calls) == 1


def test_patience_has_an_end(service):
    service.close()
    began = time.monotonic()
    with pytest.raises(Unreachable, match="0.5 s"):
        Client(service.url, patience_s=0.5).evaluate(reference_code="r", kernel_code="k")
    assert time.monotonic() - began < 3


def test_what_answers_may_be_something_else(service, evaluator):
    service._answer = lambda *_: (200, ["no", "object"])
    with pytest.raises(Unreachable, match="evaluation service"):
        Client(service.url, patience_s=0).service()
    assert not evaluator.ready()


def test_many_come_back_in_their_order(evaluator, service):
    service.max_batch = 7
    service.holding = {"e3"}
    found = []
    for number, evaluation in evaluator.as_completed(asked(20)):
        found.append(number)
        assert evaluation.id == f"e{number}"
        if len(found) == 19:
            service.holding.clear()
    assert sorted(found) == list(range(20)) and found[-1] == 3
    assert [each.id for each in evaluator.evaluate_many(asked(20))] == [f"e{number}" for number in range(20)]


def test_more_than_there_is_room_for_goes_in_smaller_parts(evaluator, service):
    service.room = 3
    assert len(evaluator.evaluate_many(asked(20))) == 20
    sizes = [len(body["evaluations"]) for call, body in zip(service.calls, service.bodies) if call[1].endswith("batch")]
    assert sizes[0] == 20 and min(sizes) <= 3


def test_a_body_is_no_larger_than_the_service_takes(evaluator, service):
    requests = [{**each, "kernel_code": "x" * 300_000} for each in asked(10)]
    assert len(evaluator.evaluate_many(requests)) == 10
    sizes = [len(json.dumps(body)) for body in service.bodies]
    assert max(sizes) <= 1 << 20


def test_equal_ids_are_one_evaluation(evaluator, service):
    found = evaluator.evaluate_many([*asked(1), *asked(1)])
    assert [each.id for each in found] == ["e0", "e0"]
    assert sum(len(body["evaluations"]) for call, body in zip(service.calls, service.bodies) if call[1].endswith("batch")) == 1


def test_a_batch_that_is_lost_is_told_again(evaluator, service):
    service.holding = {"e0", "e1"}
    ended = evaluator.as_completed(asked(3))
    assert next(ended)[0] == 2
    service.forget()
    service.holding.clear()
    assert sorted(number for number, _ in ended) == [0, 1]


def test_a_service_that_keeps_nothing_is_not_asked_for_ever(evaluator, service):
    service._record = lambda evaluation_id: {"id": evaluation_id, "state": "unknown"}
    with pytest.raises(ServiceError, match="forgotten e0"):
        evaluator.evaluate_many(asked(1))
    service.troubles = [("/mine", 404)] * 20
    with pytest.raises(ServiceError, match="forgotten mine"):
        evaluator.evaluate(id="mine", reference_code="r", kernel_code="k")


def test_a_bad_one_of_many_is_named_by_its_number(evaluator, service):
    service.max_batch = 4
    requests = asked(10)
    requests[6]["kernel_code"] = ""
    with pytest.raises(Refused) as refused:
        evaluator.evaluate_many(requests)
    assert refused.value.field == "requests[6].kernel_code"
    assert str(refused.value) == "requests[6]: kernel_code is empty"


def test_what_was_begun_is_cancelled_when_nobody_wants_it(evaluator, service):
    service.holding = {"e0", "e1"}
    ended = evaluator.as_completed(asked(3))
    next(ended)
    ended.close()
    assert [call for call in service.calls if call[0] == "DELETE"] == [
        ("DELETE", "/v1/evaluations/e0"), ("DELETE", "/v1/evaluations/e1")]


def test_the_async_methods_leave_the_loop_free(evaluator, service):
    service.holding = {"e0"}

    async def both():
        waiting = asyncio.create_task(evaluator.evaluate_many_async(asked(1)))
        one = await evaluator.evaluate_async(reference_code="r", kernel_code="k")
        assert not waiting.done()
        service.holding.clear()
        return one, await waiting

    one, many = asyncio.run(both())
    assert one.state == "done" and [each.id for each in many] == ["e0"]


def test_errors_reach_whoever_awaits(evaluator, service):
    service.troubles = [("/v1/evaluations", 400)]
    with pytest.raises(Refused):
        asyncio.run(evaluator.evaluate_async(reference_code="r", kernel_code="k"))


def test_a_task_that_is_cancelled_cancels_its_evaluation(evaluator, service):
    service.holding = {"mine"}

    async def give_up():
        task = asyncio.create_task(evaluator.evaluate_async(id="mine", reference_code="r", kernel_code="k"))
        while not service.known:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    until(lambda: ("DELETE", "/v1/evaluations/mine") in service.calls)


def test_the_sync_methods_work_within_a_loop(evaluator):
    async def within():
        return evaluator.evaluate_many(asked(2))
    assert len(asyncio.run(within())) == 2


def test_the_key_goes_along(service, monkeypatch):
    monkeypatch.setenv("KERNELWRIGHT_EVALUATOR_KEY", "from the environment")
    for given, expected in (("mine", "Bearer mine"), (None, "Bearer from the environment")):
        Client(service.url, given).service()
        assert service.headers[-1]["Authorization"] == expected


def test_the_key_goes_nowhere_else(service):
    other = FakeService()
    try:
        service.troubles = [("/v1/service", 307, [("Location", f"{other.url}/v1/service")])]
        with pytest.raises(Refused, match="redirects to"):
            Client(service.url, "secret").service()
        assert other.calls == []
    finally:
        other.close()


def test_loopback_is_behind_no_proxy(service, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert Client(service.url, patience_s=0).service()


def test_ids_may_hold_anything(evaluator, service):
    evaluator.cancel("a/b c?d")
    assert service.calls[-1] == ("DELETE", "/v1/evaluations/a%2Fb%20c%3Fd")


def test_numbers_that_json_does_not_know_are_refused_here(evaluator, service):
    with pytest.raises(ValueError, match="deadline_s"):
        evaluator.submit(reference_code="r", kernel_code="k", deadline_s=float("nan"))
    assert service.calls == []


@pytest.mark.parametrize("value, error, words", [
    ("x = '\ud800'", Refused, "contains half a surrogate pair, '\\\\ud800', at character 5"),
    (b"k", TypeError, "is of the type bytes"),
    ({"a": [1, "\udfff"]}, Refused, "half a surrogate pair"),
])
def test_what_json_cannot_hold_is_named_by_number_and_field(evaluator, service, value, error, words):
    requests = asked(5)
    requests[3]["kernel_code"] = value
    with pytest.raises(error, match=r"requests\[3\]: kernel_code.*" + words):
        evaluator.evaluate_many(requests)
    assert service.calls == []


def test_a_request_that_is_no_mapping_is_named(evaluator):
    with pytest.raises(TypeError, match=r"requests\[1\] is of the type str"):
        evaluator.evaluate_many([*asked(1), "code"])


def deleted(service):
    return [call[1].rpartition("/")[2] for call in service.calls if call[0] == "DELETE"]


def test_the_end_of_with_cancels_what_nobody_waited_for(evaluator, service):
    service.holding = {"left", "e1"}
    with evaluator as client:
        assert client is evaluator
        client.submit(id="left", reference_code="r", kernel_code="k")
        client.submit(id="seen", reference_code="r", kernel_code="k")
        assert client.get("seen", 1).over
        client.evaluate(id="waited", reference_code="r", kernel_code="k")
        ended = client.as_completed(asked(2))
        next(ended)
    assert deleted(service) == ["left", "e1"]
    with pytest.raises(ServiceError, match="closed"):
        evaluator.ready() or evaluator.submit(reference_code="r", kernel_code="k")


def test_an_error_within_with_cancels_and_comes_through(evaluator, service):
    service.holding = {"left"}
    with pytest.raises(KeyError), evaluator:
        evaluator.submit(id="left", reference_code="r", kernel_code="k")
        raise KeyError
    assert deleted(service) == ["left"]
    evaluator.close()
    assert deleted(service) == ["left"]


def test_without_with_nothing_is_cancelled(evaluator, service):
    evaluator.submit(id="left", reference_code="r", kernel_code="k")
    evaluator.close()
    assert deleted(service) == []


def test_a_service_that_is_gone_does_not_hold_the_end_of_with_up():
    gone = FakeService()
    client = Client(gone.url, patience_s=60).__enter__()
    client.submit(reference_code="r", kernel_code="k")
    gone.close()
    began = time.monotonic()
    client.close()
    assert time.monotonic() - began < 30


def test_a_verdict_of_the_client_is_the_one_type(evaluator, service):
    import kernelwright
    found = evaluator.evaluate(id="mine", reference_code="r", kernel_code="k")
    plain = {"id": "mine", "status": "correct", "counts": True, "speedup": 2.0}
    assert type(found.verdict) is kernelwright.Verdict and found.verdict == plain
    assert (found.verdict.correct, found.verdict.speedup, found.verdict.error) == (True, 2.0, None)
    assert found.verdict.judged["reference_code"] == "r"
    assert json.loads(json.dumps(found.verdict)) == plain
    assert pickle.loads(pickle.dumps(found)) == found
    assert [type(each.verdict) for each in evaluator.evaluate_many(asked(2))] == [kernelwright.Verdict] * 2


def test_it_goes_to_other_processes(evaluator):
    assert pickle.loads(pickle.dumps(evaluator)).evaluate(reference_code="r", kernel_code="k").state == "done"


def test_evaluators_have_names(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("KERNELWRIGHT_EVALUATOR", raising=False)
    os.mkdir(tmp_path / "kernelwright")
    (tmp_path / "kernelwright" / "evaluators.json").write_text('{"modal": {"url": "https://x.modal.run/"}}')
    assert evaluator_url("modal") == "https://x.modal.run"
    assert evaluator_url("http://h:1/") == "http://h:1"
    with pytest.raises(ServiceError, match="deploy"):
        evaluator_url("ray")
    with pytest.raises(ServiceError, match="KERNELWRIGHT_EVALUATOR"):
        evaluator_url()
    monkeypatch.setenv("KERNELWRIGHT_EVALUATOR", "modal")
    assert Client().url == "https://x.modal.run"
