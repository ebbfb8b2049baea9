"""`--evaluator`: verify and run give the same results with a judging service as with the local engine."""
import json
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from . import killing, loop, program
from .served import KEY, Served

SAMPLE = program.ROOT / "examples" / "sample"
ROWS = 4
# These fields differ between any two verdicts on one candidate: times, and results on random inputs.
DRAWN = loop.ON_RANDOM_INPUTS | {"stages_ms", "error"}
if program.DEVICE != "cpu":
    DRAWN |= {"timing", "launches", "speedup", "reference_time_ms", "kernel_time_ms", "fast_1", "fast_2", "triton_share",
              "device_time_share"}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Served(tmp_path_factory.mktemp("served")) as service:
        yield service.ready()


@pytest.fixture
def ask(run, served):
    """Run a verb with the service as its evaluator."""
    def call(*words, evaluator=served.url, key=KEY, **environment):
        return run(*words, "--evaluator", evaluator, limit=120, KERNELWRIGHT_EVALUATOR_KEY=key, **environment)
    return call


def verdicts(path):
    return {verdict["id"]: verdict for verdict in program.read_verdicts(path.read_text(encoding="utf-8"))}


def comparable(verdict):
    left = {key: value for key, value in verdict.items() if key not in DRAWN}
    if verdict["comparison"]:
        left["comparison"] = {key: verdict["comparison"][key] for key in ("tolerance", "trials")}
    if verdict["generality"]:
        left["generality"] = {key: verdict["generality"][key] for key in ("why_not", "shapes")}
    return left


def rows(count):
    """Jobs that are judged in a fraction of a second each: right and wrong ones in turn."""
    return [{"id": f"row-{number}", "task_id": f"sample/{number}", "reference_code": killing.REFERENCE.format(number=number),
             "kernel_code": killing.KERNEL.format(added=number + 0.5 * (number % 2)), "mine": number}
            for number in range(count)]


def test_verdicts_are_those_of_the_engine_here_and_each_goes_on_where_the_other_ended(ask, run, tmp_path):
    here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    words = ("verify", SAMPLE, "--limit", ROWS)
    assert run(*words, "--device", program.DEVICE, "--python", sys.executable, "--output", here).code == 0
    done = ask(*words, "--output", there)
    assert done.code == 0, done.stderr
    assert f"{ROWS} sample" in done.stderr and f"recorded verdicts: {ROWS} of {ROWS} agree" in done.stdout
    local, remote = verdicts(here), verdicts(there)
    assert list(remote) != [] and set(remote) == set(local)
    for row in local:
        assert loop.difference(comparable(local[row]), comparable(remote[row])) == "", row
    # The protocol is equal, so no row is judged again.
    before = here.read_bytes()
    again = ask(*words, "--output", here)
    assert again.code == 0 and here.read_bytes() == before
    assert f"{ROWS} candidates" in again.stdout


def test_a_run_goes_through_it_like_any_other(ask, served, tmp_path):
    traces = killing.judged_world(tmp_path, tasks=2).traces
    output = tmp_path / "out.json"
    done = ask("run", "--traces", traces, "--model-replay", traces, "--multi-turn", "--output", output, "--quiet")
    assert done.code == 0, done.stderr
    found = loop.read(output)
    assert [[turn["result"]["status"] for turn in trace["turns"]] for trace in found] == [
        ["failed", "incorrect", "correct"]] * 2
    protocol = served.asked("/v1/service")["protocol"]
    assert {turn["result"]["environment"]["protocol"] for trace in found for turn in trace["turns"]
            if turn["result"]["stage"] != "static"} == {protocol}


def test_what_the_command_line_asks_for_travels(ask, tmp_path, batch):
    output = tmp_path / "out.jsonl"
    done = ask("verify", "--batch", batch(rows(1)), "--correctness-trials", 2, "--tolerance", "rtol=0.5,atol=0.25",
               "--output", output)
    assert done.code == 0, done.stderr
    comparison = verdicts(output)["row-0"]["comparison"]
    assert comparison["trials"] == 2
    assert comparison["tolerance"] == {"name": "custom", "rtol": 0.5, "atol": 0.25}


def figure(served, name):
    """A figure of its /metrics, counted since its start."""
    return sum(float(line.rsplit(" ", 1)[1]) for line in served.text("/metrics").splitlines()
               if line.split("{")[0].split(" ")[0] == name)


