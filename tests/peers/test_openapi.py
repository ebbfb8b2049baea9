"""The service against its description, docs/openapi.json: requests that schemathesis generates, and its checks."""
import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from end_to_end import program

sys.path.insert(0, str(program.ROOT / "python"))

from kernelwright._fleet.child import ServiceChild

PYTHON = os.environ.get("KERNELWRIGHT_TEST_PYTHON", sys.executable)
PROGRAM = Path(sys.executable).with_name("schemathesis")
METHODS = {"get", "post", "put", "patch", "delete", "head"}
EXAMPLES, LIMIT_S = 15, 100


def operations_to_test() -> int:
    """All that are described, less the description itself, which schemathesis reads and does not test."""
    paths = json.loads((program.ROOT / "docs/openapi.json").read_text())["paths"]
    return sum(method in METHODS for name, path in paths.items() if name != "/openapi.json" for method in path)


@pytest.fixture(scope="module")
def service():
    os.environ["KERNELWRIGHT"] = program.binary()
    running = ServiceChild(["--quiet", "--device", "cpu", "--jobs", "1", "--python", PYTHON], key="key-of-this-test")
    yield running
    running.close()


def test_the_description_is_the_one_of_the_documentation(service):
    request = urllib.request.Request(service.url + "/openapi.json", headers={"Authorization": "Bearer key-of-this-test"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert json.load(answer) == json.loads((program.ROOT / "docs/openapi.json").read_text())


def test_the_service_does_as_its_description_says(service, tmp_path):
    """Every operation, alone and in sequences, with allowed and forbidden values."""
    done = subprocess.run(
        [PROGRAM, "--config-file", Path(__file__).with_name("schemathesis.toml"), "--no-color", "run",
         service.url + "/openapi.json", "--header", "Authorization: Bearer key-of-this-test",
         "--generation-deterministic", "--max-examples", str(EXAMPLES), "--no-shrink"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 0, "\n".join(line[:600] for line in done.stdout.splitlines())[-9000:] + done.stderr[-1000:]
    assert f"Tested: {operations_to_test()}\n" in done.stdout, done.stdout[-2000:]
    assert service.why_unhealthy() is None
