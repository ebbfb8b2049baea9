"""The census of library kernels: where its libraries are, and that it finds what NVIDIA's own tool extracts."""
import ctypes
import hashlib
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from kernelwright._engine import kernel_libraries

REPLAYER = Path(__file__).resolve().parents[2] / "build/kernelwright-replayer"
MARK, HASH = 8, 64  # bytes of a census before and after its keys: the mark and two hashes


def keys_of(cubin):
    """The keys of the kernels in a cubin, by name: the first 8 bytes of the SHA-256 of each section `.text.NAME`."""
    at, = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    sections = [struct.unpack_from("<IIQQQQ", cubin, at + i * size) for i in range(count)]
    found = {}
    for name, _, _, _, offset, length in sections:
        text = cubin[sections[names][4] + name:].split(b"\0", 1)[0].decode()
        if text.startswith(".text."):
            found[text.removeprefix(".text.")] = hashlib.sha256(cubin[offset:offset + length]).digest()[:8]
    return found


@pytest.fixture
def census(tmp_path):
    """Runs the maker on some folders; returns the set of keys."""
    def made(*folders, capability=90):
        done = subprocess.run([REPLAYER, "--census", str(capability), *folders], capture_output=True, timeout=120, check=False,
                              env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
        assert done.returncode == 0, done.stderr
        keys = done.stdout[MARK + HASH:-HASH]
        return {keys[i:i + 8] for i in range(0, len(keys), 8)}
    if not REPLAYER.exists():
        pytest.skip("this build has no replayer")
    return made


def test_the_folders_are_those_of_packages_and_of_mapped_libraries(tmp_path, monkeypatch):
    elsewhere = tmp_path / "cuda"
    elsewhere.mkdir()
    monkeypatch.setattr(kernel_libraries, "_mapped", lambda: {f"{elsewhere}/libcublasLt.so.13", "/no/libcurl.so.4"})
    found = kernel_libraries.folders()
    assert str(elsewhere) in found
    assert "/no" not in found
    assert any(os.path.realpath(pytest.__file__).startswith(each + "/") for each in found)
    assert not any(one != other and one.startswith(other + "/") for one in found for other in found)


def test_a_mapped_library_is_found():
    libc = ctypes.CDLL(None)
    assert libc
    assert os.path.realpath(sys.executable) in kernel_libraries._mapped()


def test_it_holds_the_kernels_that_cuobjdump_extracts_from_pytorch(census, tmp_path):
    triton = pytest.importorskip("triton")
    torch = pytest.importorskip("torch")
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    library = Path(torch.__file__).parent / "lib/libtorch_cuda_linalg.so"
    if not tool.exists() or not library.exists():
        pytest.skip("PyTorch or Triton is for the CPU only")
    (tmp_path / "lib").mkdir()
    os.symlink(library, tmp_path / "lib/libtorch_cuda_linalg.so")
    listed = subprocess.run([tool, "-lelf", library], capture_output=True, text=True, timeout=60, check=True).stdout
    names = [line.split()[-1] for line in listed.splitlines() if line.endswith("sm_90.cubin")]
    assert names
    expected = {}
    for name in names[::12]:
        subprocess.run([tool, "-xelf", name, library], cwd=tmp_path, capture_output=True, timeout=60, check=True)
        expected |= keys_of((tmp_path / name).read_bytes())
    found = census(tmp_path / "lib")
    assert len(expected) > 10
    assert set(expected.values()) <= found
    shutil.rmtree(tmp_path / "lib")
