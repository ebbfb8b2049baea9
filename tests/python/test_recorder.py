"""The recorder's library and its Python, on a machine without a GPU."""

import os
import subprocess
import sys

import pytest

from kernelwright._engine.installed import find_library

PATH = find_library("libkwrecorder.so")
pytestmark = pytest.mark.skipif(PATH is None, reason="built without the CUDA headers")


def in_a_process(code: str) -> str:
    """The output of the code in a separate Python, because a loaded library stays in the process."""
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_INJECTION64_PATH"}
    done = subprocess.run([sys.executable, "-c", code, str(PATH)], env=environment, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LOADED = "import sys; from kernelwright._engine import recorder; one = recorder.Recorder(recorder.load(sys.argv[1]))\n"


def raised(call: str) -> str:
    return LOADED + f"try: {call}\nexcept RuntimeError as error: print(error)"


def test_it_loads_and_waits_without_a_gpu():
    assert in_a_process(LOADED + "print(one._library.kwrec_state(), repr(one.error()))") == "0 ''"


def test_it_needs_nothing_but_the_c_library():
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1])\n" \
           "print(*sorted(line.split('/')[-1].strip() for line in open('/proc/self/maps') if 'stdc++' in line))"
    assert in_a_process(code) == ""


def test_it_says_that_cupti_has_not_called():
    assert in_a_process(raised("one.check()")) == "the recorder: CUPTI does not call it"


def test_it_does_not_begin_before_cupti_has_called():
    assert "CUPTI has not called the recorder" in in_a_process(raised("one.begin(0x500000000000, 4096, 0)"))


def test_what_has_not_begun_does_not_end():
    assert "no recording runs" in in_a_process(raised("one.end()"))


def test_nothing_recorded_is_nothing_to_write():
    assert "nothing was recorded" in in_a_process(raised("one.write()"))


def test_there_is_no_state_before_a_recording():
    assert in_a_process(LOADED + "print(one.state())") == "(None, 0)"


def test_no_memory_is_in_use_at_first():
    assert in_a_process(LOADED + "print(*one.memory().values())") == "0 0 0 0"


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="this machine has a driver")
def test_where_there_is_no_driver_it_says_so():
    code = LOADED + "one._library.InitializeInjection(); print(one._library.kwrec_state(), one.error())"
    assert in_a_process(code) == "-1 the CUDA driver lacks libcuda.so.1"


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="this machine has a driver")
def test_it_is_not_installed_where_there_is_no_driver():
    code = "import sys; from kernelwright._engine import recorder\n" \
           "try: recorder.install(sys.argv[1])\nexcept RuntimeError as error: print(error)\n" \
           "import os; print(os.environ.get('CUDA_INJECTION64_PATH'))"
    said, injection = in_a_process(code).splitlines()
    assert said.startswith("nothing to record: no CUDA driver")
    assert injection == "None"


def test_pytorch_takes_its_hooks():
    code = LOADED + """
import torch
allocator = torch.cuda.memory.CUDAPluggableAllocator(sys.argv[1], "kwrec_malloc", "kwrec_free")
recorder._set_hooks(one._library, allocator.allocator())
torch.cuda.memory.change_current_allocator(allocator)
print(torch.cuda.memory.get_allocator_backend())
"""
    assert in_a_process(code) == "pluggable"


def test_pytorchs_statistics_are_answered():
    code = LOADED + """
import torch
recorder._answer_statistics(one)
torch.cuda.memory.is_initialized = lambda: True
print(torch.cuda.memory_allocated(0), torch.cuda.max_memory_reserved(0))
torch.cuda.reset_peak_memory_stats(0)
assert "Allocated memory" in torch.cuda.memory_summary(0)
assert torch.cuda.memory_snapshot() == []
"""
    assert in_a_process(code) == "0 0"
