"""The families of `dataset synth`: the program's list names those that the Python package has."""
import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SYNTH = ROOT / "python" / "kernelwright" / "_dataset" / "synth"
LISTS = (ROOT / "src" / "dataset" / "synth" / "draft.cpp").read_text(encoding="utf-8")


def listed(source):
    """The names in families_of()."""
    return re.findall(r'"(\w+)"', re.search(rf"{source}{{([^}}]*)}}", LISTS)[1])


def names_in(file, variable="FAMILIES"):
    """The names in the assignment to a variable of a module."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == variable:
            return [each.id for each in ast.walk(node.value) if isinstance(each, ast.Name) and each.id != "each"]
    return []


def names_below(folder):
    """The families of all modules of a package."""
    modules = [file for file in folder.glob("*.py") if file.name != "__init__.py"]
    return [name for file in modules for name in names_in(file)]


def test_families_of_pytorch():
    assert listed("pytorch") == sorted([*names_in(SYNTH / "grammar.py", "COMPILED"), *names_below(SYNTH / "products")])


def test_families_of_cuda():
    assert listed("cuda") == sorted(names_below(SYNTH / "cuda_pairs" / "families"))
