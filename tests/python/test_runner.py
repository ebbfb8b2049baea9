"""Fork server and runners, driven over their sockets as the supervisor drives them."""
import os
import select
import signal
import sys

import pytest
import torch
from fork_client import Server, Task, memory_file

from kernelwright._engine import wire
from kernelwright._engine.moved import moved_initialisers
from kernelwright._engine.wire import made, text, texts

HEAD = "import torch, triton, triton.language as tl\n"
ADD = HEAD + """
@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def triton_kernel_wrapper(x, y):
    print("called")
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
    return out
"""
LINEAR = HEAD + """
class ModelNew(torch.nn.Module):
    def __init__(self, size, bias=True):
        super().__init__()
        self.fc = torch.nn.Linear(size, size, bias=bias)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls = self.calls + 1
        return self.fc(x) * self.calls
"""


@pytest.fixture(scope="module")
def interpreter():
    server = Server("interpret")
    yield server
    assert server.close() == 0


@pytest.fixture(scope="module")
def compiler():
    server = Server("compile")
    yield server
    server.close()


@pytest.fixture
def task():
    return Task([torch.randn(100), torch.randn(100)])


def loaded(runner, code, task, **more):
    answer = runner.load(code, task, **more)
    assert isinstance(answer, wire.LoadedT), vars(answer)
    return answer


def failure(answer):
    assert isinstance(answer, wire.FailedT), vars(answer)
    return text(answer.stage), text(answer.errorClass), answer.line, text(answer.error)


def test_ready_names_the_versions(interpreter):
    assert text(interpreter.ready.torch) == torch.__version__ and interpreter.ready.pid == interpreter.process.pid


def test_a_kernel_is_interpreted(interpreter, task):
    runner = interpreter.spawn()
    answer = loaded(runner, ADD, task)
    assert (text(answer.entry), text(answer.convention)) == ("triton_kernel_wrapper", "wrapper")
    assert texts(answer.arguments) == ["x=input:0", "y=input:1"]
    for trial in range(3):
        answer = runner.call(task, trial=trial)
        x, y = (task.arena.tensor(each.tensor) for each in task.spec.inputs.items)
        assert answer.trial == trial and torch.equal(task.result(answer), x + y)
        assert (answer.launchCount, answer.programCount) == (1, 2)
        assert text(answer.launches[0].name) == "add_kernel" and list(answer.launches[0].grid) == [2, 1, 1]
    assert runner.words()[:4] == (3, 0, 3, 6)
    assert runner.exited() == 0
    assert runner.printed() == "called\n" * 3


TUNED = HEAD + """
@triton.autotune(configs=[triton.Config({"BLOCK": size}) for size in (64, 128, 256)], key=["n"]RESET)
@triton.jit
def add_kernel(x, out, n, BLOCK: tl.constexpr):
    tl.atomic_add(out, BLOCK)


def triton_kernel_wrapper(x, y):
    out = torch.zeros((), dtype=torch.int32, device=x.device)
    add_kernel[(1,)](x, out, x.numel())
    return out
"""


@pytest.mark.parametrize("number, block", [(0, 64), (1, 128), (2, 256), (3, 64)])
def test_an_autotuner_takes_the_configuration_that_is_asked_for(interpreter, task, number, block):
    runner = interpreter.spawn()
    assert isinstance(runner.open(task, poison="nan", configuration=number), wire.OpenedT)
    code = TUNED.replace("RESET", ', reset_to_zero=["out"]')
    runner.ask(made(wire.LoadT, file_name="kernel.py"), [memory_file(code.encode())])
    answer = runner.call(task)
    assert (task.result(answer).item(), answer.configurations) == (block, 3)


@pytest.mark.parametrize("number, total", [(0, 64), (1, 256)])
def test_another_configuration_than_the_first_is_launched_once_more_before(interpreter, task, number, total):
    runner = interpreter.spawn()
    runner.open(task, poison="nan", configuration=number)
    runner.ask(made(wire.LoadT, file_name="kernel.py"), [memory_file(TUNED.replace("RESET", "").encode())])
    assert task.result(runner.call(task)).item() == total


def test_a_kernel_without_an_autotuner_has_no_configurations(interpreter, task):
    runner = interpreter.spawn()
    loaded(runner, ADD, task)
    assert runner.call(task).configurations == 0


def test_a_kernel_is_compiled(compiler, task):
    runner = compiler.spawn()
    loaded(runner, ADD, task)
    answer = runner.call(task)
    launch = answer.launches[0]
    assert len(text(launch.cubinSha256)) == 64 and launch.registers > 0 and answer.launchCount == 1
    assert runner.exited() == 0


