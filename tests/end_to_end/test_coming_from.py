"""docs/coming_from.md: each of its blocks runs, and prints the lines that the page shows."""
import os
import re
import shutil
import subprocess
import sys

import pytest

from . import program

PAGE = (program.ROOT / "docs" / "coming_from.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^## (\d+)\..*?^```sh\n(.*?)^```\n```\n(.*?)^```", PAGE, re.M | re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Has the examples, and a PATH with the program and the Python of the tests. Its blocks build on earlier ones."""
    made = tmp_path_factory.mktemp("coming_from")
    shutil.copytree(program.ROOT / "examples", made / "examples")
    (made / "bin").mkdir()
    (made / "bin" / "kernelwright").symlink_to(program.binary())
    (made / "bin" / "python").symlink_to(sys.executable)
    return made


def test_every_section_is_run():
    assert [number for number, _, _ in BLOCKS] == re.findall(r"^## (\d+)\.", PAGE, re.M)


@pytest.mark.parametrize("code, expected", [each[1:] for each in BLOCKS], ids=[each[0] for each in BLOCKS])
def test_a_block_prints_what_the_page_shows(folder, scratch, code, expected):
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "VIRTUAL_ENV": sys.prefix,
                   "KERNELWRIGHT": program.binary(), "PYTHONPATH": str(program.ROOT / "python"), "TMPDIR": str(scratch)}
    done = subprocess.run(["bash", "-euc", code], cwd=folder, env=environment, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=program.LIMIT_S)
    assert done.returncode == 0, done.stderr
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    missing = [line for line in expected.splitlines() if line.rstrip() not in printed]
    assert not missing, done.stdout
