"""Stops itself.

Strategy: sends itself SIGSTOP.
Bound: a child continues it after a minute.
"""
import os
import signal
import time


def triton_kernel_wrapper(x, y):
    sleeper = os.getpid()
    if os.fork() == 0:
        time.sleep(60)
        if os.getppid() == sleeper:
            os.kill(sleeper, signal.SIGCONT)
        os._exit(0)
    os.kill(sleeper, signal.SIGSTOP)
    return x + y