def test_a_kernel_that_does_not_compile(compiler, task):
    runner = compiler.spawn()
    loaded(runner, ADD.replace("tl.load(y + at, mask=inside)", "tl.tanh(at)"), task)
    stage, kind, line, error = failure(runner.call(task))
    assert (stage, kind, line) == ("compile", "compile_error", 7) and "tanh" in error


def test_skipped_launches_leave_poison(interpreter, task):
    runner = interpreter.spawn()
    loaded(runner, ADD, task)
    answer = runner.call(task, effect=wire.Effect.skipped)
    assert torch.isnan(task.result(answer)).all()


@pytest.mark.parametrize("code, expected", [
    ("def f(:\n", ("parse", "syntax_error", 1)),
    ("x = 1\0", ("parse", "syntax_error", -1)),
    ("import torch\nimport nowhere_at_all\n", ("import", "import_error", 2)),
    ("def something(x): return x\n", ("import", "missing_entry", -1)),
    ("import sys\nsys.exit(3)\n", ("import", "runtime_error", 2)),
    (HEAD + "class ModelNew:\n    def __init__(self):\n        1 / 0\n", ("import", "runtime_error", 4)),
])
def test_what_cannot_be_loaded(interpreter, task, code, expected):
    assert failure(interpreter.spawn().load(code, task))[:3] == expected


@pytest.mark.parametrize("body, expected", [
    ("    raise ValueError('no')", ("run", "runtime_error", 3)),
    ("    return 1, [2.5, None], {'k': x}", None),
    ("    return [[]] * 100000", ("run", "wrong_structure", -1)),
])
def test_what_is_returned_or_raised(interpreter, task, body, expected):
    runner = interpreter.spawn()
    loaded(runner, HEAD + "def triton_kernel_wrapper(x, y):\n" + body + "\n", task)
    answer = runner.call(task)
    if expected:
        assert failure(answer)[:3] == expected
    else:
        assert [each.kind for each in answer.outputs.items] == [
            wire.ValueKind.integer, wire.ValueKind.list, wire.ValueKind.dict]


def test_a_missing_argument_is_named(interpreter, task):
    runner = interpreter.spawn()
    loaded(runner, HEAD + "def triton_kernel_wrapper(x, y, max_dim): return x\n", task)
    stage, kind, _, error = failure(runner.call(task))
    assert (stage, kind) == ("run", "runtime_error") and "max_dim" in error


def test_a_caught_out_of_bounds_access_counts(interpreter, task):
    code = ADD.replace("mask=inside)", "mask=at < 2 * n)").replace(
        "    add_kernel", "    try:\n        add_kernel").replace(
        "    return out", "    except Exception: pass\n    return out")
    runner = interpreter.spawn()
    loaded(runner, code, task)
    assert failure(runner.call(task))[:2] == ("run", "out_of_bounds")


def test_a_guard_page_kills(interpreter, task):
    code = HEAD + """
import ctypes

@triton.jit
def kernel(x):
    reach()
    tl.load(x)

def reach():
    ctypes.string_at(WHERE, 32)

def triton_kernel_wrapper(x, y):
    global WHERE
    WHERE = x.data_ptr() + x.untyped_storage().nbytes()
    kernel[(1,)](x)
    return x
"""
    runner = interpreter.spawn()
    loaded(runner, code, task)
    with pytest.raises(SystemExit, match="Segmentation fault"):
        runner.call(task)
    assert os.WTERMSIG(runner.exited()) == signal.SIGSEGV
    assert runner.words()[:2] == (3, 1)


def test_modules_are_constructed_as_the_reference_and_their_buffers_restored(interpreter):
    x = torch.randn(4, 8)
    with moved_initialisers(3):
        reference = torch.nn.Linear(8, 8)
    weights = {"fc." + name: each.detach() for name, each in reference.state_dict().items()}
    task = Task([x], weights, init_args=[8], init_seed=3, move_weights=True)
    runner = interpreter.spawn()
    answer = loaded(runner, LINEAR, task)
    assert (text(answer.convention), text(answer.weights), answer.weightsDiffer) == ("module", "constructed", False)
    for _ in range(2):
        assert torch.equal(task.result(runner.call(task)), reference(x).detach())


