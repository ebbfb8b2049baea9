"""The Python SDK of the Model Context Protocol as a client, over both transports."""
import json
import subprocess
import sys
from pathlib import Path

import pytest
from end_to_end import agent, program

SCRIPT = Path(__file__).with_name("agent_sdk.py")


def seen(*words):
    done = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(report):
    assert (report["first"], report["explained"], report["second"]) == ("incorrect", "wrong_value", "correct")
    assert report["protocol"] == agent.NEWEST and report["tools"] == ["explain", "verify"]
    assert report["told"][:2] == ["starting Python with PyTorch", "judging"]
    assert report["refused"] and report["kept"] == "correct" and report["resources"] == 7
    assert report["discovered"] == "race"  # the version without `initialize` is tried first, and given up


@pytest.fixture(name="words")
def _words(python):
    return ["mcp", "--device", "cpu", "--python", python]


def test_the_sdk_mends_a_kernel_over_standard_input_and_output(words):
    check(seen("--", program.binary(), *words))


def test_the_sdk_mends_a_kernel_over_http(words, tmp_path):
    process = program.start([program.binary(), *words, "--http", "--port", "0"], tmp_path, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE)
    try:
        check(seen(process.stdout.readline().decode().strip()))
    finally:
        process.terminate()
        process.communicate(timeout=program.LIMIT_S)
