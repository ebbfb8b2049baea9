"""`kernelwright serve`: the whole program over HTTP, with verdicts of the engine."""
import http.client
import json
import os
import resource
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import NamedTuple

import jsonschema
import pytest

from . import exploits, killing, loop, program, victims
from .served import KEY, Served

QUEUE = 6
SLOW = victims.code_of("host_loop")
VICTIMS = ("exit_now", "raw_address", "odd_output", "segfault")
EXPLOITS = ("wrong_at_first", "writes_past_output", "decoy_kernel")
# These fields differ between any two verdicts on one candidate: times, and results on random inputs.
DRAWN = loop.ON_RANDOM_INPUTS | {"stages_ms"}


class Answer(NamedTuple):
    status: int
    body: dict
    headers: dict


def ask(service, method, path, body=None, key=KEY, timeout=60, context=None):
    """Send one request and return any answer."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    if body is not None:
        headers["Content-Type"] = "application/json"
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    request = urllib.request.Request(service.url + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout, context=context) as answer:
            return Answer(answer.status, json.load(answer), dict(answer.headers))
    except urllib.error.HTTPError as refused:
        with refused:
            return Answer(refused.code, json.load(refused), dict(refused.headers))


def path_of(name):
    return "/v1/evaluations/" + urllib.parse.quote(name, safe="")


def submit(service, name, **fields):
    return ask(service, "POST", "/v1/evaluations", {"id": name, **fields})


def ended(service, name, seconds=90):
    """The record of an evaluation once it is over."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        record = ask(service, "GET", path_of(name) + "?wait_s=20").body
        if record["state"] in ("done", "cancelled"):
            return record
    raise AssertionError(f"{name} is still {record['state']}")


def right(number):
    """A right candidate, different from all others."""
    return {"reference_code": killing.REFERENCE.format(number=number), "kernel_code": killing.KERNEL.format(added=number)}


def slow(mark):
    """A candidate that runs until it is stopped, different from all others."""
    return {"reference_code": victims.code_of("reference"), "kernel_code": f"{SLOW}\n# {mark}\n"}


def state(service, name):
    return ask(service, "GET", path_of(name)).body["state"]


def await_state(service, name, wanted, seconds=20):
    deadline = time.monotonic() + seconds
    while (found := state(service, name)) != wanted and time.monotonic() < deadline:
        time.sleep(0.05)
    assert found == wanted


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Served(tmp_path_factory.mktemp("served"), "--queue", QUEUE, "--max-body", "1M", "--timeout", victims.TIMEOUT_S,
                "--correctness-trials", 2, "--jobs", 2) as service:
        yield service.ready()


