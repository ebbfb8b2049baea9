"""`kernelwright serve --keys`: owners, hidden tasks and hostile sockets, with a real process and real connections."""
import hashlib
import http.client
import json
import os
import re
import resource
import socket
import time

import pytest

from . import killing
from .served import KEY, Served

MARKER = "7351"
# Inputs and results contain the marker; the source, which the prompt shows, does not.
REFERENCE = '''import torch


def reference_impl(x):
    return x + 7 * 10000 + 3 * 1000 + 519


def get_inputs():
    return [torch.zeros(4)]
'''
KERNEL = killing.KERNEL.format(added=0)
KEYS = {"alice": "the-key-of-alice", "bob": "the-key-of-bob"}
IDLE = 2000
IDLE_BYTES_EACH = 24 << 10


def keys_file(folder):
    digests = {name: hashlib.sha256(key.encode()).hexdigest() for name, key in KEYS.items()}
    text = "".join(f'[keys.{name}]\nsha256 = "{digest}"\n' for name, digest in digests.items())
    (folder / "keys.toml").write_text(text + "own_references = false\nevaluations_at_once = 3\n", encoding="utf-8")
    return folder / "keys.toml"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    rows = [{"id": "hidden", "task_id": "hidden", "reference_code": REFERENCE}]
    (folder / "tasks.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    with Served(folder, "--tasks", folder / "tasks.jsonl", "--keys", keys_file(folder), "--correctness-trials", 2,
                "--jobs", 2, "--log-bodies") as service:
        yield service.ready()


