"""Idioms of honest Triton code: each either runs right in the interpreter or is reported as unsupported.

Every public function of a module in idioms/ is one idiom; it raises if the outcome is wrong. A module's
UNSUPPORTED names those that cannot be interpreted, with a word that the report must contain.
"""
import ast
import pathlib

import pytest

MODULES = sorted((pathlib.Path(__file__).parent / "idioms").glob("*.py"))


def idioms():
    """(file, function, expected feature or None) of each idiom, without importing any."""
    for path in MODULES:
        refused = {}
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "UNSUPPORTED":
                refused = ast.literal_eval(node.value)
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.decorator_list and not node.name.startswith("_"):
                yield pytest.param(path, node.name, refused.get(node.name), id=f"{path.stem}-{node.name}")


@pytest.mark.parametrize("path, name, refused", list(idioms()))
def test_idiom(interpreter, path, name, refused):
    facts = interpreter.run(path, name, limit=3 if refused == "endless" else 30)
    if refused == "endless":
        assert facts["error_class"] == "timeout"
    elif refused:
        assert facts.get("error_class") == "unsupported_candidate", facts
        assert refused in facts["error"]
    else:
        assert facts["ok"], facts.get("traceback")


@pytest.mark.parametrize("path, name, refused", list(idioms()))
def test_idiom_compiles(compiler, path, name, refused):
    # Its kernels write nothing, so its assertions on results may fail; no kernel may be refused.
    facts = compiler.run(path, name)
    wrong_result = facts.get("error", "").startswith("AssertionError")
    assert facts["ok"] or wrong_result or facts["error_class"] == "unsupported_candidate", facts["error"]
