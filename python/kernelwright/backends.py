"""The three ways to run a candidate: interpreted, compiled only, or on a device. A process is one of them.

`prepare()` runs once in the parent that forks runners, everything else in the child.
"""
import contextlib
import os

from .launches import LaunchLog

# The recorder's library, as the supervisor names it, and what makes the driver load it.
RECORDER, INJECTION = "KERNELWRIGHT_RECORDER", "CUDA_INJECTION64_PATH"


class _Backend:
    """What the modes have in common; imports of torch and triton wait for the environment to be set."""

    guarded = True
    environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

    def __init__(self):
        self.log = LaunchLog()
        self.native_code = False
        self.recorder, self.no_recorder = None, "only a device's work can be recorded"

    def start(self, device):
        """In the child, before any code of the candidate."""

    def scope(self):
        """Around everything that the candidate does."""
        return self._shim.candidate_scope()

    def poison(self, mode, seed):
        """How memory looks that the candidate allocates from here on."""
        self._shim.set_poison(mode or "nan", seed)

    def synchronize(self):
        """Wait for what the candidate left running."""

    def lowered(self):
        """What the compile broker needs to know of the kernels launched so far."""
        return b""

    @contextlib.contextmanager
    def skipping(self, skip):
        """Kernels are counted and not run, if `skip`."""
        yield


class Interpret(_Backend):
    """Triton's interpreter."""

    name = "interpret"
    environment = {**_Backend.environment, "TRITON_INTERPRET": "1", "TORCHDYNAMO_DISABLE": "1"}

    def prepare(self):
        """Install the shim."""
        from .cpu import interpret
        interpret.install(self.log)
        self._shim = interpret

    @contextlib.contextmanager
    def skipping(self, skip):
        """Launches answer at once."""
        from triton.runtime.interpreter import InterpretedFunction
        kept = InterpretedFunction.run
        if skip:
            InterpretedFunction.run = lambda *args, **kwargs: self._shim.LaunchHandle()
        try:
            yield
        finally:
            InterpretedFunction.run = kept


class Compile(_Backend):
    """Every launch is compiled for the device, none runs."""

    name = "compile"
    environment = {**_Backend.environment, "TORCHDYNAMO_DISABLE": "1"}

    def prepare(self):
        """Install the shim and pay for the first compilation."""
        from .cpu import compile_only
        compile_only.install(self.log)
        compile_only.warm()
        self._shim = compile_only


class Cuda(_Backend):
    """A device. The parent must never touch it: a CUDA context does not survive a fork."""

    name = "cuda"
    guarded = False
    environment = {**_Backend.environment, "CUDA_DEVICE_MAX_CONNECTIONS": "1"}

    def prepare(self):
        """Pay for the imports and hashes that a first launch needs."""
        from . import cuda_launches, cuda_warm, native_code
        with cuda_warm.hands_off():
            cuda_warm.compiler()
            cuda_warm.driver_helper()
            native_code.watch(self)
        self._launches = cuda_launches.install(self.log)

    def start(self, device):
        """Make the device current, with the recorder loaded where the supervisor named one."""
        import torch
        recorder = self._installed(os.environ.get(RECORDER))
        torch.cuda.set_device(device)
        if recorder is not None:
            torch.cuda.synchronize()  # the context is there from here on
            self._check(recorder)
        for name in (RECORDER, INJECTION):
            os.environ.pop(name, None)

    def _installed(self, path):
        """A recorder that cannot start takes no candidate with it: the reason is kept, and calls go on without."""
        self.no_recorder = "this runner was started without the recorder"
        if not path:
            return None
        try:
            from . import recorder
            return recorder.install(path)
        except Exception as exc:
            self.no_recorder = f"the recorder could not be loaded: {exc}"
            return None

    def _check(self, recorder):
        try:
            recorder.check()
            self.recorder = recorder
        except Exception as exc:
            self.no_recorder = f"the recorder did not start: {exc}"

    def lowered(self):
        """JSON lines."""
        return self._launches.lowered()

    def scope(self):
        """Nothing stands between a candidate and a device."""
        return contextlib.nullcontext()

    def poison(self, mode, seed):
        """Left to the allocator."""

    def synchronize(self):
        """Faults of kernels come up here."""
        import torch
        torch.cuda.synchronize()

    @contextlib.contextmanager
    def skipping(self, skip):
        """Launches are written down only."""
        self._launches.skip = skip
        try:
            yield
        finally:
            self._launches.skip = False


BACKENDS = {each.name: each for each in (Interpret, Compile, Cuda)}


def set_environment(values):
    """Set what is not set: who starts us may know better."""
    for name, value in values.items():
        os.environ.setdefault(name, value)
