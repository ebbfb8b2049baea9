"""The page of a report, live: a run that grows, hostile clients, keys, and review across kills."""
import json
import resource
import subprocess
import sys
import time

import pytest

from . import killing, loop, program
from .viewing import Events, Viewing


def quick_run(folder, tasks, delay_s="0.02"):
    """The command of a run whose answers all end at the static stage, each this long after its question."""
    world = killing.quick_world(folder, tasks)
    words = [delay_s if word == "0.02" else word for word in world.words]
    return loop.command(world.traces, folder / "out.json", *words)


@pytest.fixture(name="run", scope="module")
def _run(tmp_path_factory):
    """A finished run of 4 tasks."""
    folder = tmp_path_factory.mktemp("viewed")
    process = program.start(quick_run(folder, 4), folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert program.finish(process).code in (0, 1)
    return folder / "out.run"


@pytest.fixture(name="viewing")
def _viewing(run, tmp_path):
    with Viewing(tmp_path, run) as viewing:
        yield viewing


def test_a_run_is_viewed_while_it_grows(tmp_path):
    process = program.start(quick_run(tmp_path, 12, "0.4"), tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        database = tmp_path / "out.run" / "run.db"
        deadline = time.monotonic() + 60
        while not database.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        with Viewing(tmp_path, tmp_path / "out.run") as viewing, Events(viewing) as events:
            seen = events.until(lambda each: each["rows"] == 12 and each["state"] == "finished")
            assert len(seen) > 2, seen
            assert seen[0]["state"] == "unfinished"
            assert [each["version"] for each in seen] == sorted({each["version"] for each in seen})
            index = viewing.index()
            assert index["rows"]["count"] == 12 and index["chunks"] == []
            assert index["sources"][0]["state"] == "finished"
    finally:
        program.finish(process)


def test_an_unchanged_index_is_not_sent_again(viewing):
    first = viewing.ask("/api/index")
    again = viewing.ask("/api/index", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status, again.body) == (304, b"")


def test_every_row_has_its_detail(viewing):
    for key in viewing.keys():
        detail = viewing.ask("/api/detail?key=" + key.replace("#", "%23")).json()
        assert detail["kind"] == "trace" and detail["key"] == key
        assert len(detail["trace"]["turns"]) == 4


def test_a_search_finds_code(viewing):
    answer = viewing.ask("/api/search?text=def+helper_2_3")
    hits = [json.loads(line) for line in answer.body.splitlines()]
    assert {(hit["turn"], hit["field"]) for hit in hits} >= {(3, "code")}
    assert viewing.ask("/api/search?text=def+helper_2_3&limit=1").body.count(b"\n") == 1


def test_a_file_is_read_again_when_it_changes(tmp_path):
    traces = killing.quick_traces(tmp_path, 1)
    with Viewing(tmp_path, traces) as viewing, Events(viewing) as events:
        events.until(lambda each: each["rows"] == 1)
        killing.quick_traces(tmp_path, 3)
        events.until(lambda each: each["rows"] == 3)


def test_a_file_may_begin_empty(tmp_path):
    traces = tmp_path / "quick.json"
    traces.write_text("", encoding="utf-8")
    with Viewing(tmp_path, traces) as viewing, Events(viewing) as events:
        events.until(lambda each: each["rows"] == 0)
        killing.quick_traces(tmp_path, 2)
        events.until(lambda each: each["rows"] == 2)


def test_a_folder_lists_its_runs(run, tmp_path):
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (run.parent / "link").symlink_to(tmp_path)
    with Viewing(tmp_path, run.parent) as viewing:
        listed = {each["path"]: each for each in viewing.ask("/api/runs").json()}
        assert listed["out.run"]["kind"] == "run" and listed["out.run"]["rows"] == 4
        assert listed["out.run"]["state"] == "finished"
        assert viewing.index("?run=out.run")["rows"]["count"] == 4
        for trick in ("../" + tmp_path.name, "..%2F" + tmp_path.name, "%2e%2e", "/etc/passwd", "out.run/run.db",
                      "out.run%00", "link", "link/secret.txt", str(run).replace("/", "%2F"), "./out.run"):
            assert viewing.ask("/api/index?run=" + trick).status == 404, trick


# Hostile clients

def test_other_names_of_this_machine_are_refused(viewing):
    """A page whose name was bound anew to 127.0.0.1."""
    for host in ("evil.example", f"evil.example:{viewing.port}", "127.0.0.1.evil.example", "", "a b", None):
        answer = viewing.ask("/api/index", headers={"Host": host})
        assert answer.status in (400, 421), host
        assert b"rows" not in answer.body


def test_pages_of_other_sites_are_refused(viewing):
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": f"http://localhost:{viewing.port}"},
                    {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
        assert viewing.ask("/api/index", headers=headers).status == 403, headers
    preflight = viewing.ask("/api/review", "OPTIONS", {"Origin": "http://evil.example",
                                                       "Access-Control-Request-Headers": "x-kernelwright-token"})
    assert preflight.status == 403 and "Access-Control-Allow-Origin" not in preflight.headers


def test_a_write_needs_the_token(viewing, run):
    body = json.dumps({"key": viewing.keys()[0], "reviewer": "Eve", "label": "good"}).encode()
    for headers in ({}, {"X-Kernelwright-Token": ""}, {"X-Kernelwright-Token": "0" * 32}):
        assert viewing.ask("/api/review", "POST", headers, body).status == 403
    log = run / "review.jsonl"
    assert not log.exists() or "Eve" not in log.read_text(encoding="utf-8")


def test_a_page_cannot_be_framed_or_stored(viewing):
    for path in ("/", "/api/index", "/nothing"):
        headers = viewing.ask(path).headers
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer"


def test_a_body_of_a_gigabyte_is_refused_unread(viewing):
    token = viewing.token()
    head = (f"POST /api/review HTTP/1.1\r\nHost: 127.0.0.1:{viewing.port}\r\nX-Kernelwright-Token: {token}\r\n")
    answer = viewing.raw(f"{head}Content-Length: {1 << 30}\r\n\r\n".encode() + b" " * 1000)
    assert answer.startswith(b"HTTP/1.1 413 ")
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    answer = viewing.raw(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk * 4)
    assert answer.startswith(b"HTTP/1.1 413 ") or answer == b""
    assert viewing.ask("/api/index").status == 200


def test_a_long_or_broken_header_is_refused(viewing):
    assert viewing.raw(b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000).startswith(b"HTTP/1.1 431 ")
    assert viewing.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 100 + b"\r\n\r\n")[:12] == b"HTTP/1.1 400"
    host = f"Host: 127.0.0.1:{viewing.port}\r\n".encode()
    assert viewing.raw(b"GET / HTTP/1.1\r\n" + host + host + b"\r\n").startswith(b"HTTP/1.1 400 ")


def test_a_slow_header_is_ended(viewing):
    with viewing.socket() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
        began = time.monotonic()
        assert connection.recv(100).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - began < 20


def test_idle_connections_do_not_keep_others_out(viewing):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    idle = []
    try:
        for _ in range(2000):
            idle.append(viewing.socket())
        assert viewing.ask("/api/index").status == 200
    finally:
        for each in idle:
            each.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_event_streams_are_bounded(viewing):
    streams = [Events(viewing) for _ in range(64)]
    try:
        for stream in streams:
            stream.until(lambda each: True)
        assert viewing.ask("/api/events").status == 503
        assert viewing.ask("/api/index").status == 200
    finally:
        for stream in streams:
            stream.__exit__()


def test_no_path_leads_to_a_file(viewing):
    for path in ("/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/api/../../etc/passwd",
                 "/run.db", "/api/index/../../run.db", "/..%5c..%5cetc%5cpasswd", "/api/detail%00"):
        answer = viewing.ask(path)
        assert answer.status in (400, 404), path
        assert b"root:" not in answer.body
    for key in ("../../etc/passwd", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "%00", "/etc/passwd", "x" * 5000):
        assert viewing.ask("/api/detail?key=" + key).status == 404, key


# The key

def test_an_address_beyond_loopback_gets_a_key(run, tmp_path):
    with Viewing(tmp_path, run, "--host", "0.0.0.0") as viewing:
        assert len(viewing.key) == 32 and "?ticket=" in viewing.url and viewing.key not in viewing.url
        assert viewing.ask("/api/index").status == 401
        form = viewing.ask("/")
        assert form.status == 401 and b"kernelwright-live" not in form.body
        ticket = "/?" + viewing.url.split("?")[1]
        welcome = viewing.ask(ticket)
        cookie = welcome.headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and viewing.key not in cookie
        assert "Set-Cookie" not in viewing.ask(ticket).headers
        sent = {"Cookie": cookie.split(";")[0]}
        assert viewing.ask("/api/index", headers=sent).status == 200
        assert b"kernelwright-live" in viewing.ask("/", headers=sent).body
        assert viewing.ask("/api/index", headers={"Authorization": f"Bearer {viewing.key}"}).status == 200
        assert viewing.ask("/enter", "POST", {}, f"key={viewing.key}".encode()).headers["Set-Cookie"]
        assert viewing.ask("/enter", "POST", {"Origin": "http://evil.example"}, f"key={viewing.key}".encode()).status == 403
        assert viewing.key not in viewing.log()


def test_a_given_key_is_not_printed(run, tmp_path):
    file = tmp_path / "key"
    file.write_text("a-long-key-of-this-test\n", encoding="utf-8")
    with Viewing(tmp_path, run, "--api-key-file", file) as viewing:
        assert "a-long-key" not in viewing.url + viewing.log()
        assert viewing.ask("/api/index").status == 401
        assert viewing.ask("/api/index", headers={"X-API-Key": "a-long-key-of-this-test"}).status == 200


# Start and end

def test_ctrl_c_ends_it_with_open_streams(run, tmp_path):
    viewing = Viewing(tmp_path, run)
    viewing.start()
    with Events(viewing) as events:
        events.until(lambda each: True)
        assert viewing.interrupt() == 130


def called(*words):
    return subprocess.run([program.binary(), "view", *map(str, words)], capture_output=True, text=True, timeout=60,
                          check=False)


def test_wrong_calls_are_named(run, tmp_path):
    assert called().returncode == 2
    missing = called(tmp_path / "missing.run")
    assert missing.returncode == 1 and "missing.run" in missing.stderr
    for words in (["--host", "example.org"], ["--tls-cert", "x"], ["--port", "70000"], ["--review=0"],
                  ["--allow-host", "http://x"]):
        assert called(run, *words).returncode == 2, words
    with Viewing(tmp_path, run) as viewing:
        taken = called(run, "--port", viewing.port)
        assert taken.returncode == 1 and "another port" in taken.stderr


# Review

def test_a_review_goes_on_after_a_kill(run, tmp_path):
    viewing = Viewing(tmp_path, run, "--review=3")
    viewing.start()
    assert viewing.url.endswith("#/review?count=3")
    keys = viewing.queue("Ada", 3)["keys"]
    assert len(keys) == 3
    assert viewing.label(keys[0], "Ada", "good", "fine").status == 200
    assert viewing.label(keys[1], "Ada", "suspicious").status == 200
    assert viewing.label(keys[1], "Bob", "good").status == 200
    assert viewing.label(keys[0], "Bob", "unsure").status == 200
    viewing.kill()
    viewing.start()
    queue = viewing.queue("Ada", 3)
    assert queue["keys"] == keys
    assert queue["labels"] == {keys[0]: {"label": "good", "note": "fine"}, keys[1]: {"label": "suspicious", "note": ""}}
    assert queue["agreement"][0]["reviewers"] == ["Ada", "Bob"] and queue["agreement"][0]["pairs"] == 1
    assert viewing.label(keys[0], "Ada", None).status == 200
    assert keys[0] not in viewing.queue("Ada", 3)["labels"]
    with Events(viewing) as events:
        events.until(lambda each: each["version"] > 1)
    columns = viewing.index()["rows"]["columns"]
    # The latest labels: Bob's.
    assert sorted(columns["label"]["words"]) == ["good", "unsure"]
    assert sorted(each for each in columns["reviewers"] if each) == [1, 2]
    assert viewing.interrupt() == 130
    into_score(run, tmp_path)


def into_score(run, tmp_path):
    """The labels of the page flow into a score."""
    score = [program.binary(), "score", "--python", sys.executable]
    result = tmp_path / "score.json"
    subprocess.run([*score, run, "--recorded", "-o", result, "--quiet"], check=False, timeout=60)
    done = subprocess.run([*score, "--read-review", run / "review.jsonl", result], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    review = json.loads(result.read_text(encoding="utf-8"))["review"]
    assert {(each["reviewer"], each["label"]) for each in review["reviews"]} >= {("Ada", "suspicious"), ("Bob", "good")}
    assert review["between_reviewers"][0]["pairs"] == 1


def test_a_label_that_cannot_be_stored_is_refused(run, tmp_path):
    traces = killing.quick_traces(tmp_path, 1)
    (tmp_path / (traces.name + ".review.jsonl")).mkdir()
    with Viewing(tmp_path, traces) as viewing:
        answer = viewing.label(viewing.keys()[0], "Ada", "good")
        assert answer.status == 500 and "review.jsonl" in answer.json()["error"]["message"]


def test_a_killed_viewer_leaves_the_run_alone(run, tmp_path):
    viewing = Viewing(tmp_path, run)
    viewing.start()
    assert viewing.ask("/api/index").status == 200
    viewing.kill()
    assert loop.check(run / "run.db") == []
