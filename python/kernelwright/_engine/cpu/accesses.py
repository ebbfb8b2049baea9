"""What programs that do not run one after another read and write.

The order matters where a program reads what another writes, or where two write one element. Then there is a
Conflict, and what they wrote can be undone. Atomic operations on one element may follow one another in any order.
"""
from typing import NamedTuple

import numpy as np
from triton._C.libtriton import interpreter as _native

KEPT_BYTES = 1 << 26  # of addresses; beyond them any overlap of ranges is a conflict


class Conflict(Exception):
    """The programs must run one after another."""


class Access(NamedTuple):
    """One access by a group of programs; it lies between the addresses `low` and `high`."""

    kind: str  # load, store, atomic
    low: int
    high: int
    element_bytes: int
    addresses: np.ndarray  # of each program in its own row; without rows if all have the same; None: not kept
    active: np.ndarray  # of the same form; None: all
    is_uniform: bool


class Accesses:
    """The accesses of programs with numbers from 0."""

    def __init__(self):
        self._programs, self._reads, self._writes, self._saved, self._kept_bytes = None, [], [], [], 0

    def of(self, programs):
        """The accesses from now on are of the group of these programs, in ascending order."""
        self._programs = np.array(programs)

    def add(self, access):
        """Note an access before any element changes. Raises Conflict."""
        self._kept_bytes += access.addresses.nbytes
        if access.kind != "load":
            self._save(access)
        if self._kept_bytes > KEPT_BYTES:
            access = access._replace(addresses=None, active=None)
        for other, programs in self._writes if access.kind == "load" else (*self._writes, *self._reads):
            if access.low < other.high and other.low < access.high and self._differ(access, other, programs):
                raise Conflict
        (self._reads if access.kind == "load" else self._writes).append((access, self._programs))

    def mark(self):
        """The number of accesses so far, for `undo`."""
        return len(self._reads), len(self._writes), len(self._saved)

    def undo(self, mark=(0, 0, 0)):
        """Put back what was there before the accesses after the mark, and forget them."""
        reads, writes, saved = mark
        for addresses, values in reversed(self._saved[saved:]):
            _native.store(addresses, values, np.ones(len(addresses), bool))
        del self._reads[reads:], self._writes[writes:], self._saved[saved:]

    def _save(self, access):
        addresses = (access.addresses if access.active is None else access.addresses[access.active]).flatten()
        kind = np.dtype(f"u{access.element_bytes}")
        values = _native.load(addresses, np.ones(len(addresses), bool), np.zeros(len(addresses), kind), kind)
        self._saved.append((addresses, values))

    def _differ(self, access, other, programs):
        """Whether two programs touch one element."""
        if access.kind == other.kind == "atomic":
            return False
        if access.addresses is None or other.addresses is None or access.element_bytes != other.element_bytes:
            return True
        if access.is_uniform and other.is_uniform and access.kind == other.kind and programs is self._programs:
            return False  # each of them stores the same twice
        mine, my_first, my_last = _by_address(access, self._programs)
        theirs, first, last = _by_address(other, programs)
        at = np.minimum(np.searchsorted(theirs, mine), len(theirs) - 1)
        return bool(((theirs[at] == mine) & ((first[at] != my_last) | (last[at] != my_first))).any())


def _by_address(access, programs):
    """The addresses, each once, and the first and the last of the programs that touch each."""
    data = access.addresses
    if access.is_uniform:
        found = np.unique(data if access.active is None else data[access.active])
        return found, np.full(len(found), programs[0]), np.full(len(found), programs[-1])
    numbers = np.broadcast_to(programs.reshape(-1, *[1] * (data.ndim - 1)), data.shape)
    if access.active is not None:
        data, numbers = data[access.active], numbers[access.active]
    data, numbers = data.reshape(-1), numbers.reshape(-1)
    order = np.argsort(data, kind="stable")  # the programs of one address stay in their order
    data, numbers = data[order], numbers[order]
    starts = np.flatnonzero(np.concatenate(([True], data[1:] != data[:-1])))
    return data[starts], numbers[starts], numbers[np.concatenate((starts[1:], [len(data)])) - 1]
