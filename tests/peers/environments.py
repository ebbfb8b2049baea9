"""Environments that have some of this environment's distributions with what they require, and nothing else."""
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def environment_of(folder, *names):
    """Makes the environment; returns its Python. Nothing is downloaded: its packages are links to this environment's."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages, = Path(folder).glob("lib/python3*/site-packages")
    for found in _with_required(names):
        for file in found.files:
            if file.parts[0] != ".." and "__pycache__" not in file.parts:
                link = packages / file
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(found.locate_file(file))
    return folder / "bin/python"


def _with_required(names):
    found, queue = {}, list(names)
    while queue:
        name = canonicalize_name(queue.pop())
        if name not in found:
            found[name] = distribution(name)
            requirements = [Requirement(each) for each in found[name].requires or ()]
            queue += [each.name for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})]
    return found.values()
