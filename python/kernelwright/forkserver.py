"""A warm parent that forks runners, oracles or brokers: python -m kernelwright.forkserver --mode MODE --control FD.

Answers Ready once it is warm, then forks a process for each Spawn: descriptors control socket, standard
output, standard error, status socket. What became of it goes over the status socket, as confine.h says.
"""
import argparse
import ctypes
import errno
import faulthandler
import gc
import glob
import os
import platform
import signal
import sys
import tempfile
import traceback

from . import high_heap
from .backends import BACKENDS, set_environment

# A context with one connection takes the driver a third of the time.
ORACLE_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "TORCHDYNAMO_DISABLE": "1", "CUDA_DEVICE_MAX_CONNECTIONS": "1"}
VISIBLE = "CUDA_VISIBLE_DEVICES"  # set by the supervisor to the one GPU that a process serves
CPU_MODES = ("interpret", "compile")  # elsewhere addresses are a device's
DESCRIPTORS = 4
NOBODY = 65534


class Server:
    """The parent's state: what its children find done."""

    def __init__(self, mode, channel):
        self._mode, self._channel = mode, channel
        self._backend = BACKENDS[mode]() if mode in BACKENDS else None
        self._serve = None
        self._confine = None

    def warm(self):
        """Import and install what every child needs; nothing here may touch a device."""
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
            if not glob.glob("/dev/nvidia[0-9]*"):  # a GPU's tasks keep their size
                oracle.warm()
            self._serve = oracle.serve
        self._confine = _sandbox()
        gc.collect()
        gc.freeze()

    def serve(self):
        """Fork until the other side is gone."""
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
        _take_output(out, err)
        self._isolate(spawn, status)
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
        elif self._confine is None:
            unconfined.report(status, errno.ENOENT, "libkwconfine.so")
            _leave(1)
        else:
            self._confine.confine(_policy(self._confine, spawn), status)
            if _node(spawn) is not None:
                os.environ[VISIBLE] = "0"  # it is the only one here
            folder = tempfile.mkdtemp(prefix="kernelwright-", dir="/tmp")
        _settle(folder)


def _settle(folder):
    """Caches of the process's own, where it may write."""
    for name in ("HOME", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR"):
        os.environ[name] = os.path.join(folder, name.lower())
        os.mkdir(os.environ[name])
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    os.environ["USER"] = "kernelwright"  # our user ids have no entry to be looked up, which torch.compile would do
    os.chdir(folder)


def _sandbox():
    """The sandbox, having found out once what this host grants; None where the library is missing."""
    try:
        from . import confine
    except ImportError:
        return None
    confine.probe()
    return confine


def _policy(confine, spawn):
    from .wire import text, texts
    return confine.Policy(
        uid=spawn.uid or NOBODY, address_space_bytes=spawn.addressSpaceBytes, memory_bytes=spawn.memoryBytes,
        tmp_bytes=spawn.tmpBytes, file_bytes=spawn.fileBytes, processes=spawn.processes, open_files=spawn.openFiles,
        cpu_s=spawn.cpuS, gpu=spawn.device >= 0, gpu_node=_node(spawn), readable=texts(spawn.readable) + _own_folders(),
        cgroup_name=text(spawn.cgroup) or None, require=spawn.requiredLayers)


def _node(spawn):
    """The number N of /dev/nvidiaN, where the GPU is named by a number; a GPU named otherwise is left to CUDA."""
    return spawn.device if spawn.device >= 0 and os.environ.get(VISIBLE, "").isdigit() else None


def _own_folders():
    """Where this Python and its packages lie: a runner must be able to import what was not imported before."""
    found = [sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path]
    found += [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    return list(dict.fromkeys(os.path.realpath(path) for path in found if path and os.path.isdir(path))) + found


def _take_output(out, err):
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (out, 1), (err, 2)):
        os.dup2(source, target)
    os.close(null)
    # Line by line, so that a crash doesn't take along what was printed before it.
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


def _ready():
    import numpy
    import triton
    from . import wire
    torch = sys.modules.get("torch")  # a broker does without
    return wire.made(wire.ReadyT, pid=os.getpid(), python=platform.python_version(), triton=triton.__version__,
                     numpy=numpy.__version__, torch=torch.__version__ if torch else "",
                     cuda=torch.version.cuda or "" if torch else "")


def main():
    """Warm up, then fork."""
    parser = argparse.ArgumentParser(prog="kernelwright.forkserver")
    parser.add_argument("--mode", choices=[*BACKENDS, "oracle", "broker"], required=True)
    parser.add_argument("--control", type=int, required=True, metavar="FD")
    options = parser.parse_args()
    if options.mode in CPU_MODES:
        high_heap.ensure()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the supervisor's to answer
    os.environ.pop("TRITON_INTERPRET", None)  # Triton decides by it, and the mode decides about it
    set_environment(BACKENDS[options.mode].environment if options.mode in BACKENDS else ORACLE_ENVIRONMENT)
    from . import packets
    server = Server(options.mode, packets.Channel(options.control))
    server.warm()
    server.serve()


if __name__ == "__main__":
    main()