@pytest.mark.parametrize("how, word", [("automatic", "loaded"), ("constructed", "constructed")])
def test_weights_that_differ_are_loaded_by_name(interpreter, how, word):
    x, weight = torch.randn(4, 8), torch.randn(8, 8)
    task = Task([x], {"fc.weight": weight}, init_args=[8], init_kwargs={"bias": False}, init_seed=3)
    runner = interpreter.spawn()
    answer = loaded(runner, LINEAR, task, weights=getattr(wire.Weights, how))
    assert (text(answer.weights), answer.weightsDiffer) == (word, True)
    same = torch.equal(task.result(runner.call(task)), torch.nn.functional.linear(x, weight))
    assert same is (how == "automatic")


def test_wrappers_get_weights(interpreter):
    weights = {"fc.weight": torch.randn(3, 8), "fc.bias": torch.randn(3)}
    task = Task([torch.randn(4, 8)], weights)
    runner = interpreter.spawn()
    answer = loaded(runner, HEAD + "def triton_kernel_wrapper(x, w, bias):\n"
                    "    return torch.nn.functional.linear(x, w, bias)\n", task)
    assert texts(answer.arguments) == ["x=input:0", "w=weight:fc.weight", "bias=weight:fc.bias"]
    x = task.arena.tensor(task.spec.inputs.items[0].tensor)
    assert torch.allclose(task.result(runner.call(task)), torch.nn.functional.linear(x, *weights.values()))


REFERENCE = """
import dataclasses, inspect
import torch

torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True

@dataclasses.dataclass
class Sizes:
    size: int

@torch.jit.script
def scaled(x, factor: float):
    return x * factor

class Base(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc = torch.nn.Linear(Sizes(size).size, size)
        self.register_buffer("calls", torch.zeros(()))

class Model(Base):
    def forward(self, x):
        assert "class Model" in inspect.getsource(Model)
        print(torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32)
        self.calls += 1
        return scaled(self.fc(x), 2.0) * self.calls

def reference_impl(weight, n, x):
    return weight * n + x
"""


@pytest.mark.parametrize("tf32", [False, True])
def test_a_reference_is_called_like_a_candidate(interpreter, tf32):
    x, weights = torch.randn(4, 8), {"fc.weight": torch.randn(8, 8), "fc.bias": torch.randn(8), "calls": torch.zeros(())}
    task = Task([x], weights, entry_point="Model", init_args=[8])
    runner = interpreter.spawn()
    answer = loaded(runner, REFERENCE, task, file_name="reference.py", reference=True, tf32=tf32, compiled=True)
    assert (text(answer.entry), text(answer.convention), text(answer.weights)) == ("Model", "module", "loaded")
    expected = torch.nn.functional.linear(x, weights["fc.weight"], weights["fc.bias"]) * 2
    for _ in range(2):
        assert torch.equal(task.result(runner.call(task)), expected)
    assert runner.exited() == 0 and runner.printed() == f"{tf32} {tf32}\n" * 2


def test_a_reference_function_gets_the_inputs_in_their_order(interpreter):
    weight, x = torch.randn(3), torch.randn(3)
    task = Task([weight, 4, x], {}, names=("weight", "n", "x"), entry_point="reference_impl")
    runner = interpreter.spawn()
    answer = loaded(runner, REFERENCE, task, file_name="reference.py", reference=True)
    assert texts(answer.arguments) == ["weight=input:0", "n=input:1", "x=input:2"]
    assert torch.equal(task.result(runner.call(task)), weight * 4 + x)


def test_a_reference_that_fails_says_so(interpreter):
    task = Task([torch.ones(3)], entry_point="Missing")
    assert failure(interpreter.spawn().load(REFERENCE, task, reference=True))[:2] == ("import", "missing_entry")
    task = Task([torch.ones(3)], entry_point="Model")
    assert failure(interpreter.spawn().load("import nowhere_at_all", task, reference=True))[:3] == (
        "import", "import_error", 1)


def test_without_a_device_nothing_is_recorded(interpreter, task):
    runner = interpreter.spawn()
    loaded(runner, ADD, task)
    found = failure(runner.ask(wire.made(wire.RecordT, input_address=1 << 40), [task.arena.export_fd()]))
    assert found[:2] == ("record", "unsupported_candidate") and "device" in found[3]
    assert failure(runner.ask(wire.made(wire.RecordT)))[1] == "infrastructure"


def test_without_a_device_no_call_is_timed(interpreter, task):
    runner = interpreter.spawn()
    loaded(runner, ADD, task)
    assert runner.call(task, timed=True, flush_l2=True).deviceMs == -1


