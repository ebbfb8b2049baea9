"""Where the program is, and the error of a run that gives no verdict."""
import os
import shutil
from pathlib import Path


class VerifierError(RuntimeError):
    """The verifier could not run, or gave no verdict; the text is its message. The kernel is never at fault."""


def find_program() -> str:
    """The path of the program: KERNELWRIGHT, else beside this package, else on the PATH."""
    if named := os.environ.get("KERNELWRIGHT"):
        if os.access(named, os.X_OK) and not os.path.isdir(named):
            return os.path.abspath(named)
        raise VerifierError(f"KERNELWRIGHT is {named!r}, which is no program; build it, or correct the variable")
    if found := program_beside() or shutil.which("kernelwright"):
        return found
    raise VerifierError("the program `kernelwright` is not found: build it (`make build`), put it on the PATH, "
                        "or name it in the environment variable KERNELWRIGHT")


def program_beside() -> str | None:
    """The program of the installation that this package belongs to: a wheel's, a build tree's, an unpacked tarball's."""
    package = Path(__file__).resolve().parent
    for folder in (package / "program" / "bin", package.parents[1] / "build", package.parents[1] / "bin"):
        if os.access(folder / "kernelwright", os.X_OK):
            return str(folder / "kernelwright")
    return None
