"""The supervisor's side of the protocol, for tests: a fork server, and the runners that it forks."""
import array
import os
import socket
import struct
import subprocess
import sys

import torch

from kernelwright._engine import packets, wire
from kernelwright._engine.arena import create_arena
from kernelwright._engine.layout import Layout
from kernelwright._engine.values import to_wire
from kernelwright._engine.wire import Mode, made

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEQPACKET = (socket.AF_UNIX, socket.SOCK_SEQPACKET)
SPAWNED, EXITED = struct.Struct("=IIiiII16i64s"), struct.Struct("=IiQQQ")
OUTPUT_BYTES = 8 << 20


def memory_file(data):
    """A descriptor of a memory file that holds these bytes."""
    fd = os.memfd_create("test")
    os.write(fd, data)
    return fd


class Server:
    """One fork server."""

    def __init__(self, mode, *words):
        ours, theirs = socket.socketpair(*SEQPACKET)
        # The generated messages may also be found through the path alone.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        environment.pop("TRITON_INTERPRET", None)
        self.mode = mode
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "kernelwright._engine.forkserver", "--mode", mode,
             "--control", str(theirs.fileno()), *words], pass_fds=[theirs.fileno()], env=environment)
        theirs.close()
        ours.settimeout(60)
        self.channel = packets.Channel(ours)
        self.ready, _ = self.channel.receive()

    def spawn(self, device=-1, **more):
        """A Runner in a process of its own."""
        runner = Runner(self.mode, device)
        more = {"unconfined": True, **more}
        self.channel.send(made(wire.SpawnT, role="runner", device=device, **more), runner.theirs())
        runner.spawned()
        return runner

    def close(self):
        """End it."""
        self.channel.close()
        return self.process.wait(20)


class Runner:
    """One spawned process."""

    def __init__(self, mode, device):
        self.mode, self.device = mode, device
        ours, self._control = socket.socketpair(*SEQPACKET)
        self.status, self._status = socket.socketpair(*SEQPACKET)
        self.output = os.memfd_create("output")
        ours.settimeout(60)
        self.status.settimeout(60)
        self.channel = packets.Channel(ours)
        self.page = os.memfd_create("page")
        os.ftruncate(self.page, 4096)

    def theirs(self):
        """The runner's descriptors, for a Spawn."""
        return [self._control.fileno(), self.output, self.output, self._status.fileno()]

    def spawned(self):
        """Wait for the first status packet."""
        self._control.close()
        self._status.close()
        data, beside, _, _ = self.status.recvmsg(SPAWNED.size, socket.CMSG_SPACE(4))
        self.spawn_error = SPAWNED.unpack(data)[2]
        fds = array.array("i", beside[0][2]) if beside else []
        self.pidfd = fds[0] if fds else -1

    def printed(self):
        """The runner's standard output and error."""
        return os.pread(self.output, 1 << 16, 0).decode()

    def exited(self):
        """The wait status of the process."""
        self.channel.close()
        return EXITED.unpack(self.status.recv(EXITED.size))[1]

    def words(self):
        """The progress page's counters."""
        return struct.unpack("<5Q", os.pread(self.page, 40, 0))

    def ask(self, message, fds=()):
        """The answer to one message."""
        try:
            self.channel.send(message, list(fds))
            return self.channel.receive()[0]
        except packets.Ended:
            raise packets.Ended(self.printed()) from None

    def load(self, code, task, **more):
        """Load a candidate for a Task."""
        opened = self.open(task, with_arena=more.pop("with_arena", True), poison=more.pop("poison", "nan"))
        if not isinstance(opened, wire.OpenedT):
            return opened
        return self.ask(made(wire.LoadT, **{"file_name": "kernel.py", **more}), [memory_file(code.encode())])

    def open(self, task, with_arena=True, **more):
        """The judge's part of a load."""
        fds = [memory_file(wire.to_bytes(task.spec)), self.page, *([task.arena.export_fd()] if with_arena else [])]
        return self.ask(made(wire.OpenT, **{"mode": getattr(Mode, self.mode), **more}), fds)

    def call(self, task, seed=7, **more):
        """One call on the task's inputs."""
        return self.ask(made(wire.CallT, seed=seed, **more), [task.arena.export_fd()])


    def record(self, task, address, seed=7):
        """(reply, descriptors) of one call under the recorder."""
        fd = task.arena.export_fd()
        self.channel.send(made(wire.RecordT, seed=seed, input_address=address), [fd])
        os.close(fd)
        return self.channel.receive()


class Task:
    """Inputs and weights in an arena, with the CallSpec of their places."""

    def __init__(self, inputs, weights=None, names=("x", "y"), device=-1, **more):
        layout, weights = Layout(tight=device < 0), weights or {}
        spec = made(wire.CallSpecT, inputs=to_wire(list(inputs), layout.add), input_names=list(names)[:len(inputs)],
                    weights=[made(wire.NamedTensorT, name=name, tensor=layout.add(each))
                             for name, each in weights.items()],
                    positional_weights=list(weights), **{"init_args": [], "init_kwargs": {}, **more, "precision": "fp32"})
        spec.initArgs, spec.initKwargs = to_wire(spec.initArgs, None), to_wire(spec.initKwargs, None)
        spec.outputsOffset = layout.reserve(OUTPUT_BYTES)
        self.spec, self.arena = spec, create_arena(layout.bytes, device)
        spec.arenaBytes = self.arena.size
        refs = [each.tensor for each in (*spec.inputs.items, *spec.weights) if each.tensor is not None]
        for ref, tensor in zip(refs, [*[each for each in inputs if isinstance(each, torch.Tensor)], *weights.values()]):
            self.arena.write(ref, tensor)

    def result(self, returned):
        """The one returned tensor."""
        return self.arena.dense(returned.outputs.tensor)
