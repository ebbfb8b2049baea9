"""The package that `deploy modal` unpacks, with tarfile of Python 3.11.4 and newer, and of older ones."""
import io
import tarfile

import pytest

from kernelwright._fleet import deploy_modal
from kernelwright._fleet.events import DeployError


@pytest.fixture(params=["filters", "no filters"], autouse=True)
def tarfile_of_a_version(request, monkeypatch):
    if request.param == "filters" and not hasattr(tarfile, "data_filter"):
        pytest.skip("this Python's tarfile has no filters")
    if request.param == "no filters":
        newer = tarfile.TarFile.extractall

        def older(self, path=".", members=None, *, numeric_owner=False):
            return newer(self, path, members, numeric_owner=numeric_owner)

        monkeypatch.setattr(tarfile.TarFile, "extractall", older)
        monkeypatch.delattr(tarfile, "data_filter", raising=False)


def packed(folder, **changes):
    """A tarball of top/bin/tool, whose member has these attributes."""
    member = tarfile.TarInfo("top/bin/tool")
    member.size, member.mode = 4, 0o4777
    for name, value in changes.items():
        setattr(member, name, value)
    path = folder / "package.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(member, io.BytesIO(b"tool"))
    return path


def test_a_package_is_unpacked(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    found = deploy_modal.unpacked(packed(tmp_path), scratch)
    assert found == scratch / "top"
    tool = found / "bin/tool"
    assert tool.read_bytes() == b"tool" and tool.stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize("changes, word", [
    ({"name": "../outside"}, "outside"),
    ({"name": "top/../../outside"}, "outside"),
    ({"name": "/tmp/kernelwright-outside"}, "outside"),
    ({"type": tarfile.SYMTYPE, "linkname": "/etc/passwd", "size": 0}, "neither a file nor a folder"),
    ({"type": tarfile.LNKTYPE, "linkname": "../outside", "size": 0}, "neither a file nor a folder"),
    ({"type": tarfile.CHRTYPE, "size": 0}, "neither a file nor a folder"),
    ({"type": tarfile.FIFOTYPE, "size": 0}, "neither a file nor a folder"),
])
def test_what_no_package_has_is_refused(tmp_path, changes, word):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with pytest.raises(DeployError, match=word):
        deploy_modal.unpacked(packed(tmp_path, **changes), scratch)
    assert list(scratch.iterdir()) == [] and not (tmp_path / "outside").exists()


def test_half_a_package_is_refused(tmp_path):
    path = packed(tmp_path)
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(DeployError, match="cannot be unpacked"):
        deploy_modal.unpacked(path, tmp_path)
