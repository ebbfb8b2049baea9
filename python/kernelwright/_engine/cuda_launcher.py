"""Compiles Triton's C launcher of a kernel while Triton compiles the kernel: each takes about as long."""
import contextlib
import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

NAME = "__triton_launcher"
FLAGS = ("-O1", "-shared", "-fPIC", "-Wno-psabi")


class Launchers:
    """The C modules of a process and of the processes that it forks, each built once.

    `driver` is triton.backends.nvidia.driver, `build` its compile_module_from_src. A module that was begun ahead and failed
    is built again by Triton's own function, which reports the error.
    """

    def __init__(self, driver, build):
        self._driver, self._build = driver, build
        self._begun = {}  # source: (process of the C compiler, library that it makes)
        self._built = {}  # source: module

    def begin(self, signature, constants):
        """Start the C compiler for the launcher of a kernel with this signature."""
        with contextlib.suppress(Exception):
            source = self._driver.make_launcher(constants, signature, None)
            if source not in self._built and source not in self._begun:
                self._begun[source] = self._started(source)

    def compile_module_from_src(self, src, name, **more):
        """Replaces Triton's function of this name: waits for a module that was begun, builds any other now."""
        if src not in self._built:
            self._built[src] = self._finished(src, name) or self._build(src=src, name=name, **more)
        return self._built[src]

    def _started(self, source):
        folder = Path(tempfile.mkdtemp())
        text, library = folder / f"{NAME}.c", folder / f"{NAME}{sysconfig.get_config_var('EXT_SUFFIX')}"
        text.write_text(source, encoding="utf-8")
        command = [_compiler(), str(text), *FLAGS, "-o", str(library)]
        command += [f"-l:{each}" for each in self._driver.libraries]
        command += [f"-L{each}" for each in self._driver.library_dirs()]
        command += [f"-I{each}" for each in (*self._driver.include_dirs, _python_include())]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, **quiet), library

    def _finished(self, source, name):
        process, library = self._begun.pop(source, (None, None))
        if process is None or process.wait() != 0:
            return None
        from triton.runtime.build import _load_module_from_path
        with contextlib.suppress(Exception):
            return _load_module_from_path(name, str(library))


def _compiler():
    """The C compiler that Triton takes."""
    return os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")


def _python_include():
    scheme = sysconfig.get_default_scheme()
    # Debian's own scheme names a folder that does not exist.
    return sysconfig.get_paths(scheme="posix_prefix" if scheme == "posix_local" else scheme)["include"]


def install(driver):
    """Build modules through `Launchers`, and begin one with each kernel that Triton compiles from now on."""
    from triton.compiler.compiler import ASTSource
    launchers = Launchers(driver, driver.compile_module_from_src)
    driver.compile_module_from_src = launchers.compile_module_from_src
    make_ir = ASTSource.make_ir

    def launcher_first(self, *args, **kwargs):
        launchers.begin(self.signature, self.constants)
        return make_ir(self, *args, **kwargs)

    ASTSource.make_ir = launcher_first
