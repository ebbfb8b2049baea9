"""A warm parent for tests: reads one JSON request a line, forks, answers with one JSON line.

Usage: warm_parent.py interpret|compile
"""
import importlib.util
import json
import os
import select
import signal
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))


def load(path):
    """Import a file under its own name, as a runner imports a candidate."""
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def child(backend, log, request):
    """Import and call the request's function; returns facts about the outcome."""
    from kernelwright._engine import errors
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(prefix="kernelwright-test-")
    backend.set_poison(request.get("poison", "nan"), request.get("seed", 0))
    facts, began = {"ok": False}, time.perf_counter()
    try:
        with backend.candidate_scope():
            facts["value"] = getattr(load(request["file"]), request["call"])()
        facts["ok"] = True
    except BaseException as exc:
        facts.update(errors.describe(exc, request["file"], [os.path.join(ROOT, "python")]))
    facts["raised"] = [type(each).__name__ for each in errors.take_raised()]
    facts["seconds"] = time.perf_counter() - began
    facts.update(launches=log.launches, programs=log.programs, records=log.reset())
    return facts


def fork(backend, log, request):
    """Run a request in a child, with a deadline."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(out)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            answer = json.dumps(child(backend, log, request), default=repr)
        except BaseException as exc:
            answer = json.dumps({"ok": False, "error_class": "harness", "error": repr(exc)})
        os.write(into, answer.encode())
        os._exit(0)
    os.close(into)
    deadline, parts = time.monotonic() + request.get("limit", 30), []
    while (left := deadline - time.monotonic()) > 0 and select.select([out], [], [], left)[0]:
        parts.append(os.read(out, 1 << 16))
        if not parts[-1]:
            break
    else:
        os.kill(pid, signal.SIGKILL)
        parts = [b'{"ok": false, "error_class": "timeout", "error": "deadline"}']
    os.close(out)
    status = os.waitpid(pid, 0)[1]
    return json.loads(b"".join(parts) or json.dumps({"ok": False, "error_class": "died", "error": f"status {status}"}))


def main():
    """Warm up, then serve."""
    from kernelwright._engine import high_heap
    high_heap.ensure()
    if sys.argv[1] == "interpret":
        os.environ["TRITON_INTERPRET"] = "1"
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import torch  # noqa: F401
    import triton  # noqa: F401
    from kernelwright._engine.launches import LaunchLog
    log = LaunchLog()
    if sys.argv[1] == "interpret":
        from kernelwright._engine.cpu import interpret as backend
        backend.install(log)
    else:
        from kernelwright._engine.cpu import compile_only as backend
        backend.install(log)
        backend.warm()
    print("{}", flush=True)
    for line in sys.stdin:
        print(json.dumps(fork(backend, log, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
