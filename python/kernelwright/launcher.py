"""The commands `kernelwright` and `kw` of a pip installation: they execute the installed program."""
import os
import sys
from typing import NoReturn

from .api import program_beside


def main() -> NoReturn:
    program = program_beside()
    if program is None:
        sys.exit("error: the program is missing beside this package; install it anew")
    # Kernels are judged with the Python of the active environment; without one, this environment counts as active.
    if sys.prefix != sys.base_prefix:
        os.environ.setdefault("VIRTUAL_ENV", sys.prefix)
    os.execv(program, [program, *sys.argv[1:]])
