"""Counts Triton's launches on a device, at the call from Triton into the driver."""
import hashlib
from collections import OrderedDict

import torch
from triton.compiler.compiler import CompiledKernel

from . import broker

_wait, _capturing = torch.cuda.synchronize, torch.cuda.is_current_stream_capturing


class Launches:
    """Records launches, and decides whether they are made."""

    def __init__(self, log):
        self.log = log
        self.skip = False
        self.waits = False  # for each launch, so that a fault of the device is that of one kernel
        self.faulty = ""  # the first kernel whose launch failed while it was waited for
        self._kernels = OrderedDict()

    def make(self, name, launcher, arguments):
        """Make a launch of the kernel `name`."""
        if not self.waits or _capturing():
            return launcher(*arguments)
        _wait()  # an earlier fault is not this kernel's
        try:
            made = launcher(*arguments)
            _wait()
        except Exception:
            self.faulty = self.faulty or str(name)
            raise
        return made

    def launched(self, sha256, kernel):
        """Add this kernel to the latest ones."""
        self._kernels[sha256] = kernel
        self._kernels.move_to_end(sha256)
        if len(self._kernels) > broker.KERNELS:
            self._kernels.popitem(last=False)

    def lowered(self):
        """The data with which the compile broker makes the latest launched kernels again, as JSON lines."""
        lines, size = [], 0
        for sha256, kernel in reversed(self._kernels.items()):
            line = broker.line_of(kernel, sha256)
            if line is not None and (size := size + len(line) + 1) <= broker.TEXT_BYTES:
                lines.append(line.encode() + b"\n")
        return b"".join(lines)


class _Counted:
    """Wraps a kernel's launcher and counts its calls.

    Launches of packages' kernels and of torch.compile's are made as PyTorch's own are: not counted and never skipped.
    """

    def __init__(self, launches, kernel, launcher):
        self._launches, self._kernel, self._launcher = launches, kernel, launcher
        self._brought = broker.is_brought_kernel(kernel)
        metadata = kernel.metadata
        self._name, self._warps = kernel.name, metadata.num_warps
        self._facts = {"registers": kernel.n_regs, "spills": kernel.n_spills, "shared": metadata.shared,
                       "cubin": hashlib.sha256(kernel.kernel).hexdigest(), "ms": -1.0}

    def __call__(self, x, y, z, *rest):
        if self._brought:
            self._launches.launched(self._facts["cubin"], self._kernel)
            return self._launches.make(self._name, self._launcher, (x, y, z, *rest))
        self._launches.log.begin(self._name, (x, y, z), max(x, 0) * max(y, 0) * max(z, 0), self._warps)
        self._launches.launched(self._facts["cubin"], self._kernel)
        try:
            if not self._launches.skip:
                self._launches.make(self._name, self._launcher, (x, y, z, *rest))
        finally:
            self._launches.log.end(**self._facts)

    def __getattr__(self, name):
        return getattr(self._launcher, name)


def install(log):
    """Count every launch from now on."""
    launches, original = Launches(log), CompiledKernel._init_handles

    def init_handles(self):
        first = self.module is None
        original(self)
        if first:
            self._run = _Counted(launches, self, self._run)

    CompiledKernel._init_handles = init_handles
    return launches
