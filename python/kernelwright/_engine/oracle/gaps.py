"""The arena's memory that belongs to no tensor: filled anew for each trial, and compared after it.

A kernel that writes there writes out of bounds. A result that depends on it is drawn at random.
"""
import torch

from ..layout import up

WORD = 8  # bytes


class Gaps:
    """The gaps of one layout. `tensors` are (name, offset, bytes); `own` is a range that others watch."""

    def __init__(self, tensors, own):
        self._tensors = sorted((offset, offset + size, name) for name, offset, size in tensors if size)
        self._own = own
        self._size = None

    def fill(self, arena, seed):
        """Fill every gap with bytes that the seed decides."""
        for view, index, salt in self._parts(arena):
            view.index_copy_(0, index, salt ^ _key(seed, salt.dtype))

    def pairs(self, arena, seed):
        """(the bytes there, the bytes of the fill), in pairs of tensors."""
        return [(view.index_select(0, index), salt ^ _key(seed, salt.dtype))
                for view, index, salt in self._parts(arena)]

    def first_changed(self, arena, seed):
        """The offset of the first byte that is not as the fill left it; None: there is none."""
        found = []
        for (now, before), (_, index, _) in zip(self.pairs(arena, seed), self._parts(arena)):
            differ = (now != before).nonzero()
            if differ.numel():
                at, size = int(differ[0]), now.element_size()
                bits = int(now[at] ^ before[at]) & ((1 << 8 * size) - 1)
                found.append(int(index[at]) * size + ((bits & -bits).bit_length() - 1) // 8)
        return min(found, default=None)

    def place(self, offset):
        """Where an offset lies: "12 bytes behind input x"."""
        if not self._tensors:
            return f"at byte {offset} of the memory that inputs share"
        def distance(each):
            return max(each[0] - offset, offset - each[1], 0)
        begin, end, name = min(self._tensors, key=distance)
        return f"{begin - offset} bytes before {name}" if offset < begin else f"{offset - end} bytes behind {name}"

    def _parts(self, arena):
        """(view of the arena, indices, salt) of the whole words, and of the single bytes at their edges."""
        if self._size != arena.size:
            self._size = arena.size
            self._index(arena.size, arena.device)
        whole = arena.bytes(0, arena.size // WORD * WORD)
        parts = (whole.view(torch.int64), *self._words), (whole, *self._edges)
        return [part for part in parts if part[1].numel()]

    def _index(self, size, device):
        words, edges = [], []
        for begin, end in self._ranges(size // WORD * WORD):
            first, last = up(begin, WORD), end // WORD * WORD
            if first >= last:
                edges.append(torch.arange(begin, end))
                continue
            words.append(torch.arange(first // WORD, last // WORD))
            edges += [torch.arange(begin, first), torch.arange(last, end)]
        generator = torch.Generator().manual_seed(0)
        self._words, self._edges = (
            (index.to(device), torch.randint(low, high, index.shape, generator=generator, dtype=dtype).to(device))
            for index, low, high, dtype in ((_joined(words), -(1 << 63), (1 << 63) - 1, torch.int64),
                                            (_joined(edges), 0, 256, torch.uint8)))

    def _ranges(self, size):
        at = 0
        for begin, end in sorted([*((begin, end) for begin, end, _ in self._tensors), self._own]):
            if begin > at:
                yield at, min(begin, size)
            at = max(at, end)
        if at < size:
            yield at, size


def _joined(indices):
    return torch.cat(indices) if indices else torch.empty(0, dtype=torch.int64)


def _key(seed, dtype):
    key = (seed * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & ((1 << 64) - 1)
    if dtype is torch.uint8:
        return key >> 56
    return key - (1 << 64) if key >> 63 else key
