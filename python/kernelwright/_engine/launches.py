"""The launches of a runner process: a bounded list, and a page of counters that the supervisor reads meanwhile."""
import struct
import time

KEPT = 64
PAGE_BYTES = 64
STAGE, IN_LAUNCH, LAUNCHES, PROGRAMS, CURRENT = range(5)
MASK = (1 << 64) - 1


class LaunchLog:
    """Counts launches and programs; `page`, where given, mirrors the counters for another process.

    The page holds little-endian u64 words: the stage (set by others), 1 while a launch runs, launches begun, programs
    finished, and the programs of the current launch. All but the second and the last only grow, so that a reader can
    tell a slow process from a stuck one.
    """

    def __init__(self, page=None):
        self.records = []
        self.launches = 0
        self.programs = 0
        self._begun = 0
        self._finished = 0
        self._open = None
        self._started = 0.0
        self._words = None
        if page is not None:
            self.attach(page)

    def attach(self, page):
        """Mirror the counters into `page`, a writable buffer of at least 64 bytes."""
        view = memoryview(page).cast("B")
        if view.readonly or len(view) < PAGE_BYTES:
            raise ValueError("the page must be writable and hold at least 64 bytes")
        # Native words are little-endian wherever PyTorch's wheels run; on other machines they are packed explicitly.
        little = struct.pack("=Q", 1) == struct.pack("<Q", 1)
        self._words = view[:PAGE_BYTES].cast("Q") if little else _LittleWords(view)

    def begin(self, name, grid, programs, num_warps):
        """Begin a launch of `programs` programs."""
        self.launches += 1
        self._begun += 1
        self._open = {"name": str(name)[:256], "grid": list(grid), "programs": int(programs),
                      "num_warps": int(num_warps), "ms": 0.0}
        if len(self.records) < KEPT:
            self.records.append(self._open)
        self._started = time.perf_counter()
        if self._words is not None:
            self._words[CURRENT] = programs & MASK
            self._words[LAUNCHES] = self._begun
            self._words[IN_LAUNCH] = 1

    def program_done(self):
        """Count a finished program of the current launch. Called very often, so it must stay cheap."""
        self.programs += 1
        self._finished += 1
        if self._words is not None:
            self._words[PROGRAMS] = self._finished

    def end(self, **more):
        """End the launch that began last; `more` is added to its record."""
        if self._words is not None:
            self._words[IN_LAUNCH] = 0
        if self._open is not None:
            self._open["ms"] = round((time.perf_counter() - self._started) * 1e3, 4)
            self._open.update(more)
            self._open = None

    def reset(self):
        """Return the records and clear the list; the page's counters continue."""
        records, self.records = self.records, []
        self.launches = self.programs = 0
        self._open = None
        return records


class _LittleWords:
    """Word access to a page on a big-endian machine."""

    def __init__(self, view):
        self._view = view

    def __setitem__(self, index, value):
        struct.pack_into("<Q", self._view, index * 8, value)
