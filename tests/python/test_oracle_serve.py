"""The loop over a socket, and changes that a reference leaves in the process."""
import os
import socket
import sys
import threading

import pytest
import torch
import torch._inductor.config  # its first import must not meet the unusual defaults that are set below
from oracle_world import LINEAR, module, request

from kernelwright._engine import wire
from kernelwright._engine.oracle import serve
from kernelwright._engine.oracle.state import Snapshot
from kernelwright._engine.packets import Channel
from kernelwright._engine.wire import made


def memory_file(text):
    fd = os.memfd_create("source")
    os.write(fd, text.encode())
    return fd


@pytest.fixture
def oracle():
    """A channel to an oracle; its thread ends when the channel closes."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel, ended = Channel(ours), []

    def run():
        try:
            serve(Channel(theirs), -1)
            ended.append("returned")
        except SystemExit:
            ended.append("exited")
        finally:
            theirs.close()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    channel.ended, channel.thread = ended, thread
    yield channel
    channel.close()
    thread.join(10)


def asked(channel, body, source=None):
    """(reply, descriptors)."""
    fds = [memory_file(source)] if source is not None else []
    channel.send(body, fds)
    for fd in fds:
        os.close(fd)
    return channel.receive()


def test_round(oracle):
    reply, (fd,) = asked(oracle, request(), LINEAR)
    assert isinstance(reply, wire.PreparedT)
    spec = wire.from_bytes("CallSpec", os.pread(fd, 1 << 20, 0))
    os.close(fd)
    reply, (arena,) = asked(oracle, made(wire.DrawT, trial=4, seed=9))
    assert reply.trial == 4 and os.fstat(arena).st_size >= spec.arenaBytes
    os.close(arena)
    nothing = made(wire.ValueT, kind=wire.ValueKind.none)
    reply, _ = asked(oracle, made(wire.JudgeT, trial=4, seed=9, outputs=nothing))
    assert wire.text(reply.errorClass) == "wrong_structure"
    reply, _ = asked(oracle, made(wire.JudgeT, trial=5, seed=9, outputs=nothing))
    assert wire.text(reply.errorClass) == "infrastructure" and wire.text(reply.stage) == "judge"
    reply, _ = asked(oracle, made(wire.TimeReferenceT, seed=1, calls=1))
    assert wire.text(reply.errorClass) == "infrastructure" and wire.text(reply.stage) == "time"
    assert isinstance(asked(oracle, wire.ForgetT())[0], wire.ForgetT)


def test_failures(oracle):
    reply, _ = asked(oracle, request(), "import nothing_there\n")
    assert wire.text(reply.errorClass) == "task_invalid" and reply.line == 1 and wire.text(reply.file) == "reference.py"
    reply, _ = asked(oracle, request(), module("raise MemoryError"))
    assert wire.text(reply.errorClass) == "out_of_memory"
    reply, _ = asked(oracle, request(), module("raise SystemExit(3)"))
    assert wire.text(reply.errorClass) == "task_invalid"
    reply, _ = asked(oracle, request(tolerance=made(wire.ToleranceT, name="loose")), LINEAR)
    assert "no tolerance is called 'loose'" in wire.text(reply.error)
    reply, _ = asked(oracle, made(wire.DrawT, trial=1, seed=1))
    assert wire.text(reply.errorClass) == "infrastructure" and "no task" in wire.text(reply.error)
    assert isinstance(asked(oracle, request(), LINEAR)[0], wire.PreparedT)


def test_ends_where_something_stays(oracle):
    left = "import threading, time\nthreading.Thread(target=time.sleep, args=(3,), daemon=True).start()\n"
    reply, fds = asked(oracle, request(), left + LINEAR)
    assert isinstance(reply, wire.PreparedT) and "threads" in wire.text(reply.findings[-1])
    os.close(fds[0])
    reply, fds = asked(oracle, made(wire.DrawT, trial=1, seed=9))
    assert isinstance(reply, wire.DrawnT)
    os.close(fds[0])
    reply, _ = asked(oracle, request(), LINEAR)
    assert wire.text(reply.errorClass) == "infrastructure" and "threads" in wire.text(reply.error)
    oracle.thread.join(10)
    assert oracle.ended == ["returned"]


def test_an_arena_that_is_mapped_already_comes_without_its_descriptor(oracle):
    _, fds = asked(oracle, request(), LINEAR)
    os.close(fds[0])
    _, (arena,) = asked(oracle, made(wire.DrawT, trial=1, seed=9))
    os.close(arena)
    reply, fds = asked(oracle, made(wire.DrawT, trial=2, seed=10, mapped=True))
    assert isinstance(reply, wire.DrawnT) and reply.trial == 2 and not fds
    asked(oracle, made(wire.ForgetT))


def test_settings_of_the_import_stay_with_the_task(oracle):
    source = "import torch\ntorch.set_default_dtype(torch.float64)\n" + LINEAR
    for text, itemsize in ((source, 8), (LINEAR, 4), (source, 8)):
        reply, fds = asked(oracle, request(), text)
        spec = wire.from_bytes("CallSpec", os.pread(fds[0], 1 << 20, 0))
        assert spec.outputBytes == 64 * 32 * itemsize and not reply.findings
        os.close(fds[0])
        reply, fds = asked(oracle, made(wire.DrawT, trial=1, seed=9))
        assert isinstance(reply, wire.DrawnT)
        os.close(fds[0])
    asked(oracle, made(wire.ForgetT))
    assert torch.get_default_dtype() is torch.float32


def test_state_is_restored():
    before, kept = Snapshot(), (torch.matmul, torch.nn.Linear.forward, sys.getrecursionlimit())
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    torch.use_deterministic_algorithms(True)
    torch.set_grad_enabled(False)
    torch.set_num_threads(torch.get_num_threads() + 1)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    torch.matmul, torch.nn.Linear.forward = len, len
    torch.Tensor.relu = len
    sys.path.append("/nowhere")
    os.environ["LEFT_BEHIND"] = "1"
    sys.setrecursionlimit(5000)
    assert before.restore() == []
    assert (torch.matmul, torch.nn.Linear.forward, sys.getrecursionlimit()) == kept
    assert torch.get_default_dtype() is torch.float32 and torch.zeros(1).device.type == "cpu"
    assert "/nowhere" not in sys.path and "LEFT_BEHIND" not in os.environ and torch.is_grad_enabled()
    assert not torch.backends.cuda.matmul.allow_tf32 and torch.ones(1).relu().item() == 1


def test_what_stays_is_named():
    before = Snapshot()
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *_: None)
    assert before.restore() == ["global module hooks"]
    handle.remove()
    assert before.restore() == []