def test_faults_of_ours_are_no_candidates(interpreter, task):
    runner = interpreter.spawn()
    assert failure(runner.call(task))[1] == "infrastructure"
    assert failure(runner.ask(wire.made(wire.LoadT), [runner.page]))[1] == "infrastructure", "before Open"
    assert failure(runner.open(task, mode=wire.Mode.cuda))[1] == "infrastructure", "a process of another mode"
    assert failure(runner.ask(wire.made(wire.DrawT)))[1] == "infrastructure"
    loaded(runner, ADD, task)
    assert failure(runner.ask(wire.made(wire.CallT), [runner.page]))[1] == "infrastructure"
    assert failure(runner.ask(wire.made(wire.TimeCandidateT)))[1] == "infrastructure"
    assert isinstance(runner.call(task), wire.ReturnedT)


def test_without_an_arena_weights_wait_for_the_first_call(interpreter):
    task = Task([torch.ones(4, 8)], {"fc.weight": torch.ones(8, 8), "fc.bias": torch.zeros(8)}, init_args=[8])
    runner = interpreter.spawn()
    answer = loaded(runner, LINEAR, task, with_arena=False)
    assert (text(answer.weights), answer.weightsDiffer) == ("", True)
    assert (task.result(runner.call(task)) == 8).all()


def test_a_runner_ends_when_nobody_listens(interpreter, task):
    runner = interpreter.spawn()
    loaded(runner, HEAD + "def triton_kernel_wrapper(x, y):\n    while True: pass\n", task)
    runner.channel.send(wire.made(wire.CallT), [task.arena.export_fd()])
    runner.status.close()
    assert select.select([runner.pidfd], [], [], 10)[0]


def test_a_confined_runner_does_the_same(interpreter, task):
    pytest.importorskip("kernelwright._engine.sandbox", exc_type=ImportError)
    readable = [*sys.path, sys.prefix, sys.base_prefix, "/usr", "/lib", "/lib64", "/etc"]
    runner = interpreter.spawn(unconfined=False, readable=[each for each in readable if each], uid=65534)
    assert runner.spawn_error == 0
    loaded(runner, "import os\nos.makedirs('here')\nprint(len(os.listdir('/proc/self/fd')))\n" + ADD, task)
    x, y = (task.arena.tensor(each.tensor) for each in task.spec.inputs.items)
    assert torch.equal(task.result(runner.call(task)), x + y)
    # 0, 1, 2, the socket, the source, copies of the page and the arena, and the listed folder.
    assert runner.exited() == 0 and int(runner.printed().split()[0]) == 3 + 1 + 1 + 2 + 1


BUFFER = HEAD + """
OUT = None


def triton_kernel_wrapper(x, y):
    global OUT
    if OUT is None:
        OUT = torch.empty_like(x)
    torch.add(x, y, out=OUT)
    return OUT{how}
"""


def _previous_of_two(server, task, code):
    runner = server.spawn()
    runner.load(code, task)
    first = task.result(runner.call(task)).clone()
    task.arena.tensor(task.spec.inputs.items[0].tensor).add_(1)
    runner.call(task)
    return first, runner.ask(made(wire.CallT, previous=True))


def test_a_result_that_a_later_call_overwrites_is_seen(interpreter, task):
    first, again = _previous_of_two(interpreter, task, BUFFER.replace("{how}", ""))
    assert torch.allclose(task.result(again), first + 1)


def test_a_result_of_its_own_lives_on(interpreter, task):
    first, again = _previous_of_two(interpreter, task, BUFFER.replace("{how}", ".clone()"))
    assert torch.equal(task.result(again), first)


def test_the_first_result_is_told_once(interpreter, task):
    runner = interpreter.spawn()
    runner.load(ADD, task)
    for _ in range(3):
        runner.call(task)
    assert runner.ask(made(wire.CallT, previous=True)).outputs is not None
    assert runner.ask(made(wire.CallT, previous=True)).outputs is None


def test_the_first_result_is_kept_over_more_than_two_calls(interpreter, task):
    runner = interpreter.spawn()
    loaded(runner, HEAD + """
buffers, calls = [torch.zeros(100), torch.zeros(100)], 0


def triton_kernel_wrapper(x, y):
    global calls
    calls += 1
    return buffers[calls % 2].fill_(calls)
""", task)
    for trial in range(3):
        runner.call(task, trial=trial)
    assert task.result(runner.ask(made(wire.CallT, previous=True))).unique().tolist() == [3]
