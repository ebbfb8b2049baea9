"""Ignores requests to end.

Strategy: ignores every signal that can be ignored, then loops.
Bound: ends by itself after five minutes.
"""
import signal
import time


def triton_kernel_wrapper(x, y):
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    end = time.monotonic() + 300
    while time.monotonic() < end:
        time.sleep(0.1)
    return x + y
