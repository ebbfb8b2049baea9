"""The probe's findings on this Python, and on incomplete ones."""
import json
import os
import subprocess
import sys
import time

import pytest
from kernelwright._engine import doctor_probe

PROBE = doctor_probe.__file__


def soon(seconds=60):
    return time.monotonic() + seconds


@pytest.fixture(scope="module")
def found():
    """The probe's answer for the Python that runs the tests."""
    done = subprocess.run([sys.executable, PROBE], capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1
    return json.loads(done.stdout)


def test_packages_have_versions(found):
    assert set(found["packages"]) == set(doctor_probe.PACKAGES)
    for name in ("torch", "triton", "numpy"):
        assert found["packages"][name]["version"] and found["packages"][name]["error"] is None
    assert found["numpy_ok"] is True


def test_triton_compiles_and_interprets(found):
    assert found["compile_sm_90"]["ok"] and found["compile_sm_90"]["cubin_bytes"] > 1000
    assert found["interpreter"]["ok"]
    for part in ("compile_sm_90", "interpreter"):
        assert 0 < found[part]["ms"] < found[part]["total_ms"] < 60_000


def test_devices_are_torchs(found):
    import torch
    assert found["cuda"]["ok"]
    assert len(found["cuda"]["devices"]) == (torch.cuda.device_count() if torch.cuda.is_available() else 0)
    for device in found["cuda"]["devices"]:
        assert device["name"] and device["memory_bytes"] > 1 << 30 and "." in device["capability"]


def test_a_package_that_is_missing():
    found = doctor_probe.attempt(doctor_probe.VERSION, soon(), "no_such_package")
    assert not found["ok"] and "no_such_package" in found["error"]


def test_a_package_that_breaks(tmp_path):
    (tmp_path / "numpy.py").write_text("raise OSError('libodd.so: cannot open')\n", encoding="utf-8")
    found = doctor_probe.attempt(doctor_probe.VERSION, soon(), "numpy", PYTHONPATH=str(tmp_path))
    assert found["error"] == "OSError: libodd.so: cannot open"


@pytest.mark.parametrize("code, error", [
    ("import os; os.abort()", "SIGABRT"),
    ("import sys; sys.exit(3)", "no message"),
    ("print('no json')", "no message"),
    ("import sys; print('{}'); sys.exit('odd end')", "odd end"),
    ("raise ValueError('x' * 10_000)", "ValueError"),
])
def test_parts_that_break(code, error):
    found = doctor_probe.attempt(code, soon())
    assert not found["ok"] and error in found["error"] and len(found["error"]) <= doctor_probe.MESSAGE_LIMIT


def test_a_part_that_hangs_ends_with_its_children():
    code = "import os, time\nos.fork()\ntime.sleep(1000)"
    began = time.monotonic()
    found = doctor_probe.attempt(code, soon(1))
    assert "not done" in found["error"] and time.monotonic() - began < 5


def test_the_whole_is_bounded():
    began = time.monotonic()
    done = subprocess.run([sys.executable, PROBE, "--timeout", "0.2"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and time.monotonic() - began < 15
    assert json.loads(done.stdout)["compile_sm_90"]["ok"] is False


@pytest.mark.parametrize("version, fits", [("2.3.5", True), ("1.26.4", True), ("2.4.0", False), ("2.10", False),
                                           ("3.0", False), ("odd", None), (None, None)])
def test_numpy(version, fits):
    assert doctor_probe.numpy_fits(version) is fits


def test_nvcc_is_found_on_the_path(tmp_path, monkeypatch):
    tool = tmp_path / "nvcc"
    tool.write_text("#!/bin/sh\n", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path) + os.pathsep + os.environ["PATH"])
    assert doctor_probe.nvcc() == str(tool)
