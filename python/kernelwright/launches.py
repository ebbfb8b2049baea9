"""What a runner process launched: a bounded list, and a page the supervisor can read while we run."""
import struct
import time

KEPT = 64
PAGE_BYTES = 64
STAGE, IN_LAUNCH, LAUNCHES, PROGRAMS, CURRENT = range(5)
MASK = (1 << 64) - 1


class LaunchLog:
    """Counts launches and programs; `page`, where given, mirrors the counters for another process.

    The page holds little-endian u64 words: stage (set by others), 1 while a launch runs, launches
    begun, programs finished, and how many programs the current launch has. They only ever grow (but
    for the second and the last), so that a reader can tell slow from stuck.
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
        # Native words are little-endian wherever PyTorch's wheels run; elsewhere we pack by hand.
        little = struct.pack("=Q", 1) == struct.pack("<Q", 1)
        self._words = view[:PAGE_BYTES].cast("Q") if little else _LittleWords(view)

    def begin(self, name, grid, programs, num_warps):
        """A launch of `programs` programs starts."""
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
        """One program of the current launch finished (called very often: keep it cheap)."""
        self.programs += 1
        self._finished += 1
        if self._words is not None:
            self._words[PROGRAMS] = self._finished

    def end(self, **more):
        """The launch that began last is over; `more` goes into its record."""
        if self._words is not None:
            self._words[IN_LAUNCH] = 0
        if self._open is not None:
            self._open["ms"] = round((time.perf_counter() - self._started) * 1e3, 4)
            self._open.update(more)
            self._open = None

    def reset(self):
        """Hand out the records so far and start afresh; the page's counters go on growing."""
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
