"""KernelGYM's dialect, as its trainers' client uses it: submit, poll the status, fetch the result."""
import base64
import json
import time
import urllib.error
import urllib.request

import pytest

from . import program
from .served import KEY, Served

PAIR = program.ROOT / "examples" / "pair"
REFERENCE = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x, shift):
        return torch.relu(x * x + shift)


def get_inputs():
    return [torch.randn(8, 250), torch.randn(250)]


def get_init_inputs():
    return []
"""
ENTRY = """

class NetNew(torch.nn.Module):
    def forward(self, x, shift):
        return triton_kernel_wrapper(x, shift)
"""
RIGHT = (PAIR / "kernel.py").read_text(encoding="utf-8") + ENTRY
CANDIDATES = {
    "right": RIGHT,
    "wrong": RIGHT.replace("x * x + shift", "x * x - shift"),
    "does not compile": RIGHT.replace("tl.maximum", "tl.no_such_thing"),
    "no Python": RIGHT.replace("def triton_kernel_wrapper", "def def"),
    "not called as asked": RIGHT.replace("NetNew", "Other"),
    "merely PyTorch": REFERENCE.replace("Net", "NetNew"),
    "forward raises": RIGHT.replace("return triton_kernel_wrapper(x, shift)", "raise ValueError('no')"),
}
ENDED = ("completed", "failed", "timeout", "cancelled")


@pytest.fixture(scope="module")
def service(scratch):
    folder = scratch / "kernelgym"
    folder.mkdir()
    with Served(folder) as running:
        yield running.ready().url


def call(url, body=None, method=None):
    """A request as httpx makes it for http://any:KEY@host, the only place for a key in the client."""
    data = None if body is None else json.dumps(body).encode()
    basic = base64.b64encode(f"any:{KEY}".encode()).decode()
    headers = {"Content-Type": "application/json", "Authorization": f"Basic {basic}"}
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def task(name, **fields):
    """A task with all fields that the client always sends."""
    return {"task_id": f"parallel_task_{name.replace(' ', '_')}", "reference_code": REFERENCE, "kernel_code": CANDIDATES[name],
            "backend": "triton", "num_correct_trials": 5, "num_perf_trials": 100, "timeout": 60, "priority": "normal",
            "entry_point": "Net", "is_valid": False, "verbose_errors": True, "enable_profiling": True,
            "detect_decoy_kernel": True, "reference_backend": None, **fields}


def result(server, request):
    """The client's final result: the result, or the status of a failed task."""
    assert call(f"{server}/evaluate", request)[0] == 200
    while (status := call(f"{server}/status/{request['task_id']}")[1])["status"] not in ENDED:
        time.sleep(0.05)
    if status["status"] != "completed":
        return {"status": status["status"], "error_message": status["error_message"]}
    code, found = call(f"{server}/results/{request['task_id']}")
    assert code == 200 and found["status"] == "completed"
    return found


@pytest.fixture(scope="module")
def results(service):
    return {name: result(f"{service}/kernelgym", task(name)) for name in CANDIDATES}


def test_trainers_begin_when_the_server_is_healthy(service):
    code, found = call(f"{service}/kernelgym/health")
    assert (code, found["status"]) == (200, "healthy")


def test_a_right_kernel(results):
    found = results["right"]
    assert (found["compiled"], found["correctness"], found["decoy_kernel"]) == (True, True, False)
    assert (found["speedup"], found["error_message"]) == (0.0, None), "without a GPU nobody knows a speed"
    assert found["metadata"]["num_custom_kernels"] >= 1


def test_a_wrong_kernel_has_compiled(results):
    found = results["wrong"]
    assert (found["compiled"], found["correctness"], found["error_code"]) == (True, False, "CORRECTNESS_ERROR")
    assert "values differ" in found["error_message"]


@pytest.mark.parametrize("name, said", [("does not compile", "no_such_thing"), ("no Python", "SyntaxError"),
                                        ("not called as asked", "NetNew")])
def test_what_does_not_compile_has_failed_and_says_why(results, name, said):
    assert results[name]["status"] == "failed" and said in results[name]["error_message"]


def test_what_raises_has_compiled(results):
    found = results["forward raises"]
    assert (found["compiled"], found["correctness"], found["error_code"]) == (True, False, "RUNTIME_ERROR")
    assert "ValueError" in found["error_message"]


def test_pytorch_in_disguise_is_a_decoy(results):
    assert results["merely PyTorch"]["decoy_kernel"] is True


def test_the_answer_to_a_submission_is_the_result(service, results):
    code, found = call(f"{service}/evaluate", task("right"))
    assert code == 200 and found == results["right"], "the same task is not judged again"


def test_a_reference_backend_that_there_is_not_is_refused(service):
    code, found = call(f"{service}/kernelgym/evaluate", task("right", task_id="compiled", reference_backend="tensorrt"))
    assert code == 400 and "reference_backend" in found["message"] and "torch.compile" in found["message"]
    assert call(f"{service}/kernelgym/status/compiled")[0] == 404, "nothing was submitted"


def test_what_there_is_not(service):
    for path in ("status", "results"):
        assert call(f"{service}/kernelgym/{path}/nothing")[0] == 404
    assert call(f"{service}/kernelgym/tasks/nothing", method="DELETE")[0] == 404


def test_a_task_is_cancelled(service):
    slow = task("right", task_id="slow", reference_code=f"import time\ntime.sleep(60)\n{REFERENCE}", timeout=1)
    code, found = call(f"{service}/kernelgym/evaluate", slow)
    assert code == 200 and found["status"] in ("pending", "processing"), "what takes longer is asked for by its status"
    assert call(f"{service}/kernelgym/results/slow")[0] == 404
    assert call(f"{service}/kernelgym/tasks/slow", method="DELETE")[0] == 200
    assert call(f"{service}/kernelgym/status/slow")[1]["status"] == "cancelled"


@pytest.mark.parametrize("wrong, named", [({"workflow": "kernel_simple"}, "workflow"), ({"kernel_code": ""}, "kernel_code"),
                                          ({"num_correct_trials": "5"}, "correctness_trials")])
def test_bad_requests_are_refused_in_the_dialect(service, wrong, named):
    code, found = call(f"{service}/kernelgym/evaluate", task("right", **wrong))
    assert (code, found["error_code"], found["task_id"]) == (400, "VALIDATION_ERROR", "parallel_task_right")
    assert named in found["message"]
