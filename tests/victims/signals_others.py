"""Ends its neighbours.

Strategy: kills a bait, its parent and its own group.
Bound: names the bait only; outside a sandbox it spares the first process of the machine and the tests' own group.
"""
import os
import signal

BAIT, OUTSIDE, TESTS = "{{BAIT_PID}}", "{{PID_NAMESPACE}}", "{{GROUP}}"
KNOWN = OUTSIDE.startswith("pid:")


def outside():
    """Whether this is, or may be, the PID namespace of the tests."""
    try:
        return os.readlink("/proc/self/ns/pid") == OUTSIDE or not KNOWN
    except OSError:
        return True


def send(function, target, number):
    try:
        function(target, number)
    except OSError:
        pass


def triton_kernel_wrapper(x, y):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGKILL):
        if BAIT.isdigit():
            send(os.kill, int(BAIT), number)
        if not outside() or (KNOWN and os.getppid() != 1):
            send(os.kill, os.getppid(), number)
        if not outside() or (KNOWN and str(os.getpgrp()) != TESTS):
            send(os.killpg, os.getpgrp(), number)
    return x + y
