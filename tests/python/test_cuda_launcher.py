"""Triton's C modules, begun ahead: on a fake driver, with a real C compiler."""
import pytest
from kernelwright._engine import cuda_launcher
from kernelwright._engine.cuda_launcher import NAME, Launchers

MODULE = """
#include <Python.h>
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "%(name)s", NULL, -1, NULL};
PyMODINIT_FUNC PyInit___triton_launcher(void) {
  PyObject* made = PyModule_Create(&module);
  PyModule_AddIntConstant(made, "answer", %(answer)d);
  return made;
}
"""


class Driver:
    """The used part of triton.backends.nvidia.driver; a signature is the number that its module holds."""

    libraries, include_dirs = [], []

    def library_dirs(self):
        return []

    def make_launcher(self, constants, signature, tensordesc_meta):
        if signature is None:
            raise AssertionError("tensor descriptors are known later")
        return MODULE % {"name": NAME, "answer": signature} if signature >= 0 else "no C"


@pytest.fixture
def world():
    """(Launchers, names of the modules that Triton's own function built)"""
    built = []
    return Launchers(Driver(), lambda src, name, **more: built.append(name) or "Triton's own"), built


def source(signature):
    return Driver().make_launcher({}, signature, None)


def test_what_was_begun_is_waited_for(world):
    launchers, built = world
    launchers.begin(7, {})
    assert launchers.compile_module_from_src(source(7), NAME).answer == 7
    assert not built


def test_another_source_is_built_tritons_way(world):
    launchers, built = world
    launchers.begin(7, {})
    assert launchers.compile_module_from_src(source(8), NAME, library_dirs=[]) == "Triton's own"
    assert built == [NAME]


def test_a_module_is_built_once(world):
    launchers, _ = world
    launchers.begin(7, {})
    first = launchers.compile_module_from_src(source(7), NAME)
    launchers.begin(7, {})
    assert not launchers._begun
    assert launchers.compile_module_from_src(source(7), NAME) is first


@pytest.mark.parametrize("signature", [-1, None])
def test_what_fails_ahead_is_left_to_triton(world, signature):
    launchers, built = world
    launchers.begin(signature, {})
    assert launchers.compile_module_from_src("no C", NAME) == "Triton's own"
    assert built == [NAME]


def test_without_a_c_compiler_triton_says_so(world, monkeypatch):
    launchers, _ = world
    monkeypatch.setattr(cuda_launcher, "_compiler", lambda: None)
    launchers.begin(7, {})
    assert launchers.compile_module_from_src(source(7), NAME) == "Triton's own"


def test_tritons_launcher_needs_nothing_but_the_signature():
    from triton.backends.nvidia import driver
    signature = {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    text = driver.make_launcher({(2,): 64}, signature, None)
    assert "PyInit___triton_launcher" in text
    assert text == driver.make_launcher({}, signature, None)
