"""The commands `kernelwright` and `kw` of a pip installation execute the installed program; the package's version."""
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import NoReturn

from .program import program_beside


def main() -> NoReturn:
    program = program_beside()
    if program is None:
        sys.exit("error: the program is missing beside this package; install it anew")
    # Kernels are judged with the Python of the active environment; without one, this environment counts as active.
    if sys.prefix != sys.base_prefix:
        os.environ.setdefault("VIRTUAL_ENV", sys.prefix)
    os.execv(program, [program, *sys.argv[1:]])


def version() -> str:
    """The version of this package: its distribution's, else that of the program beside it, as in a checkout."""
    try:
        found = metadata.distribution("kernelwright")
        # Another version may be installed than the one that PYTHONPATH names.
        if Path(str(found.locate_file("kernelwright"))).resolve() == Path(__file__).resolve().parent:
            return found.version
    except metadata.PackageNotFoundError:
        pass
    program = program_beside()
    if program is None:
        return "0+unknown"
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
