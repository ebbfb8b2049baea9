"""The list of sources of `dataset discover` has no fault, and its check finds each kind of fault."""
import copy
import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = {"name": "some-kernels", "kind": "pypi", "pin": "1.2", "archive": "some_kernels-1.2-py3-none-any.whl",
           "sha256": "a" * 64, "licence": "MIT", "kernels": {"triton": 3, "pytorch": 1}, "left_out": 0,
           "what": "Kernels of attention in Triton."}
REPOSITORY = {"name": "kernels", "kind": "git", "pin": "b" * 40, "url": "https://example.com/owner/kernels",
              "licence": "Apache-2.0", "kernels": {"cuda": 2}, "left_out": 1, "what": "Kernels of attention in CUDA."}


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check_catalogue", ROOT / "scripts/check_catalogue.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_list_has_no_fault(check):
    text = check.LIST.read_text(encoding="utf-8")
    entries = json.loads(text)
    assert check.form_faults(entries) == []
    assert check.text_of(entries) == text


def test_right_entries_have_no_fault(check):
    assert check.form_faults([REPOSITORY, PACKAGE]) == []


@pytest.mark.parametrize(("field", "value"), [
    ("name", "Some_Kernels"), ("kind", "svn"), ("pin", ">=1.2"), ("pin", "1.*"), ("pin", "1.3"),
    ("archive", "other-1.2.tar.gz"), ("sha256", "a" * 63), ("licence", "AGPL-3.0-only"), ("licence", "MIT OR GPL-3.0-only"),
    ("licence", ""), ("kernels", {}), ("kernels", {"pytorch": 1}),
    ("kernels", {"triton": 0}), ("kernels", {"triton": True}), ("kernels", {"hip": 3}),
    ("left_out", -1), ("left_out", None), ("what", "Kernels"), ("what", "One sentence of kernels. Another sentence.")])
def test_a_fault_of_a_package(check, field, value):
    assert check.form_faults([{**PACKAGE, field: value}])


@pytest.mark.parametrize(("field", "value"), [
    ("pin", "main"), ("pin", "b" * 12), ("pin", "B" * 40), ("url", "http://example.com/owner/kernels"),
    ("url", "https://user:word@example.com/owner/kernels"), ("url", "https://example.com/kernels"), ("url", "ext::sh"),
    ("url", "https://example.com/owner/kernels.git"), ("url", "https://example.com/owner/kernels?x=1"), ("url", 3)])
def test_a_fault_of_a_repository(check, field, value):
    assert check.form_faults([{**REPOSITORY, field: value}])


def test_a_missing_or_unknown_field(check):
    short = copy.deepcopy(PACKAGE)
    del short["sha256"]
    assert check.form_faults([short])
    assert check.form_faults([{**PACKAGE, "stars": 3}])


def test_order_and_duplicates(check):
    assert "the list is not sorted by name" in check.form_faults([PACKAGE, REPOSITORY])
    assert "kernels: listed 2 times" in check.form_faults([REPOSITORY, REPOSITORY])


def test_no_list(check):
    for entries in ({}, [], [3]):
        assert check.form_faults(entries)