def test_a_verdict_over_http_is_the_one_of_the_engine_here(served, verify, batch):
    row = {"task_id": "sample/one", **right(1)}
    assert submit(served, "run 1/one", **row, mine=[1, None]).status == 202
    record = ended(served, "run 1/one")
    assert record["state"] == "done" and record["cause"] is None
    verdict = record["verdict"]
    schema = json.loads((program.ROOT / "docs" / "verdict.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(verdict, schema)
    assert (verdict["id"], verdict["status"], verdict["mine"]) == ("run 1/one", "correct", [1, None])
    here = verify("--batch", batch([{"id": "run 1/one", **row}]), "--correctness-trials", 2, "--timeout", victims.TIMEOUT_S)
    left = [{key: value for key, value in each.items() if key not in DRAWN | {"mine"}} for each in (verdict, here.verdicts[0])]
    assert left[0] == left[1]


def test_a_batch_is_submitted_and_polled(served):
    wrong = {**right(2), "kernel_code": killing.KERNEL.format(added=7)}
    rows = [{"id": "b0", **right(2)}, {"id": "b1", **wrong}, {"id": "b2", **right(2), "fresh": True}]
    answer = ask(served, "POST", "/v1/evaluations/batch", {"evaluations": rows})
    assert answer.status == 202 and [each["id"] for each in answer.body["evaluations"]] == ["b0", "b1", "b2"]
    waited, found = {"b0", "b1", "b2"}, {}
    while waited:
        polled = ask(served, "POST", "/v1/evaluations/poll", {"ids": sorted(waited), "wait_s": 30}).body["evaluations"]
        assert polled
        found |= {each["id"]: each["verdict"]["status"] for each in polled}
        waited -= found.keys()
    assert found == {"b0": "correct", "b1": "incorrect", "b2": "correct"}


def test_one_that_runs_is_cancelled_and_its_processes_end(served):
    before = program.descendants(served.pid)
    submit(served, "slow", **slow("to be cancelled"))
    await_state(served, "slow", "running")
    time.sleep(1)  # until its process runs
    answer = ask(served, "DELETE", path_of("slow"))
    assert answer.status == 200 and answer.body["state"] == "cancelled" and answer.body["verdict"] is None
    submit(served, "next", **right(3))
    assert ended(served, "next")["verdict"]["status"] == "correct"
    left = program.settled(lambda: program.descendants(served.pid) - before)
    assert len(left) <= 4, "the oracles of the two references stay, two processes each"


def test_a_deadline_ends_what_runs(served):
    submit(served, "late", **slow("with a deadline"), deadline_s=1.5)
    record = ended(served, "late")
    assert (record["state"], record["cause"]) == ("cancelled", "deadline")


def test_refusals_name_what_is_wrong(served):
    assert ask(served, "GET", "/v1/service", key=None).status == 401
    assert ask(served, "GET", "/v1/service", key="another").body["error"]["class"] == "unauthorized"
    submit(served, "mine", **right(4))
    other = submit(served, "mine", **right(5))
    assert other.status == 409 and other.body["error"]["field"] == "id"
    large = submit(served, "large", **right(4), padding="x" * (1 << 20))
    assert large.status == 413 and large.body["error"]["class"] == "too_large"
    bad = submit(served, "bad", **right(4), options={"timeout_s": -1})
    assert bad.status == 400 and bad.body["error"]["field"] == "options.timeout_s"
    assert ask(served, "GET", path_of("nobody")).status == 404
    ended(served, "mine")


def test_a_full_queue_says_when_to_come_again(served):
    names = [f"full {number}" for number in range(QUEUE + 4)]
    answers = [submit(served, name, **slow(name)) for name in names]
    refused = [answer for answer in answers if answer.status == 429]
    assert refused and int(refused[0].headers["Retry-After"]) >= 1
    for name, answer in zip(names, answers, strict=True):
        if answer.status == 202:
            ask(served, "DELETE", path_of(name))


def test_victims_get_the_verdict_that_they_get_here(served):
    with victims.Baits() as baits:
        for name in VICTIMS:
            code = baits.bait(victims.code_of(name))
            assert submit(served, f"victim {name}", reference_code=victims.code_of("reference"), kernel_code=code).status == 202
        for name in VICTIMS:
            verdict = ended(served, f"victim {name}")["verdict"]
            said = {verdict["status"], f"{verdict['status']}/{verdict['error_class']}"}
            assert said & set(victims.expected()[name]), (name, verdict["error"])


def test_exploits_gain_nothing(served):
    for name in EXPLOITS:
        case = exploits.CORPUS[name]
        strict = {"options": {"tolerance": "strict"}} if case.strict else {}
        submit(served, f"exploit {name}", **{**case.row(), **strict, "id": f"exploit {name}"})
    for name in EXPLOITS:
        verdict = ended(served, f"exploit {name}")["verdict"]
        assert exploits.words_for(verdict) & set(exploits.CORPUS[name].on_cpu), (name, verdict)


def test_it_tells_what_it_is(served):
    body = ask(served, "GET", "/v1/service").body
    assert (body["device"], body["width"], body["settings"]["correctness_trials"]) == ("cpu", 2, 2)
    assert body["environment"]["torch"] and body["protocol"]
    assert ask(served, "GET", "/health", key=None).body == {"status": "ready"}
    assert KEY.encode() not in Path(f"/proc/{served.pid}/environ").read_bytes()
    served_document = ask(served, "GET", "/openapi.json").body
    assert served_document == json.loads((program.ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))


def test_idle_and_slow_clients_cost_nobody_else_an_answer(served):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(2000, hard - 200)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count + 200), hard))
    idle = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(count)]
    try:
        for each in idle[:200]:
            each.sendall(b"POST /v1/evaluations HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{")
        began = time.monotonic()
        submit(served, "among many", **right(6))
        assert ended(served, "among many")["verdict"]["status"] == "correct"
        assert time.monotonic() - began < 10
    finally:
        for each in idle:
            each.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_is_no_http_gets_its_refusal_as_json(served):
    with socket.create_connection(("127.0.0.1", served.port)) as client:
        client.sendall(b"what is this\r\n\r\n")
        answer = http.client.HTTPResponse(client)
        answer.begin()
        assert answer.status == 400 and json.load(answer)["error"]["class"] == "invalid"


