"""Finds the native parts of this installation, in a build tree or beside an unpacked package."""
import os
from pathlib import Path

_TOP = Path(__file__).resolve().parents[3]
WIRE = _TOP / "build/wire/python"  # the generated message classes, in a build tree


def library_folders():
    """Folders that may hold a native library; the folder that the supervisor names is the first."""
    folders = [_TOP / "build/native/sandbox", _TOP / "lib"]
    if named := os.environ.get("KERNELWRIGHT_NATIVE"):
        folders[:0] = [Path(named), Path(named) / "sandbox"]
    return folders


def find_library(name):
    """The path of a native library, None where it is missing."""
    return next(((folder / name).resolve() for folder in library_folders() if (folder / name).exists()), None)
