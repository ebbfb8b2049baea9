"""Examines one Python: run by `kernelwright doctor`, prints one JSON object and exits with 0.

python doctor_probe.py [--timeout SECONDS]

Every part is tried in a process of its own, so that a library that crashes or hangs is a finding.
"""
import glob
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time

PACKAGES = ("torch", "triton", "numpy", "flatbuffers", "pyarrow")
NUMPY_BELOW = (2, 4)  # from 2.4 on, Triton's interpreter refuses run-time ranges
TIMEOUT_S = 60.0
MESSAGE_LIMIT = 500

VERSION = """
import importlib, json, sys
module = importlib.import_module(sys.argv[1])
print(json.dumps({"version": str(getattr(module, "__version__", "unknown"))}))
"""

DEVICES = """
import ctypes, json
import torch

def driver():
    try:
        version = ctypes.c_int()
        return version.value if ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version)) == 0 else None
    except OSError:
        return None

found = []
if torch.cuda.is_available():
    for index in range(torch.cuda.device_count()):
        each = torch.cuda.get_device_properties(index)
        found.append({"index": index, "name": each.name, "memory_bytes": each.total_memory,
                      "capability": f"{each.major}.{each.minor}"})
print(json.dumps({"devices": found, "built_for_cuda": torch.version.cuda, "driver_supports_cuda": driver()}))
"""

KERNEL = """
import json, sys, time
import torch, triton, triton.language as tl

@triton.jit
def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * 2, mask=mask)
"""

COMPILE = KERNEL + """
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

began = time.perf_counter()
source = ASTSource(double, signature={"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"},
                   constexprs={"BLOCK": 128})
made = triton.compile(source, target=GPUTarget("cuda", 90, 32))
print(json.dumps({"cubin_bytes": len(made.asm["cubin"]), "ms": (time.perf_counter() - began) * 1e3}))
"""

INTERPRET = KERNEL + """
began = time.perf_counter()
x = torch.arange(300, dtype=torch.float32)
out = torch.empty_like(x)
double[(3,)](x, out, 300, BLOCK=128)
assert torch.equal(out, x * 2), "wrong result"
print(json.dumps({"ms": (time.perf_counter() - began) * 1e3}))
"""


def message_of(stderr):
    """The last non-empty line, cut to a limited length."""
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:MESSAGE_LIMIT] if lines else "no message"


def end(process):
    """Kill a process and all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.communicate()


def attempt(code, deadline, *arguments, **environment):
    """Run some code: {ok, error, total_ms} and the JSON that it printed."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kernelwright-doctor-") as folder:
        path = os.path.join(folder, "probe.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(code)
        inherited = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
        process = subprocess.Popen([sys.executable, "-W", "ignore", path, *arguments], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, cwd=folder,
                                   env={**inherited, "TRITON_CACHE_DIR": os.path.join(folder, "cache"), **environment})
        try:
            stdout, stderr = process.communicate(timeout=max(0.1, deadline - began))
        except subprocess.TimeoutExpired:
            end(process)
            return {"ok": False, "error": f"not done after {time.monotonic() - began:.0f} s",
                    "total_ms": (time.monotonic() - began) * 1e3}
    found = {"ok": False, "error": None, "total_ms": (time.monotonic() - began) * 1e3}
    if process.returncode < 0:
        return {**found, "error": f"ended by {signal.Signals(-process.returncode).name}"}
    try:
        printed = json.loads(stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {**found, "error": message_of(stderr)}
    if process.returncode != 0:
        return {**found, "error": message_of(stderr)}
    return {**found, "ok": True, **printed}


def numpy_fits(version):
    """Whether this numpy is old enough for the interpreter; None without numpy."""
    try:
        return version and tuple(int(each) for each in version.split(".")[:2]) < NUMPY_BELOW
    except ValueError:
        return None


def driver_version(deadline):
    """The NVIDIA driver as nvidia-smi names it, None without one."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    try:
        done = subprocess.run([tool, "--query-gpu=driver_version", "--format=csv,noheader"], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=max(0.1, min(20, deadline - time.monotonic())), check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.decode("utf-8", "replace").split()
    return lines[0] if done.returncode == 0 and lines else None


def nvcc():
    """The path of the CUDA compiler, None without one."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    nearby = [os.path.join(home, "bin") for home in homes if home]
    nearby += glob.glob(os.path.join(sysconfig.get_path("purelib"), "nvidia", "*", "bin"))
    return shutil.which("nvcc") or shutil.which("nvcc", path=os.pathsep.join(nearby))


def probe(timeout=TIMEOUT_S):
    """All findings, within `timeout` seconds."""
    deadline = time.monotonic() + timeout
    packages = {name: attempt(VERSION, deadline, name) for name in PACKAGES}
    can_run = packages["torch"]["ok"] and packages["triton"]["ok"]
    missing = {"ok": False, "error": "needs torch and triton", "total_ms": 0.0}
    numpy = packages["numpy"].get("version")
    return {
        "schema": "kernelwright.doctor_probe/1",
        "python": platform.python_version(),
        "executable": sys.executable,
        "packages": {name: {"version": found.get("version"), "error": found["error"]}
                     for name, found in packages.items()},
        "numpy_ok": numpy_fits(numpy),
        "cuda": {"devices": [], **(attempt(DEVICES, deadline) if packages["torch"]["ok"] else missing),
                 "driver": driver_version(deadline)},
        "nvcc": nvcc(),
        "compile_sm_90": attempt(COMPILE, deadline) if can_run else missing,
        "interpreter": attempt(INTERPRET, deadline, TRITON_INTERPRET="1") if can_run else missing,
    }


def main(words):
    """Print the findings."""
    timeout = float(words[words.index("--timeout") + 1]) if "--timeout" in words else TIMEOUT_S
    print(json.dumps(probe(timeout)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
