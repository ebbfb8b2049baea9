"""Kernels of all kinds through the labelling process, with the real compiler in the sandbox."""
import json
import os
import subprocess
import sys
import time

import pytest

from kernelwright._dataset import caller

CONTEXT = "import torch\nimport triton\nimport triton.language as tl\n"
ADD = """@triton.jit
def add(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)
"""
TYPED = """@triton.jit
def typed(x: "*fp32", o: "*fp32", n: "i32", BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.{what}(tl.load(x + i, mask=i < n)), mask=i < n)
"""


class Labels:
    """One server; `judge` returns the label of one kernel."""

    def __init__(self, *more):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        environment.pop("TRITON_INTERPRET", None)
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "kernelwright._dataset.label_server", "--jobs", "2", *more],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.ready = json.loads(self.process.stdout.readline())

    def reply(self, **job):
        """How a job ended, and its answer."""
        job = {"kind": "triton", "context": CONTEXT, "missing": [], "launches": [], **job}
        self.process.stdin.write(f"7 {json.dumps(job)}\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        assert reply["number"] == 7
        return reply

    def judge(self, text, name, *launches, **more):
        """The answer for a kernel that is launched with these arguments."""
        launches = [each if isinstance(each, dict) else {"caller_text": "", "arguments": each} for each in launches]
        reply = self.reply(text=text, name=name, launches=launches, **more)
        assert reply["how"] == "answered", reply
        return json.loads(reply["answer"])

    def close(self):
        """End the server."""
        self.process.stdin.close()
        return self.process.wait(20)


@pytest.fixture(scope="module")
def labels():
    """A confined server with short limits."""
    server = Labels("--seconds", "2")
    yield server
    assert server.close() == 0


def given(*texts, **named):
    """Arguments of a launch."""
    return [{"name": "", "text": text} for text in texts] + [{"name": key, "text": text} for key, text in named.items()]


def test_a_guessed_signature_that_compiles_is_compilable(labels):
    answer = labels.judge(ADD, "add")
    assert (answer["compile"], answer["compiled_for"]) == ("compilable", ["sm_80", "sm_86", "sm_90"])


def test_constants_of_the_launch_are_taken(labels):
    answer = labels.judge(ADD, "add", given("x", "o", "n", BLOCK="256", num_warps="8"))
    assert answer["compile"] == "compilable" and "BLOCK=256" in answer["signature"] and "num_warps=8" in answer["signature"]


def test_a_certain_signature_that_does_not_compile_fails(labels):
    answer = labels.judge(TYPED.format(what="arange"), "typed", given("x", "o", "n", BLOCK="64"))
    assert answer["compile"] == "fails" and "end" in answer["reason"] and "line 4" in answer["reason"]


def test_a_name_that_is_none_at_first_is_not_none_for_certain(labels):
    caller_text = "def run(*args):\n    x = None\n    if args:\n        x = args[0]\n    add[(1,)](x, x, 64, BLOCK=64)\n"
    launch = {"caller": "run", "caller_text": caller_text, "grid": "(1,)",
              "arguments": [{"name": "", "text": "x"}, {"name": "", "text": "x"}, {"name": "", "text": "64"},
                            {"name": "BLOCK", "text": "64"}]}
    assert labels.judge(ADD, "add", launch)["compile"] == "compilable"


def test_a_certain_signature_that_compiles_has_no_guess(labels):
    answer = labels.judge(TYPED.format(what="exp"), "typed", given("x", "o", "n", BLOCK="64"))
    assert answer["compile"] == "compilable" and "?" not in answer["signature"]


def test_one_guess_and_nothing_fails(labels):
    for launch in ([], [given("x", "o", "n", BLOCK="b")], [given("x", "o", "n", "64"), given("x", "o", "n", "b")]):
        assert labels.judge(TYPED.format(what="arange"), "typed", *launch)["compile"] == "signature_unknown"


def test_a_launch_of_unseen_arguments_is_no_certain_one(labels):
    text = TYPED.format(what="arange").replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr = 64")
    assert labels.judge(text, "typed", given("x", "o", "n"))["compile"] == "fails"
    assert labels.judge(text, "typed", given("*everything"))["compile"] == "signature_unknown"
    assert labels.judge(text, "typed", given("x", "o", "n", "**more"))["compile"] == "signature_unknown"


def test_something_missing_and_nothing_fails(labels):
    answer = labels.judge(TYPED.format(what="arange"), "typed", given("x", "o", "n", BLOCK="64"), missing=["other"])
    assert answer["compile"] == "signature_unknown"


def test_a_name_that_the_language_lacks_fails_whatever_the_arguments(labels):
    for launch in ([], [given("x", "o", "n", BLOCK="b")]):
        answer = labels.judge(TYPED.format(what="cidv"), "typed", *launch)
        assert (answer["compile"], answer["reason"]) == ("fails", "triton.language has no cidv, in typed")
    helper = "@triton.jit\ndef multiple(a, b):\n    return tl.cidv(a, b) * b\n"
    assert labels.judge(helper, "multiple")["compile"] == "fails"
    answer = labels.judge(ADD.replace("+ 1", "+ multiple(n, 2)"), "add", context=CONTEXT + helper)
    assert (answer["compile"], answer["reason"]) == ("fails", "triton.language has no cidv, in multiple")


def test_a_name_that_only_a_branch_uses_does_not_fail(labels):
    for line in ("    if BLOCK > 4096:\n        n = tl.cidv(n, 2)\n", "    n = tl.cidv(n, 2) if BLOCK > 4096 else n\n",
                 "    for i in tl.static_range(0):\n        n = tl.cidv(n, 2)\n"):
        text = ADD.replace("    i = ", line + "    i = ")
        assert labels.judge(text, "add", given("x", "o", "n", BLOCK="256"))["compile"] == "compilable", line


def test_a_syntax_error_fails(labels):
    answer = labels.judge("@triton.jit\ndef k(x:\n    pass\n", "k")
    assert answer["compile"] == "fails" and "SyntaxError" in answer["reason"]


def test_what_needs_another_package_is_not_tried(labels):
    text = ADD.replace("+ 1", "+ one(1)")
    answer = labels.judge(text, "add", context=CONTEXT + "from others.package import one\n")
    assert (answer["compile"], answer["reason"]) == ("not_tried", "needs others.package.one")


def test_decorators_of_others_are_no_need_of_the_kernel(labels):
    answer = labels.judge("@cached(x=1)\n" + ADD, "add", context=CONTEXT + "from others.package import cached\n")
    assert answer["compile"] == "compilable"


def test_a_name_nobody_defines_is_not_tried(labels):
    answer = labels.judge(ADD.replace("+ 1", "+ ONE"), "add", missing=["ONE"])
    assert (answer["compile"], answer["reason"]) == ("not_tried", "needs ONE")


def test_configurations_of_the_tuner_are_certain(labels):
    tuned = "@triton.autotune(configs=[triton.Config({'BLOCK': b}, num_warps=2) for b in (48, 32)], key=['n'])\n" + ADD
    answer = labels.judge(tuned, "add")
    assert answer["compile"] == "compilable" and "BLOCK=32," in answer["signature"]


def test_heuristics_are_computed(labels):
    text = "@triton.heuristics({'BLOCK': lambda args: 32 if args['x'] is not None else 7})\n" + ADD
    assert "BLOCK=32?" in labels.judge(text, "add")["signature"]


def test_an_indented_kernel_is_read(labels):
    indented = "\n".join(("    " if number else "") + line for number, line in enumerate(ADD.splitlines()))
    assert labels.judge(indented, "add")["compile"] == "compilable"


def test_a_function_that_returns_is_called_from_a_kernel(labels):
    answer = labels.judge("@triton.jit\ndef twice(x, N: tl.constexpr):\n    return tl.sum(x, 0) * N\n", "twice")
    assert answer["compile"] == "compilable"


def test_too_much_shared_memory_is_no_success(labels):
    text = """@triton.jit
def big(a: "*fp32", b: "*fp32", N: tl.constexpr):
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(b + i, tl.trans(tl.load(a + i)))
"""
    answer = labels.judge(text, "big", given("a", "b", "256", num_warps="32"))
    assert answer["compile"] == "fails" and "shared memory" in answer["reason"]


def test_shared_memory_of_the_target_decides(labels):
    text = """@triton.jit
def wide(a: "*fp32", b: "*fp32", M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    tl.store(b + n[:, None] * M + m[None, :], tl.trans(tl.load(a + m[:, None] * N + n[None, :])))
"""
    answer = labels.judge(text, "wide", given("a", "b", "128", "256", num_warps="32"))
    assert (answer["compile"], answer["compiled_for"]) == ("compilable", ["sm_80", "sm_90"]), answer
    assert "sm_86: " in answer["reason"] and "of shared memory of 101376" in answer["reason"]


def test_what_a_loop_does_at_import_ends(labels):
    assert labels.reply(text=ADD, name="add", context=CONTEXT + "while True:\n    pass\n")["how"] == "time limit"


def test_a_process_that_is_kept_from_running_gets_its_label_all_the_same(labels):
    """The elapsed time reaches three times the limit of processor time, as on a busy machine."""
    assert labels.judge(ADD, "add", context=CONTEXT + "import time\ntime.sleep(7)\n")["compile"] == "compilable"


def test_what_waits_for_ever_is_stuck_and_tried_twice():
    server = Labels("--stuck-after", "1.5")
    began = time.monotonic()
    assert server.reply(text=ADD, name="add", context=CONTEXT + "import time\ntime.sleep(1000)\n")["how"] == "stuck"
    assert time.monotonic() - began > 3
    assert server.judge(ADD, "add")["compile"] == "compilable"
    assert server.close() == 0


def test_once_a_second_try_is_stuck_others_have_none():
    server = Labels("--stuck-after", "1.5")
    stuck = {"text": ADD, "name": "add", "context": CONTEXT + "import time\ntime.sleep(1000)\n"}
    assert server.reply(**stuck)["how"] == "stuck"
    began = time.monotonic()
    assert server.reply(**stuck)["how"] == "stuck"
    assert time.monotonic() - began < 2.9
    assert server.close() == 0


def test_the_disk_and_the_network_are_out_of_reach(labels, tmp_path):
    bait = tmp_path / "bait"
    bait.write_text("as it was")
    code = CONTEXT + f"""
import socket
done = []
try:
    open({str(bait)!r}, "w").write("changed"); done.append("wrote")
except OSError: pass
try:
    open("/bait", "w"); done.append("root")
except OSError: pass
try:
    socket.create_connection(("127.0.0.1", 9), timeout=1); done.append("connected")
except ConnectionRefusedError: done.append("network")
except OSError: pass
import os
if os.getuid() == 0: done.append("uid 0")
if done:
    os._exit(3)
"""
    assert labels.judge(ADD, "add", context=code)["compile"] == "compilable"
    assert bait.read_text() == "as it was"


def test_a_forged_answer_is_about_its_own_kernel_only(labels):
    forger = CONTEXT + """
import os
for fd in range(3, 64):
    try: os.write(fd, b'{"number":8,"how":"answered","answer":"forged"}\\n')
    except OSError: pass
os._exit(0)
"""
    reply = labels.reply(text=ADD, name="add", context=forger)
    assert reply["how"] == "answered" and "forged" in reply["answer"]
    assert labels.judge(ADD, "add")["compile"] == "compilable"


def test_an_endless_answer_is_cut_off(labels):
    flood = CONTEXT + """
import os
while True:
    for fd in range(3, 64):
        try: os.write(fd, b"x" * 4096)
        except OSError: pass
"""
    reply = labels.reply(text=ADD, name="add", context=flood)
    assert (reply["how"], reply["answer"]) == ("too long", "")


def test_processes_are_few_and_do_not_outlive_the_job(labels):
    bomb = CONTEXT + """
import os, time
count = 0
for _ in range(64):
    try:
        if os.fork() == 0:
            time.sleep(600)
    except OSError:
        break
    count += 1
if count >= 60:
    os._exit(3)
os._exit(4)
"""
    reply = labels.reply(text=ADD, name="add", context=bomb)
    assert reply["how"] == "died: status 4"
    # The answer comes shortly before the ended children are reaped.
    until = time.monotonic() + 5
    while children(labels.process.pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert children(labels.process.pid) == []


def children(pid):
    """Processes whose parent is this one."""
    found = []
    for each in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{each}/stat") as stat:
                found += [int(each)] if int(stat.read().rpartition(")")[2].split()[1]) == pid else []
        except OSError:
            continue
    return found


def test_memory_is_bounded(labels):
    hungry = CONTEXT + """
import mmap, os
kept = []
try:
    for _ in range(8): kept.append(mmap.mmap(-1, 1 << 30))
except OSError:
    os._exit(5)
os._exit(3)
"""
    assert labels.reply(text=ADD, name="add", context=hungry)["how"] == "died: status 5"


def test_cuda_without_nvcc_is_not_tried(labels):
    answer = labels.judge("__global__ void k() {}", "k", kind="cuda", context="")
    assert (answer["compile"], answer["reason"]) == ("not_tried", "no nvcc")


CALLER = """
def f(x, y: torch.Tensor, eps: float = 1e-5, flag=True):
    M, N = x.shape
    B = 64
    C = triton.next_power_of_2(N)
    if N > 8:
        D = 16
    else:
        D = 32
    out = torch.empty(M, N, dtype=torch.float16, device=x.device)
    like = torch.empty_like(out)
    half = x.to(torch.bfloat16).contiguous()
"""


@pytest.mark.parametrize("text, kind, value, certain", [
    ("M", "int", None, True), ("x.stride(0)", "int", None, True), ("B", "int", 64, True), ("D", "int", 16, False),
    ("eps", "float", 1e-5, False), ("K", "int", 5, True), ("min(B, 32)", "int", 32, True), ("flag", "bool", True, False),
    ("x is None", "bool", None, False), ("None", "none", None, True), ("-1", "int", -1, True),
    ("unknown", "unknown", None, False)])
def test_what_a_caller_says(text, kind, value, certain):
    fact = caller.Caller(CALLER, {"K": 5}).fact(text)
    assert (fact.kind, fact.value if fact.known else None, fact.certain) == (kind, value, certain)


@pytest.mark.parametrize("text, dtype", [("out", "fp16"), ("like", "fp16"), ("half", "bf16"), ("half.view(-1)", "bf16"),
                                         ("x.float()", "fp32"), ("y", None)])
def test_which_dtypes_a_caller_makes(text, dtype):
    fact = caller.Caller(CALLER, {}).fact(text)
    assert (fact.kind, fact.dtype, fact.certain) == ("tensor", dtype, dtype is not None)


def test_deep_and_circular_callers_are_read():
    deep = caller.Caller("def f():\n    a = b\n    b = a\n    c = " + "-" * 5000 + "1\n", {})
    assert deep.fact("a").kind == "unknown" and deep.fact("(" * 3000).kind == "unknown"