def test_the_log_has_no_code(served):
    requests = [line for line in served.log() if line["event"] == "request"]
    assert any(line["target"] == "/v1/evaluations" and line["status"] == 202 for line in requests)
    assert "tl.load" not in (served.folder / "service.log").read_text(encoding="utf-8")


@pytest.mark.parametrize("words, said", [
    (("--host", "0.0.0.0"), "requires a key"),
    (("--host", "example.org"), "not an address"),
    (("--api-key-file", "empty"), "contains no key"),
    (("--api-key-file", "missing"), "missing"),
    (("--tls-cert", "empty"), "belong together"),
    (("--retention", "soon"), "--retention"),
    (("--port", "70000"), "--port"),
])
def test_what_cannot_be_served_is_refused_at_once(run, tmp_path, words, said):
    (tmp_path / "empty").write_text("\n", encoding="utf-8")
    words = [str(tmp_path / word) if word in ("empty", "missing") else word for word in words]
    done = run("serve", "--store", tmp_path / "service.db", *words, limit=30)
    assert done.code == 2 and said in done.stderr and done.stdout == ""


def test_a_kill_and_a_drain_lose_nothing_and_double_nothing(run, tmp_path, traces_left):
    with Served(tmp_path, "--timeout", victims.TIMEOUT_S, "--jobs", 1) as service:
        service.ready()
        second = run("serve", "--port", 0, "--store", tmp_path / "service.db", "--device", "cpu", "--python", sys.executable)
        assert second.code == 1 and f"in use by process {service.pid}" in second.stderr

        submit(service, "done before", **right(1))
        before = ended(service, "done before")
        submit(service, "running", **right(2))
        for number in range(3, 6):
            submit(service, f"queued {number}", **right(number))
        service.kill()
        service.start()
        service.ready()
        for name in ("running", "queued 3", "queued 4", "queued 5"):
            assert ended(service, name)["verdict"]["status"] == "correct", name
        assert ask(service, "GET", path_of("done before")).body == before

        submit(service, "stopped", **slow("by the drain"))
        submit(service, "waiting", **right(7))
        await_state(service, "stopped", "running")
        service.end()
        assert service.exit_code == 0
        service.start()
        service.ready()
        assert state(service, "waiting") == "queued"
        ask(service, "DELETE", path_of("stopped"))
        assert ended(service, "waiting")["verdict"]["status"] == "correct"
    traces_left.assert_none()


def test_it_ends_with_its_parent(tmp_path, traces_left):
    command = [program.binary(), "serve", "--port", "0", "--store", str(tmp_path / "service.db"), "--device", "cpu", "--python",
               sys.executable, "--parent-death"]
    starter = "import subprocess, sys; subprocess.Popen(sys.argv[1:]); input()"
    parent = program.start([sys.executable, "-c", starter, *command], tmp_path, stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert parent.stdout.readline().startswith(b"http://127.0.0.1:")
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdin.close()
    parent.stdout.close()
    traces_left.assert_none()


def test_tls_is_spoken_where_a_certificate_is_given(tmp_path):
    certificate, private = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2",
                    "-keyout", private, "-out", certificate], check=True, capture_output=True)
    with Served(tmp_path, "--tls-cert", certificate, "--tls-key", private) as service:
        service.url = service.url.replace("http:", "https:")
        context = ssl.create_default_context(cafile=certificate)
        deadline = time.monotonic() + 30
        while True:
            try:
                answer = ask(service, "GET", "/health", context=context)
                break
            except urllib.error.URLError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        assert answer.body["status"] in ("starting", "ready")
    assert service.exit_code == 0, "told to end while it starts"
