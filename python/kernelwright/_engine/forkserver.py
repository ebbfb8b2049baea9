"""A warm parent that forks runners, oracles or brokers: python -m kernelwright._engine.forkserver --mode MODE --control FD.

Answers Ready once it is warm, then forks a process for each Spawn: descriptors control socket, standard
output, standard error, status socket. The status socket reports the process's start and end, as sandbox.h describes.
A zygote (--mode zygote) has imported PyTorch alone and forks such parents, one for each Serve.
"""
import argparse
import ctypes
import errno
import faulthandler
import gc
import os
import platform
import select
import signal
import sys
import tempfile
import traceback

from . import high_heap
from .backends import BACKENDS, set_environment

# The driver makes a context with one connection in a third of the time.
ORACLE_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "TORCHDYNAMO_DISABLE": "1", "CUDA_DEVICE_MAX_CONNECTIONS": "1"}
VISIBLE = "CUDA_VISIBLE_DEVICES"  # the supervisor sets it to the one GPU that a process serves
CPU_MODES = ("interpret", "compile")  # in the other modes addresses are a device's
DESCRIPTORS = 4
NOBODY = 65534
NICENESS_OF_RUNNERS = 5  # a third of an oracle's share of a CPU that both want


class Zygote:
    """Imports PyTorch once for all modes that need it. Each mode imports Triton, which decides at import how it runs."""

    def __init__(self, channel):
        self._channel = channel

    def warm(self):
        """Import the modules that all modes share, without starting a thread or importing Triton."""
        gc.disable()  # the many objects of an import stay
        import torch  # noqa: F401
        gc.enable()
        gc.collect()
        gc.freeze()

    def serve(self):
        """Fork until the other end closes."""
        from .wire import text
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
        self._channel.send(_pid())
        while True:
            message, fds = self._channel.receive()
            if len(fds) == 2 and os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                control, out = fds
                _die_with_parent(control)
                self._channel.close()
                os.dup2(out, 1)
                os.dup2(out, 2)
                os.close(out)
                _show_mode(text(message.mode))
                _be_server(text(message.mode), control)
            for fd in fds:
                os.close(fd)


class Server:
    """The parent's state, which its children inherit."""

    def __init__(self, mode, channel):
        self._mode, self._channel = mode, channel
        self._backend = BACKENDS[mode]() if mode in BACKENDS else None
        self._serve = None
        self._sandbox = None

    def warm(self):
        """Make the imports and installations of every child; nothing here may touch a device."""
        if self._backend is not None:
            import torch  # noqa: F401
            import triton  # noqa: F401
            self._backend.prepare()
            from . import runner
            self._serve = lambda channel, device: runner.serve(channel, self._backend, device)
        elif self._mode == "broker":
            from . import broker
            broker.warm()
            self._serve = lambda channel, device: broker.serve(channel)
        else:
            from . import oracle
            oracle.warm()
            self._serve = oracle.serve
        self._sandbox = probed_sandbox()
        gc.collect()
        gc.freeze()

    def serve(self):
        """Fork until the other end closes."""
        self._channel.send(_ready())
        while True:
            message, fds = self._channel.receive()
            if len(fds) == DESCRIPTORS:
                self._fork(message, fds)
            for fd in fds:
                os.close(fd)

    def _fork(self, spawn, fds):
        sys.stdout.flush()
        sys.stderr.flush()
        middle = os.fork()
        if middle == 0:
            try:
                self._child(spawn, fds)
            except SystemExit as end:
                _leave(end.code if isinstance(end.code, int) else 1)
            except BaseException:
                traceback.print_exc()
                _leave(1)
            _leave(0)
        os.waitpid(middle, 0)

    def _child(self, spawn, fds):
        control, out, err, status = fds
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        from .wire import text
        _take_output(out, err)
        self._isolate(spawn, status)
        if text(spawn.role) == "runner":
            os.nice(NICENESS_OF_RUNNERS)
        _close_others([control])
        from . import packets
        self._serve(packets.Channel(control), min(spawn.device, 0))

    def _isolate(self, spawn, status):
        """Returns in the process that will run the candidate, in a private folder."""
        from . import unconfined
        from .wire import texts
        for line in texts(spawn.environment):
            name, _, value = line.partition("=")
            os.environ[name] = value
        if spawn.unconfined:
            folder = tempfile.mkdtemp(prefix="kernelwright-")
            unconfined.enter(status, folder)
        elif self._sandbox is None:
            unconfined.report(status, errno.ENOENT, "libkwsandbox.so")
            _leave(1)
        else:
            self._sandbox.confine(_policy(self._sandbox, spawn), status)
            if _node(spawn) is not None:
                os.environ[VISIBLE] = "0"  # the process sees no other GPU
            folder = tempfile.mkdtemp(prefix="kernelwright-", dir="/tmp")
        _settle(folder)


