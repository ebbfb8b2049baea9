"""`kernelwright mcp` and agents: a scripted one that mends a kernel, hostile ones, and both transports."""
import json
import os
import select
import subprocess
import sys

import pytest

from . import agent, program

PAIR = program.ROOT / "examples" / "pair"
REFERENCE = (PAIR / "reference.py").read_text(encoding="utf-8")
RIGHT = (PAIR / "kernel.py").read_text(encoding="utf-8")
MASK = ", mask=mask, other=0.0)\n    tl.store"
UNMASKED = RIGHT.replace(MASK, ")\n    tl.store")
WRONG = RIGHT.replace("x * x + shift", "x * x - shift")
SPINS = RIGHT.replace("    x, shift = x.contiguous()", "    while True: pass\n    x, shift = x.contiguous()")
assert RIGHT not in (UNMASKED, WRONG, SPINS)


@pytest.fixture(name="client")
def _client(tmp_path):
    """A client that has said hello."""
    with agent.Agent(tmp_path) as client:
        client.initialize()
        yield client


def test_an_agent_mends_a_kernel_in_three_calls(client, traces_left):
    seen = client.call("verify", reference=REFERENCE, kernel=UNMASKED)
    verdict = seen["structuredContent"]
    assert (verdict["status"], verdict["error_class"], verdict["fault"]) == ("failed", "out_of_bounds", "kernel")
    line = UNMASKED.splitlines()[verdict["line"] - 1]
    assert line.strip() in agent.text_of(seen) and "tl.load(shift_ptr + cols)" in line
    advice = client.call("explain", word=verdict["error_class"])["structuredContent"]["entries"][0]["advice"]
    assert "mask" in advice.lower()
    # What a model would do with that line and that advice.
    mended = UNMASKED.replace(line, line.replace("cols)", "cols, mask=mask, other=0.0)"))
    seen = client.call("verify", reference=REFERENCE, kernel=mended)
    assert seen["structuredContent"]["correct"] and seen["structuredContent"]["counts"], agent.text_of(seen)
    uri = seen["structuredContent"]["verdict_uri"]
    kept, = client.ask("resources/read", {"uri": uri})["contents"]
    assert json.loads(kept["text"])["status"] == "correct"
    assert client.leave() == 0
    assert not traces_left.processes()


def test_a_wrong_result_is_shown_with_its_first_mismatch(client):
    seen = client.call("verify", reference=REFERENCE, kernel=WRONG, full=True, options={"correctness_trials": 2})
    assert seen["structuredContent"]["error_class"] == "wrong_value" and not seen["isError"]
    assert "expected" in agent.text_of(seen)
    assert seen["structuredContent"]["verdict"]["comparison"]["first_mismatch"]["index"]


def test_progress_names_the_start_and_the_judging(client):
    client.call("verify", progress="t", reference=REFERENCE, kernel=RIGHT)
    told = [each["params"] for each in client.notices]
    assert {each["progressToken"] for each in told} == {"t"}
    assert [each["message"] for each in told][:2] == ["starting Python with PyTorch", "judging"]


def test_a_cancelled_call_leaves_no_process(client, traces_left):
    client.call("verify", reference=REFERENCE, kernel=RIGHT)
    request = client.begin("tools/call", {"name": "verify", "_meta": {"progressToken": 1},
                                          "arguments": {"reference": REFERENCE, "kernel": SPINS}})
    while client.next()["params"]["message"] != "judging":
        pass
    client.send("notifications/cancelled", {"requestId": request})
    assert client.ask("ping") == {}
    again = client.call("verify", reference=REFERENCE, kernel=WRONG)
    assert again["structuredContent"]["status"] == "incorrect"
    assert not [each for each in client.notices if each.get("id") == request]
    assert client.leave() == 0
    assert not traces_left.processes()


@pytest.mark.parametrize("ends", ["leave", "interrupt"])
def test_an_end_while_judging_leaves_nothing(tmp_path, ends, traces_left):
    with agent.Agent(tmp_path) as client:
        client.initialize()
        client.begin("tools/call", {"name": "verify", "_meta": {"progressToken": 1},
                                    "arguments": {"reference": REFERENCE, "kernel": SPINS}})
        while client.next()["params"]["message"] != "judging":
            pass
        assert getattr(client, ends)() == (0 if ends == "leave" else 130)
    assert not traces_left.processes()


# Starts a server in a session of its own, has an answer from it, and waits to be killed.
KEEPER = """
import subprocess, sys, time
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
server.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\\n')
server.stdin.flush()
server.stdout.readline()
print(server.pid, flush=True)
time.sleep(600)
"""


def test_a_client_that_dies_ends_the_server(tmp_path, traces_left):
    keeper = subprocess.Popen([sys.executable, "-c", KEEPER, *agent.command()], stdout=subprocess.PIPE)
    server = os.pidfd_open(int(keeper.stdout.readline()))
    keeper.kill()
    keeper.communicate()
    assert select.select([server], [], [], program.LIMIT_S)[0], "the server has outlived its client"
    os.close(server)
    assert not traces_left.processes()