def asked(service, key, method, path, body=None, **headers):
    """Status, headers and text of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    given = {"Authorization": f"Bearer {key}", **{name.replace("_", "-"): value for name, value in headers.items()}}
    if body is not None:
        given["Content-Type"] = "application/json"
    connection.request(method, path, None if body is None else json.dumps(body), given)
    answer = connection.getresponse()
    text = answer.read().decode("utf-8")
    connection.close()
    return answer.status, answer.headers, text


def submitted(name):
    return {"id": name, "task_id": "hidden", "kernel_code": KERNEL}


def test_owners_are_apart_also_after_a_kill(served):
    for path in ("/v1/evaluations/mine?wait_s=60", "/v1/evaluations/mine"):
        if "wait" in path:
            assert asked(served, KEYS["alice"], "POST", "/v1/evaluations", submitted("mine"))[0] == 202
        else:
            served.kill()
            served.start()
            served.ready()
        assert json.loads(asked(served, KEYS["alice"], "GET", path)[2])["state"] == "done"
        assert asked(served, KEYS["bob"], "GET", path)[0] == 404
        assert json.loads(asked(served, KEYS["bob"], "GET", "/v1/evaluations")[2])["evaluations"] == []
        assert json.loads(asked(served, KEY, "GET", "/v1/evaluations")[2])["evaluations"][0]["owner"] == "alice"
    own = {"reference_code": REFERENCE, "kernel_code": KERNEL}
    status, _, text = asked(served, KEYS["bob"], "POST", "/v1/evaluations", own)
    assert status == 403 and "may not send reference_code" in text
    assert asked(served, "another", "GET", "/v1/evaluations")[0] == 401


def test_nothing_tells_a_value_of_a_hidden_task(served):
    key = KEYS["alice"]
    said = [asked(served, key, "POST", "/v1/evaluations", submitted("coarse"))[2]]
    said.append(asked(served, key, "GET", "/v1/evaluations/coarse?wait_s=60")[2])
    verdict = json.loads(said[-1])["verdict"]
    assert (verdict["status"], verdict["error_class"]) == ("incorrect", "wrong_value"), verdict
    assert "first at [" in verdict["error"] and "expected" not in verdict["error"]
    assert verdict["comparison"]["max_abs_error"] == 70000
    talk = json.loads(asked(served, key, "POST", "/v1/conversations", {"task_id": "hidden"})[2])["id"]
    turn = {"turn": 1, "completion": f"<triton>\n{KERNEL}\n</triton>", "wait_s": 60}
    said.append(asked(served, key, "POST", f"/v1/conversations/{talk}/turns", turn)[2])
    assert json.loads(said[-1])["result"]["verdict"]["status"] == "incorrect"
    said += [asked(served, key, "GET", path)[2] for path in
             ("/v1/evaluations", "/v1/tasks", f"/v1/conversations/{talk}", "/results/coarse", "/status/coarse",
              "/v1/service", "/health")]
    said.append(asked(served, key, "POST", "/v1/evaluations/poll", {"ids": ["coarse"]})[2])
    said += [asked(served, KEY, "GET", path)[2] for path in ("/metrics", "/v1/evaluations")]
    # Digits of a duration can be the marker's by chance.
    said.append(re.sub(r'"ms":[^,}]+', "", (served.folder / "service.log").read_text(encoding="utf-8")))
    assert all(len(text) > 2 for text in said)
    found = [text[max(0, text.find(MARKER) - 80):text.find(MARKER) + 20] for text in said if MARKER in text]
    assert found == []


def resident(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as pages:
        return int(pages.read().split()[1]) * resource.getpagesize()


def test_large_bodies_and_idle_connections_take_no_memory(served):
    before = resident(served.pid)
    head = f"POST /v1/evaluations HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {KEY}\r\nContent-Type: application/json\r\n"
    for length in ("Content-Length: 1000000000", "Transfer-Encoding: chunked"):
        began = time.monotonic()
        with socket.create_connection(("127.0.0.1", served.port), timeout=30) as client:
            client.sendall(f"{head}{length}\r\n\r\n".encode())
            if "chunked" in length:
                client.sendall(b"3b9aca00\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 413 ")
        assert time.monotonic() - began < 10
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, IDLE + 1000), hard))
    idle = []
    try:
        while len(idle) < min(IDLE, hard - 500):
            idle.append(socket.create_connection(("127.0.0.1", served.port), timeout=30))
        assert asked(served, KEY, "GET", "/v1/service")[0] == 200
        assert resident(served.pid) - before < len(idle) * IDLE_BYTES_EACH + (32 << 20)
    finally:
        for each in idle:
            each.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_page_of_another_site_is_refused(served):
    assert asked(served, KEY, "GET", "/v1/service", Origin="http://evil.example")[0] == 403
    assert asked(served, KEY, "GET", "/health", Sec_Fetch_Site="cross-site")[0] == 403
    assert asked(served, KEY, "GET", "/v1/service", Origin=f"http://127.0.0.1:{served.port}")[0] == 200


def test_a_changed_keys_file_is_read_again(tmp_path):
    path = keys_file(tmp_path)
    with Served(tmp_path, "--keys", path) as service:
        service.ready()

        def until(key, wanted):
            deadline = time.monotonic() + 30
            while (found := asked(service, key, "GET", "/v1/service")[0]) != wanted:
                assert time.monotonic() < deadline, (key, found)
                time.sleep(0.2)

        until(KEYS["alice"], 200)
        new = tmp_path / "new.toml"
        new.write_text(f'[keys.carol]\nsha256 = "{hashlib.sha256(b"the-key-of-carol").hexdigest()}"\n', encoding="utf-8")
        new.replace(path)
        until("the-key-of-carol", 200)
        assert asked(service, KEYS["alice"], "GET", "/v1/service")[0] == 401
        log = tmp_path / "service.log"

        def until_refused(count):
            deadline = time.monotonic() + 30
            while log.read_text(encoding="utf-8").count("keys_refused") < count:
                assert time.monotonic() < deadline
                time.sleep(0.2)
            assert asked(service, "the-key-of-carol", "GET", "/v1/service")[0] == 200

        path.write_text("[keys.carol]\n", encoding="utf-8")
        until_refused(1)
        path.unlink()
        os.mkfifo(path)
        until_refused(2)
        path.unlink()
        keys_file(tmp_path)
        until(KEYS["alice"], 200)
