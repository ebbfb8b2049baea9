"""Measures a program's wall time and memory."""
import resource
import subprocess
import sys
import time
from pathlib import Path


def peak_mb(pid):
    """The largest resident set of the process so far."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


def timed(command, log):
    """Run it, with its output in `log`: seconds, its own peak in MB, and the largest of any child of this process so far."""
    started = time.monotonic()
    with open(log, "w", encoding="utf-8") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, peak_mb(process.pid))
            time.sleep(0.05)
    if process.returncode != 0:
        said = Path(log).read_text(encoding="utf-8")[-2000:]
        sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{said}")
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {"seconds": round(time.monotonic() - started, 2), "peak_mb": round(peak), "largest_child_mb": round(children)}
