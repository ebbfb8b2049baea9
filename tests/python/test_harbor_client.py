"""The client in tests/ of a Harbor task, against a server that misbehaves: what is retried, refused and written."""
import importlib.util
import json
import math
import os
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "src" / "loop" / "exports" / "harbor_task" / "judge.py"
RIGHT = {"status": "correct", "correctness": True, "counts": True, "reward": 1.8, "speedup": 1.5, "trust": "replay",
         "fault": None, "error": None, "printed": "inputs"}

# The packed tests have no sources; end_to_end/test_export_harbor.py runs the client that the program contains.
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="no sources here")

def refused(code, error_class="busy", **headers):
    return code, {"error": {"class": error_class, "message": "m", "field": None}}, headers


def done(**changes):
    return 200, {"state": "done", "verdict": {**RIGHT, **changes}}, {}


@pytest.fixture
def client(monkeypatch, tmp_path):
    """The module, with its paths in a folder, and without pauses."""
    spec = importlib.util.spec_from_file_location("harbor_judge", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "task.json").write_text('{"task_id": "t", "task_version": "v"}', encoding="utf-8")
    (tmp_path / "kernel.py").write_text("import triton\n", encoding="utf-8")
    monkeypatch.setattr(module, "HERE", tmp_path)
    monkeypatch.setattr(module, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(module, "CANDIDATE", str(tmp_path / "kernel.py"))
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    monkeypatch.setenv("KERNELWRIGHT_WAIT_S", "60")
    monkeypatch.setenv("no_proxy", "*")
    return module


@pytest.fixture
def service(monkeypatch):
    """Gives these answers in their order, the last one again and again; returns what was asked."""
    servers = []

    def start(*answers):
        asked, left = [], list(answers)

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                asked.append((self.command, self.path, json.loads(body) if body else None, self.headers.get("Authorization")))
                code, value, headers = left.pop(0) if len(left) > 1 else left[0]
                text = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(code)
                for name, each in headers.items():
                    self.send_header(name.replace("_", "-"), each)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        monkeypatch.setenv("KERNELWRIGHT_EVALUATOR", f"http://127.0.0.1:{server.server_port}/")
        monkeypatch.setenv("KERNELWRIGHT_EVALUATOR_KEY", "secret")
        return asked
    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def written(client):
    path = client.LOGS / "reward.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def test_the_numbers_and_the_words(client, service):
    asked = service((202, {"state": "running"}, {}), done())
    assert client.main() == 0
    assert written(client) == {"reward": 1.8, "correct": 1, "counts": 1, "trust_level": 3, "speedup": 1.5}
    words = (client.LOGS / "verdict.json").read_text(encoding="utf-8")
    assert "printed" not in words and "secret" not in words
    method, path, body, key = asked[0]
    assert (method, path, key) == ("POST", "/v1/evaluations", "Bearer secret")
    assert (body["task_id"], body["task_version"], body["kernel_code"]) == ("t", "v", "import triton\n")


def test_a_passing_refusal_is_waited_out_under_the_same_id(client, service):
    running = 202, {"state": "running"}, {}
    asked = service(refused(503, Retry_After="0"), refused(429), (200, b"<html>", {}), running, refused(404), running, done())
    assert client.main() == 0 and written(client)["reward"] == 1.8
    assert len({body["id"] for method, _, body, _ in asked if method == "POST"}) == 1


def test_no_verdict_of_the_infrastructure_becomes_a_reward(client, service):
    broken = done(fault="infrastructure", status="error", correctness=None, reward=None)
    asked = service(broken, (200, {"state": "cancelled", "cause": "drained"}, {}), done())
    assert client.main() == 0 and written(client)["reward"] == 1.8
    assert len({body["id"] for method, _, body, _ in asked if method == "POST"}) == 3


@pytest.mark.parametrize("answer", [refused(401, "unauthorized"), refused(404, "unknown_task"), refused(409, "other_version"),
                                    refused(302, Location="http://127.0.0.1:1/"), done(fault="task", reward=None)])
def test_what_no_retry_mends_ends_at_once(client, service, answer, capsys):
    asked = service(answer)
    client.LOGS.mkdir()
    (client.LOGS / "reward.json").write_text('{"reward": 1}', encoding="utf-8")
    assert client.main() == 1 and len(asked) == 1
    assert written(client) is None and "not judged" in capsys.readouterr().err


@pytest.mark.parametrize("reward", [None, True, "1", math.inf, math.nan])
def test_only_a_finite_number_is_a_reward(client, service, reward):
    service((200, json.dumps({"state": "done", "verdict": {**RIGHT, "reward": reward}}).encode(), {}))
    assert client.main() == 1 and written(client) is None


def test_a_service_that_never_answers_gives_no_reward(client, service, monkeypatch):
    monkeypatch.setenv("KERNELWRIGHT_WAIT_S", "0.2")
    service(refused(503))
    assert client.main() == 1 and written(client) is None


@pytest.mark.parametrize("data", [None, b"", b" \n", b"\xff\xfe", b"x" * (1 << 20) + b"x", "link", "folder", "pipe", "socket"])
def test_a_file_that_cannot_be_a_module_is_wrong(client, data, tmp_path, service, monkeypatch):
    asked = service(done())
    path = tmp_path / "kernel.py"
    path.unlink()
    if isinstance(data, bytes):
        path.write_bytes(data)
    elif data == "link":
        path.symlink_to(tmp_path / "task.json")
    elif data == "folder":
        path.mkdir()
    elif data == "pipe":
        os.mkfifo(path)
    elif data == "socket":
        monkeypatch.chdir(tmp_path)  # a socket's address is short
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(path.name)
    assert client.main() == 0 and written(client) == {"reward": 0, "correct": 0, "counts": 0, "trust_level": 0} and not asked


@pytest.mark.parametrize("reachable", [True, False])
def test_what_the_agent_left_among_the_rewards_is_gone(client, reachable, service, tmp_path, monkeypatch):
    service(done())
    if not reachable:
        monkeypatch.setenv("KERNELWRIGHT_EVALUATOR", "http://127.0.0.1:1")
        monkeypatch.setenv("KERNELWRIGHT_WAIT_S", "0.1")
    client.LOGS.mkdir()
    (client.LOGS / "reward.json").mkdir()
    (client.LOGS / "reward.json" / "file").write_text("{}", encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    for name in ("reward.txt", "verdict.json", f".reward.json.{os.getpid()}", f".verdict.json.{os.getpid()}"):
        (client.LOGS / name).symlink_to(elsewhere)
    assert client.main() == (0 if reachable else 1)
    assert (written(client) is not None) == reachable and not elsewhere.exists()
    assert not (client.LOGS / "reward.json").is_symlink() and not (client.LOGS / "reward.txt").is_symlink()