def test_garbage_is_answered_and_survived(client):
    for line in (b"garbage", b"[]", b"{}", b"[" * 100_000, b"\xff", b'{"jsonrpc":"2.0","id":null,"method":"ping"}'):
        client.raw(line)
        assert client.next()["error"]["code"] in (-32700, -32600), line
    client.raw(b"x" * (5 << 20))
    assert "4194304" in client.next()["error"]["message"]
    refused = client.call("verify", reference=REFERENCE, kernal=RIGHT)
    assert refused["isError"] and "did you mean `kernel`?" in agent.text_of(refused)
    assert client.ask("ping") == {}


def test_standard_output_has_messages_alone(tmp_path):
    text = json.dumps(agent.request(1, "initialize", agent.HELLO)) + "\n" + json.dumps(agent.request(2, "ping")) + "\n"
    done = subprocess.run(agent.command(), input=text, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]


def test_files_below_the_root_and_tasks_of_a_folder(tmp_path):
    (tmp_path / "secret.py").write_text(RIGHT)
    (tmp_path / "link.py").symlink_to(PAIR / "kernel.py")
    os.mkfifo(tmp_path / "pipe.py")
    with agent.Agent(tmp_path, "--root", PAIR, "--tasks", PAIR) as client:
        client.initialize()
        seen = client.call("verify", reference_path="reference.py", kernel_path=str(PAIR / "kernel.py"))
        assert seen["structuredContent"]["status"] == "correct"
        for path in ("../README.md", str(tmp_path / "secret.py"), "/etc/passwd", "."):
            assert client.call("verify", reference_path="reference.py", kernel_path=path)["isError"], path
        listed = client.call("list_tasks")["structuredContent"]
        assert {each["key"] for each in listed["tasks"]} == {"reference", "scale_add_reference"}
        assert "<triton>" in agent.text_of(client.call("get_task", task_id="scale_add_reference"))
        kernel = (PAIR / "scale_add_kernel.py").read_text(encoding="utf-8")
        seen = client.call("verify", task_id="scale_add_reference", kernel=kernel)
        assert seen["structuredContent"]["status"] == "correct", agent.text_of(seen)
    with agent.Agent(tmp_path, "--root", tmp_path) as client:
        client.initialize()
        for path in ("link.py", "pipe.py"):
            assert client.call("verify", reference=REFERENCE, kernel_path=path)["isError"], path


def test_wrong_flags_are_usage_errors(tmp_path, run):
    for words, told in ((["--port", "1"], "--http"), (["--http", "--host", "0.0.0.0"], "requires a key"),
                        (["--root", tmp_path / "none"], "--root"), (["--tasks", tmp_path / "none"], "--tasks"),
                        (["--http", "--allow-host", "a/b"], "--allow-host"),
                        (["--evaluator", "http://127.0.0.1:9", "--audit", "1"], "decides --audit")):
        code, stdout, stderr = run("mcp", *words)
        assert (code, stdout) == (2, "") and told in stderr, (words, stderr)


def test_http_serves_sessions_and_streams(tmp_path, traces_left):
    with agent.Site(tmp_path) as site:
        status, headers, text = site.ask("POST", agent.request(0, "initialize", agent.HELLO))
        assert status == 200 and json.loads(text)["result"]["protocolVersion"] == agent.NEWEST
        session = {"Mcp_Session_Id": headers["Mcp-Session-Id"], "MCP_Protocol_Version": agent.NEWEST}
        assert site.ask("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)[0] == 202
        call = {"name": "verify", "arguments": {"reference": REFERENCE, "kernel": RIGHT}, "_meta": {"progressToken": 3}}
        status, headers, text = site.ask("POST", agent.request(1, "tools/call", call), **session)
        assert (status, headers["Content-Type"]) == (200, "text/event-stream")
        *told, answer = agent.events(text)
        assert told[0]["method"] == "notifications/progress"
        assert answer["id"] == 1 and answer["result"]["structuredContent"]["status"] == "correct"
        assert site.ask("GET", **session)[0] == 405
        assert site.ask("DELETE", **session)[0] == 204
        assert site.ask("POST", agent.request(2, "tools/list"), **session)[0] == 404
        assert site.interrupt() == 130
    assert not traces_left.processes()


def test_http_refuses_other_sites(tmp_path):
    with agent.Site(tmp_path) as site:
        hello = agent.request(0, "initialize", agent.HELLO)
        assert site.ask("POST", hello, Host="evil.example")[0] == 421
        assert site.ask("POST", hello, Origin="http://evil.example")[0] == 403
        assert site.ask("POST", hello, Sec_Fetch_Site="cross-site")[0] == 403


def test_http_needs_its_key(tmp_path):
    (tmp_path / "key").write_text("of-these-tests\n")
    with agent.Site(tmp_path, "--api-key-file", tmp_path / "key") as site:
        hello = agent.request(0, "initialize", agent.HELLO)
        assert site.ask("POST", hello)[0] == 401
        assert site.ask("POST", hello, Authorization="Bearer of-these-tests")[0] == 200
