"""The command lines `kernelwright` and `kw` of a pip installation: they become the program that came with it."""
import os
import sys
from typing import NoReturn

from .api import program_beside


def main() -> NoReturn:
    program = program_beside()
    if program is None:
        sys.exit("error: the program is missing beside this package; install it anew")
    # As if its environment were active, unless another one is: that is the Python with which kernels are judged.
    if sys.prefix != sys.base_prefix:
        os.environ.setdefault("VIRTUAL_ENV", sys.prefix)
    os.execv(program, [program, *sys.argv[1:]])
