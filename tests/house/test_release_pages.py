"""The pages of a release link to its own files only, and name its own program."""
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def release_pages():
    spec = importlib.util.spec_from_file_location("release_pages", ROOT / "scripts/release_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def release(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "LICENSE").write_text("")
    (tmp_path / "docs/verdict.md").write_text("")
    return tmp_path.resolve()


@pytest.mark.parametrize("text, fitted", [
    ("[a](verdict.md#b), [c](../LICENSE)", "[a](verdict.md#b), [c](../LICENSE)"),
    ("[threats](../SECURITY.md), [`src`](../src/types)", "threats, `src`"),
    ("[up](../../etc)", "up"),
    ("[web](https://example.org), [below](#below)", "[web](https://example.org), [below](#below)"),
    ("`make demo` builds `build/kernelwright`", "`make demo` builds `build/kernelwright`"),
    ("```sh\nbuild/kernelwright run\n```", "```sh\nbin/kernelwright run\n```"),
    ("```sh\nbuild/kernelwright-replayer\n```", "```sh\nbuild/kernelwright-replayer\n```"),
])
def test_a_page_fits_the_release(release_pages, release, text, fitted):
    assert release_pages.fitted(text, release / "docs/page.md", release) == fitted


def test_all_pages_of_a_folder_are_fitted(release_pages, release):
    page = release / "README.md"
    page.write_text("[design](ARCHITECTURE.md) [verdict](docs/verdict.md)", encoding="utf-8")
    release_pages.main(release)
    assert page.read_text(encoding="utf-8") == "design [verdict](docs/verdict.md)"