def _settle(folder):
    """Give the process caches of its own in a folder where it may write."""
    for name in ("HOME", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR"):
        os.environ[name] = os.path.join(folder, name.lower())
        os.mkdir(os.environ[name])
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    os.environ["USER"] = "kernelwright"  # the sandbox's user ids have no name, and torch.compile would look one up
    os.chdir(folder)


def probed_sandbox():
    """The module of the sandbox, with the layers that this host grants; None where the library is missing."""
    try:
        from . import sandbox
    except ImportError:
        return None
    sandbox.probe()
    return sandbox


def _policy(sandbox, spawn):
    from .wire import text, texts
    return sandbox.Policy(
        uid=spawn.uid or NOBODY, address_space_bytes=spawn.addressSpaceBytes, memory_bytes=spawn.memoryBytes,
        tmp_bytes=spawn.tmpBytes, file_bytes=spawn.fileBytes, processes=spawn.processes, open_files=spawn.openFiles,
        cpu_s=spawn.cpuS, gpu=spawn.device >= 0, gpu_node=_node(spawn), readable=texts(spawn.readable) + own_folders(),
        cgroup_name=text(spawn.cgroup) or None, require=spawn.requiredLayers)


def _node(spawn):
    """The number N of /dev/nvidiaN, where the GPU is named by a number; None for other names, which CUDA resolves."""
    return spawn.device if spawn.device >= 0 and os.environ.get(VISIBLE, "").isdigit() else None


def own_folders():
    """The folders of this Python and its packages: a runner must be able to import further modules."""
    found = [sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path]
    found += [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    return list(dict.fromkeys(os.path.realpath(path) for path in found if path and os.path.isdir(path))) + found


def _take_output(out, err):
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (out, 1), (err, 2)):
        os.dup2(source, target)
    os.close(null)
    # Line by line, so that a crash does not lose lines that were printed before it.
    sys.stdout.reconfigure(line_buffering=True)
    faulthandler.enable(2)


def _close_others(keep):
    from . import unconfined
    unconfined.close_others(keep)


def _leave(code):
    """End without the exit handlers of the libraries that the parent imported."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue
    os._exit(code)


def _pid():
    from . import wire
    return wire.made(wire.ReadyT, pid=os.getpid())


def _show_mode(mode):
    """Show this mode instead of the zygote's in the command line that lists of processes print."""
    with open("/proc/self/stat", encoding="utf-8", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end, fields 48 and 49 of proc(5)
    if not 0 < end - start < 1 << 16:
        return
    words = ctypes.string_at(start, end - start)
    shown = words.replace(b"--mode\0zygote\0", b"--mode\0%s\0" % mode.encode()).replace(b"--high-heap\0", b"")
    if len(shown) <= len(words):
        ctypes.memmove(start, shown.ljust(len(words), b"\0"), len(words))


def _die_with_parent(control):
    """Be killed when the parent ends; end at once where the other end of descriptor `control` has closed already."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    poll = select.poll()
    poll.register(control, 0)
    if poll.poll(0):
        _leave(1)


def _ready():
    import numpy
    import triton
    from . import kernel_libraries, wire
    torch = sys.modules.get("torch")  # a broker has not imported it
    cuda = torch.version.cuda or "" if torch else ""
    return wire.made(wire.ReadyT, pid=os.getpid(), python=platform.python_version(), triton=triton.__version__,
                     numpy=numpy.__version__, torch=torch.__version__ if torch else "",
                     cuda=cuda, folders=kernel_libraries.folders() if cuda else [])


def main():
    """Warm up, then fork."""
    parser = argparse.ArgumentParser(prog="kernelwright._engine.forkserver")
    parser.add_argument("--mode", choices=[*BACKENDS, "oracle", "broker", "zygote"], required=True)
    parser.add_argument("--control", type=int, required=True, metavar="FD")
    parser.add_argument("--high-heap", action="store_true", help="tensors lie above 4 GiB, as they do on a device")
    options = parser.parse_args()
    if options.high_heap or options.mode in CPU_MODES:
        high_heap.ensure()
    _die_with_parent(options.control)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor handles Ctrl-C
    os.environ.pop("TRITON_INTERPRET", None)  # Triton reads it at import, and the mode sets it
    if options.mode != "zygote":
        _be_server(options.mode, options.control)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # every mode needs it, and it is read once
    from . import packets
    zygote = Zygote(packets.Channel(options.control))
    zygote.warm()
    zygote.serve()


def _be_server(mode, control):
    """Serve until the other end closes, then end the process."""
    environment = BACKENDS[mode].environment if mode in BACKENDS else ORACLE_ENVIRONMENT
    set_environment(environment)
    torch = sys.modules.get("torch")
    if torch is not None and "OMP_NUM_THREADS" in environment:  # the library has read the variable already
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    from . import packets
    server = Server(mode, packets.Channel(control))
    server.warm()
    server.serve()


if __name__ == "__main__":
    main()
