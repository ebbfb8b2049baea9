"""Finds the folders of the shared libraries whose kernels are no candidate's: for the census."""
import os
import re
import site
import sysconfig

_WITH_KERNELS = re.compile(r"lib(torch_|cublas|cudnn|cufft|curand|cusolver|cusparse|nccl|nvshmem)")


def folders():
    """Those of Python's packages, and those of PyTorch's and NVIDIA's libraries in this process that lie elsewhere."""
    paths = sysconfig.get_paths()
    packages = {os.path.realpath(each) for each in (paths["purelib"], paths["platlib"], *site.getsitepackages())}
    found = sorted(packages | {os.path.dirname(path) for path in _mapped() if _WITH_KERNELS.match(os.path.basename(path))})
    return [each for each in found if not any(each.startswith(os.path.join(other, "")) for other in found)]


def _mapped():
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        lines = [line.split(maxsplit=5) for line in file]
    return {os.path.realpath(words[5].rstrip("\n")) for words in lines if len(words) == 6 and words[5].startswith("/")}