def test_a_service_that_is_killed_in_mid_batch_loses_and_doubles_nothing(scratch, served, tmp_path, batch):
    output, before = tmp_path / "out.jsonl", figure(served, "kernelwright_submitted_total")
    command = [program.binary(), "verify", "--batch", str(batch(rows(14))), "--output", str(output),
               "--evaluator", served.url, "--jobs", "8"]
    process = program.start(command, scratch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, environment={"KERNELWRIGHT_EVALUATOR_KEY": KEY})
    assert loop.wait_for(lambda: output.exists() and len(output.read_bytes().splitlines()) >= 3, process, 60)
    taken = figure(served, "kernelwright_submitted_total") - before
    served.kill()
    assert len(output.read_bytes().splitlines()) < 12, "it was quicker than the kill"
    served.start()
    done = program.finish(process, 120)
    assert done.code == 0, done.stderr
    lines = program.read_verdicts(output.read_text(encoding="utf-8"))
    assert sorted(each["id"] for each in lines) == sorted(each["id"] for each in rows(14))
    for verdict in lines:
        assert verdict["status"] == ("incorrect" if verdict["mine"] % 2 else "correct"), verdict
    # Evaluations from before the kill keep their ids after it; some came after the count.
    assert 6 <= taken + figure(served, "kernelwright_submitted_total") <= 14


def test_ctrl_c_cancels_there_what_nobody_waits_for_any_more(scratch, served, tmp_path, batch):
    endless = rows(4)
    for row in endless:
        row["kernel_code"] = row["kernel_code"].replace("    out = ", "    while True: pass\n    out = ")
    command = [program.binary(), "verify", "--batch", str(batch(endless)), "--evaluator", served.url, "--jobs", "4"]
    process = program.start(command, scratch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            environment={"KERNELWRIGHT_EVALUATOR_KEY": KEY})
    asked = len(served.log())
    assert loop.wait_for(lambda: any(each.get("target") == "/v1/evaluations/batch" for each in served.log()[asked:]),
                         process, 30)
    process.send_signal(signal.SIGINT)
    assert program.finish(process, 20).code == 130
    deletions = [each for each in served.log()[asked:] if each.get("method") == "DELETE"]
    assert deletions and all(each["status"] == 200 for each in deletions)
    assert loop.wait_for(lambda: figure(served, "kernelwright_queued") + figure(served, "kernelwright_running") == 0,
                         None, 20)


@pytest.mark.parametrize("key", ["", "another-key"])
def test_a_wrong_key_is_an_error_that_shows_none(ask, batch, key):
    code, stdout, stderr = ask("verify", "--batch", batch(rows(1)), key=key)
    assert code == 1 and stdout == "" and "401" in stderr and "KERNELWRIGHT_EVALUATOR_KEY" in stderr
    assert KEY not in stderr and "another-key" not in stderr


def test_another_program_at_the_address_is_named(ask, batch):
    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>hello</html>")

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        code, _, stderr = ask("verify", "--batch", batch(rows(1)), evaluator=f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
    assert code == 1 and "another program" in stderr


@pytest.mark.parametrize("words", [("--device", "cpu"), ("--memory", "8G"), ("--audit", "1"), ("--shapes", "given"),
                                   ("--instrument", "replay"), ("--recordings", "x"),
                                   ("--allow-unsandboxed",)])
def test_what_a_service_decides_alone_is_refused(ask, batch, words):
    code, _, stderr = ask("verify", "--batch", batch(rows(1)), *words)
    assert code == 2 and words[0] in stderr and "--evaluator local" in stderr


def test_a_name_leads_to_what_was_deployed(run, served, batch, tmp_path):
    known = tmp_path / "kernelwright" / "evaluators.json"
    words = ("verify", "--batch", batch(rows(1)), "--evaluator", "ray", "--json")
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "KERNELWRIGHT_EVALUATOR_KEY": KEY}
    code, _, stderr = run(*words, **environment)
    assert code == 1 and "kernelwright deploy ray" in stderr and str(known) in stderr
    known.parent.mkdir()
    known.write_text(json.dumps({"ray": {"url": served.url, "made_at": "2026-01-01T00:00:00Z"}}), encoding="utf-8")
    code, stdout, stderr = run(*words, **environment)
    assert code == 0, stderr
    assert json.loads(stdout)["status"] == "correct"


def test_the_environment_names_it_for_the_program_and_for_python(served, batch, run, monkeypatch):
    monkeypatch.setenv("KERNELWRIGHT", program.binary())
    monkeypatch.setenv("KERNELWRIGHT_EVALUATOR", served.url)
    monkeypatch.setenv("KERNELWRIGHT_EVALUATOR_KEY", KEY)
    code, stdout, stderr = run("verify", "--batch", batch(rows(1)), "--json")
    assert code == 0 and json.loads(stdout)["mine"] == 0, stderr
    sys.path.insert(0, str(program.ROOT / "python"))
    import kernelwright
    row = rows(1)[0]
    kernel = {"kernel_code": row["kernel_code"], "reference_code": row["reference_code"]}
    assert kernelwright.benchmark_batch([kernel])[0]["status"] == "correct"
    with pytest.raises(kernelwright.VerifierError, match="cannot connect"):
        kernelwright.benchmark_batch([kernel], evaluator="http://127.0.0.1:1")
