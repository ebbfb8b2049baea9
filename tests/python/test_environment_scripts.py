"""scripts/python.sh and python-peers.sh: an environment that differs from the pins is filled again."""
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ("lib.sh", "python.sh", "python-peers.sh", "check_python.py")


class World:
    """A tree with the scripts, one pin each, and an environment in which no pip could install anything."""

    def __init__(self, folder):
        self.folder = folder
        for part in ("scripts", "python", "bin"):
            (folder / part).mkdir()
        for name in SCRIPTS:
            shutil.copy(ROOT / "scripts" / name, folder / "scripts" / name)
        (folder / "CMakeLists.txt").write_text("project(kernelwright VERSION 1.0)\n")
        for name in ("requirements.txt", "requirements-train.txt"):
            (folder / "python" / name).write_text("")

    def environment(self, name):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.folder / name], check=True)

    def pin(self, kind, version, marker=""):
        (self.folder / "python" / f"requirements-{kind}.txt").write_text(f"tiny=={version}{marker}\n")

    def has(self, name, version):
        packages, = (self.folder / name).glob("lib/python3*/site-packages")
        (packages / "tiny.dist-info").mkdir(exist_ok=True)
        (packages / "tiny.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tiny\nVersion: {version}\n")

    def call(self, script, *words):
        variables = {name: value for name, value in os.environ.items() if name not in ("KW_PYTHON", "VIRTUAL_ENV")}
        return subprocess.run(["bash", self.folder / "scripts" / script, *words], env=variables, capture_output=True, text=True,
                              check=False, timeout=60)


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    world.environment(".venv")
    world.pin("test", "1")
    world.has(".venv", "1")
    return world


def test_an_environment_with_the_pins_is_taken(world):
    assert world.call("python.sh", "--needed", "test").stdout == ""
    assert world.call("python.sh", "test").stdout == f"{world.folder}/.venv/bin/python\n"


def test_a_pin_that_has_changed_is_noticed(world):
    assert world.call("python.sh", "test").returncode == 0
    world.pin("test", "2")
    assert "Python packages into .venv: tiny==2" in world.call("python.sh", "--needed", "test").stdout


@pytest.mark.parametrize(("python", "wanted"), [(".".join(map(str, sys.version_info[:2])), True), ("2.7", False)])
def test_a_pin_for_another_python_is_not_missed(world, python, wanted):
    world.pin("test", "2", f'; python_version == "{python}" and platform_machine == "{platform.machine()}"  # why')
    assert ("tiny==2" in world.call("python.sh", "--needed", "test").stdout) == wanted


def test_a_package_changed_by_hand_is_noticed(world):
    assert world.call("python.sh", "test").returncode == 0
    world.has(".venv", "2")
    done = world.call("python.sh", "test")
    assert done.returncode == 1 and "pip could not install python/requirements-test.txt" in done.stderr


def test_peers_need_a_pip_and_it_is_said_before_anything_is_made(world):
    world.pin("peers", "1")
    done = world.call("python-peers.sh")
    assert done.returncode == 1 and "has no pip" in done.stderr and "ensurepip" in done.stderr
    assert not (world.folder / ".venv-peers").exists()


def test_the_pip_that_the_peers_tests_call_is_pinned():
    assert "\npip==" in (ROOT / "python" / "requirements-peers.txt").read_text()
