"""The Python client with a real service behind it."""
import asyncio
import sys
import threading

import pytest

from . import program

sys.path.insert(0, str(program.ROOT / "python"))

from kernelwright.client import Client, Refused  # noqa: E402

from .served import KEY, Served  # noqa: E402

PAIR = program.ROOT / "examples" / "pair"
REFERENCE, KERNEL = ((PAIR / name).read_text(encoding="utf-8") for name in ("reference.py", "kernel.py"))


def numbered(number, **fields):
    """Distinct right kernels, so that each is judged."""
    return {"id": f"e{number}", "reference_code": REFERENCE, "kernel_code": f"{KERNEL}\n# {number}\n", **fields}


@pytest.fixture(scope="module")
def service(scratch):
    folder = scratch / "client"
    folder.mkdir()
    with Served(folder) as running:
        yield running.ready()


@pytest.fixture
def evaluator(service):
    return Client(service.url, KEY)


def test_one_verdict(evaluator):
    found = evaluator.evaluate(reference_code=REFERENCE, kernel_code=KERNEL, kernel_name="mine", note="carried along",
                               options={"correctness_trials": 2}, reward={"base": 0.5})
    assert (found.state, found.correct, found.reward) == ("done", True, 0.5), found
    assert found.verdict["kernel_name"] == "mine" and found.verdict["note"] == "carried along"
    assert found.verdict["comparison"]["trials"] == 2
    assert found.verdict["environment"]["protocol"] == evaluator.protocol({"correctness_trials": 2}) != evaluator.protocol()
    assert found.submitted_at <= found.started_at <= found.finished_at


def test_a_completion_without_code_has_its_verdict(evaluator):
    found = evaluator.evaluate(reference_code=REFERENCE, completion="I cannot do that.", reward={})
    assert (found.verdict["error_class"], found.reward) == ("missing_entry", 0.0)


def test_many_and_async_ones(evaluator):
    wrong = {**numbered(2), "kernel_code": KERNEL.replace("x + y", "x - y").replace("+", "-")}
    found = evaluator.evaluate_many([numbered(1), wrong, numbered(1)])
    assert [each.correct for each in found] == [True, False, True] and found[0].id == found[2].id == "e1"
    assert asyncio.run(evaluator.evaluate_async(numbered(1))).verdict == found[0].verdict


def test_an_id_is_one_request(evaluator):
    evaluator.submit(numbered(3))
    assert evaluator.submit(numbered(3)) == "e3"
    with pytest.raises(Refused) as refused:
        evaluator.submit({**numbered(3), "kernel_name": "another"})
    assert refused.value.status == 409


def test_a_bad_one_of_many_is_named(evaluator):
    with pytest.raises(Refused) as refused:
        evaluator.evaluate_many([numbered(4), numbered(5, options={"no_such": 1})])
    assert refused.value.field == "requests[1].options.no_such"


def test_what_is_cancelled_says_so(evaluator):
    slow = f"import time\ntime.sleep(60)\n{REFERENCE}"
    evaluator.submit(numbered(6, reference_code=slow))
    found = evaluator.cancel("e6")
    assert (found.state, found.verdict, evaluator.get("e6").state) == ("cancelled", None, "cancelled")
    late = evaluator.evaluate(numbered(7, reference_code=slow, deadline_s=0.2))
    assert (late.state, late.cause) == ("cancelled", "deadline")


def test_a_key_is_needed(service):
    with pytest.raises(Refused) as refused:
        Client(service.url, "another").service()
    assert refused.value.status == 401


def test_a_service_that_is_killed_and_comes_back_loses_nothing(service):
    evaluator, found, ended = Client(service.url, KEY, patience_s=30), [], threading.Event()

    def ask():
        for number, evaluation in evaluator.as_completed([numbered(number) for number in range(10, 18)]):
            found.append((number, evaluation.correct))
            ended.set()

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    assert ended.wait(60)
    service.kill()
    service.start()
    asking.join(120)
    assert sorted(found) == [(number, True) for number in range(8)]
