"""The three modes of running a candidate: interpreted, compiled only, or on a device. A process has one mode.

`prepare()` runs once in the parent that forks runners, everything else in the child.
"""
import contextlib
import os

from .launches import LaunchLog

# The variable in which the supervisor names the recorder's library, and the one from which the driver loads it.
RECORDER, INJECTION = "KERNELWRIGHT_RECORDER", "CUDA_INJECTION64_PATH"


class _Backend:
    """The common part of the modes. Torch and Triton are imported late, after the environment is set."""

    guarded = True
    environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

    def __init__(self):
        self.log = LaunchLog()
        self.native_code = False
        self.recorder, self.no_recorder = None, "only a device's work can be recorded"

    def start(self, device):
        """Runs in the child before any code of the candidate."""

    def scope(self):
        """The context of everything that the candidate does."""
        return self._shim.candidate_scope()

    def poison(self, mode):
        """Sets how later allocations of the candidate are filled."""
        self._shim.set_poison(mode or "nan", unpredictable())

    def choose_configuration(self, number):
        """Sets which configuration autotuners take, where nothing is measured."""

    def configurations(self):
        """The most that an autotuner had to choose from, where nothing is measured."""
        return 0

    def synchronize(self):
        """Waits for work that the candidate left running."""

    def lowered(self):
        """The data with which the compile broker makes the latest launched kernels again."""
        return b""

    @contextlib.contextmanager
    def having(self, effect):
        """The context of a call whose launches have this wire.Effect."""
        yield

    @contextlib.contextmanager
    def waiting(self):
        """The context of a call that waits for each launch; `faulty_kernel` is then the first whose launch failed."""
        yield

    def faulty_kernel(self):
        """The name of the kernel whose launch failed in waiting(); empty: none did, or it is not known."""
        return ""


class Interpret(_Backend):
    """Triton's interpreter."""

    name = "interpret"
    environment = {**_Backend.environment, "TRITON_INTERPRET": "1", "TORCHDYNAMO_DISABLE": "1"}

    def prepare(self):
        """Install the shim."""
        from .cpu import interpret
        interpret.install(self.log)
        self._shim = interpret

    def choose_configuration(self, number):
        """Sets which configuration autotuners take."""
        self._shim.choose_configuration(number)

    def configurations(self):
        """The most that an autotuner had to choose from."""
        return self._shim.configurations()

    @contextlib.contextmanager
    def having(self, effect):
        """Launches are run as usual, skipped, spoilt or reordered."""
        with self._shim.having(effect):
            yield


class Compile(_Backend):
    """Compiles every launch for the device and runs none."""

    name = "compile"
    environment = {**_Backend.environment, "TORCHDYNAMO_DISABLE": "1"}

    def prepare(self):
        """Install the shim and make the first compilation."""
        from .cpu import compile_only
        compile_only.install(self.log)
        compile_only.warm()
        self._shim = compile_only


class Cuda(_Backend):
    """A device. The parent must never touch it: a CUDA context does not survive a fork."""

    name = "cuda"
    guarded = False
    # torch.compile would launch past Triton, and then the broker is not told what was compiled.
    environment = {**_Backend.environment, "CUDA_DEVICE_MAX_CONNECTIONS": "1",
                   "TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER": "0"}

    def prepare(self):
        """Make the imports and hashes that a first launch needs."""
        from . import cuda_launches, cuda_warm, native_code, native_sources
        with cuda_warm.hands_off():
            cuda_warm.compiler()
            cuda_warm.driver_helper()
            native_code.watch(self)
            self._sources = native_sources.Sources(self._compiles_native_code)
            native_sources.watch(self._sources)
        self._launches = cuda_launches.install(self.log)

    def start(self, device):
        """Make the device current, with the recorder loaded where the supervisor named one."""
        import torch
        recorder = self._installed(os.environ.get(RECORDER))
        torch.cuda.set_device(device)
        if recorder is not None:
            torch.cuda.synchronize()  # creates the context
            self._check(recorder)
        for name in (RECORDER, INJECTION):
            os.environ.pop(name, None)

    def _installed(self, path):
        """The recorder. If it cannot start, the reason is kept and the candidate is called without it."""
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
        """The launched kernels and the sources of CUDA C++ that were compiled, as JSON lines."""
        return self._launches.lowered() + self._sources.lines()

    def _compiles_native_code(self):
        self.native_code = True

    def scope(self):
        """An empty context: the candidate uses the device directly."""
        return contextlib.nullcontext()

    def poison(self, mode):
        """Does nothing: the allocator decides."""

    def synchronize(self):
        """Waits for the device; faults of kernels are raised here."""
        import torch
        torch.cuda.synchronize()

    @contextlib.contextmanager
    def having(self, effect):
        """Launches are recorded and, where the effect is `skipped`, not run."""
        from . import wire
        self._launches.skip = effect == wire.Effect.skipped
        try:
            yield
        finally:
            self._launches.skip = False

    @contextlib.contextmanager
    def waiting(self):
        """Each launch is waited for."""
        self._launches.waits, self._launches.faulty = True, ""
        try:
            yield
        finally:
            self._launches.waits = False

    def faulty_kernel(self):
        """The first kernel whose launch failed on the device."""
        return self._launches.faulty


def unpredictable():
    """A seed that no message and no generator shows."""
    return int.from_bytes(os.urandom(8), "little")


BACKENDS = {each.name: each for each in (Interpret, Compile, Cuda)}


def set_environment(values):
    """Set the variables that are unset; values of the caller stay."""
    for name, value in values.items():
        os.environ.setdefault(name, value)
