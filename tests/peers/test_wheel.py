"""The result of `pip install` on the build tree: the wheel of pyproject.toml, in an environment of its own."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest
from end_to_end import program

PAIR = program.ROOT / "examples" / "pair"
BUILD = Path(program.binary()).parent


def call(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=120, **options)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def folder():
    """Make it readable for the user that runs kernels."""
    made = Path(tempfile.mkdtemp(prefix="wheel-tests-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def wheel(folder, python):
    """The wheel from the existing build, so that only the later steps are repeated."""
    for component in ("program", "client"):
        call("cmake", "--install", BUILD, "--component", component, "--strip",
             "--prefix", folder / "stage/kernelwright/program", env={**os.environ, "KW_BUNDLED_FROM": python})
    call(sys.executable, "-m", "pip", "wheel", program.ROOT, "--no-build-isolation", "--no-deps", "--no-index", "-w", folder,
         "--config-settings", "wheel.cmake=false", "--config-settings", f"wheel.packages={folder / 'stage/kernelwright'}")
    made, = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def environment(folder, wheel):
    """The folder of the environment, which has only the installed packages."""
    call(sys.executable, "-m", "venv", "--without-pip", folder / "env")
    call(sys.executable, "-m", "pip", "--python", folder / "env/bin/python", "install", "--no-deps", "--no-index", wheel)
    return folder / "env"


@pytest.fixture(scope="module")
def alone(folder):
    """Environment variables without any path of the build tree."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder)}


def test_the_wheel_says_what_it_is(wheel):
    with zipfile.ZipFile(wheel) as files:
        metadata = files.read(next(name for name in files.namelist() if name.endswith("/METADATA"))).decode()
        names = files.namelist()
    version = re.search(r"project\(kernelwright VERSION ([0-9.]+)", (program.ROOT / "CMakeLists.txt").read_text()).group(1)
    assert f"\nVersion: {version}\n" in metadata and "\nLicense-Expression: Apache-2.0\n" in metadata
    assert not re.search(r"^Requires-Dist: (?!.*extra ==)", metadata, re.M), "nothing is needed to ask a service"
    assert "kernelwright/program/licences/tree-sitter" in names
    assert "kernelwright/program/share/man/man1/kernelwright.1" in names
    assert {"kernelwright/pytest_plugin.py", "kernelwright/_source/collect.py"} <= set(names)
    assert "kernelwright/py.typed" in names and not [name for name in names if "__pycache__" in name]
    assert {name.partition("/")[0] for name in names} == {"kernelwright", f"kernelwright-{version}.dist-info"}


def test_the_installed_program_judges(environment, alone, python):
    shown = call(environment / "bin/kernelwright", "verify", PAIR / "scale_add_reference.py", PAIR / "scale_add_kernel.py",
                 "--input-shapes", f"@{PAIR / 'scale_add_shapes.json'}", "--device", "cpu", "--python", python, "--json",
                 env=alone)
    verdict = json.loads(shown)
    assert (verdict["status"], verdict["counts"]) == ("correct", True), verdict


def test_both_command_lines_are_the_program(environment, alone):
    versions = {call(environment / "bin" / name, "--version", env=alone) for name in ("kernelwright", "kw")}
    assert versions == {call(program.binary(), "--version")}


def test_exit_codes_come_through(environment, alone):
    done = subprocess.run([environment / "bin/kw", "verify", "--no-such-option"], env=alone, capture_output=True, check=False)
    assert done.returncode == 2 and b"no-such-option" in done.stderr


def test_the_package_finds_the_program_that_came_with_it(environment, alone):
    code = ("import kernelwright, kernelwright.api as api, kernelwright.client, kernelwright.rewards\n"
            "print(kernelwright.Client.__name__, kernelwright.KernelReward.__name__, api.find_program())")
    shown = call(environment / "bin/python", "-I", "-c", code, env=alone).split()
    assert shown[:2] == ["Client", "KernelReward"]
    assert Path(shown[2]).is_relative_to(environment / "lib") and os.access(shown[2], os.X_OK)


def test_the_pytest_plugin_is_registered(environment, alone):
    code = "from importlib.metadata import entry_points; print(*(each.value for each in entry_points(group='pytest11')))"
    assert "kernelwright.pytest_plugin" in call(environment / "bin/python", "-I", "-c", code, env=alone).split()


def test_the_program_brings_its_own_python(environment):
    installed, = environment.glob("lib/python3*/site-packages/kernelwright/program")
    assert {each.name for each in (installed / "python").iterdir()} == {
        "kernelwright", "kw", "flatbuffers", "requirements-train.txt"}
    ours = {path.relative_to(program.ROOT / "python") for path in (program.ROOT / "python" / "kernelwright").rglob("*.py")}
    assert ours <= {path.relative_to(installed / "python") for path in installed.rglob("*.py")}
