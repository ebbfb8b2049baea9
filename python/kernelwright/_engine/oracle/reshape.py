"""Makes versions of a task at other sizes, on which a candidate that is right for the function is right too.

A size is changed only if the shapes of the inputs follow it, and if weights, buffers and the constructor's arguments stay:
a kernel may be written for its weights.
"""
from .faults import TaskFault
from .shrink import tried
from .sizes import sizes_of

KINDS = ("prime", "larger", "more_rows", "one", "empty")
MOST_SIZES = 8          # of a task, since each change is tried with the reference
LARGER = 4099           # a prime above the largest block of most kernels
SMALL = 3               # the other sizes then, since an interpreter takes its time
NOWHERE = 1 << 30       # the place of what is no dimension of an input
GROWTH, SMALL_BYTES = 4, 4 << 20  # inputs of a larger version: at most so many times the bytes, or so many bytes


def reshaped(source, entry_point, input_shapes, kind, max_bytes):
    """(source, shapes, {size: new value}) of the version of this kind; a TaskFault where the task has none.

    prime: every size that can change is the next smaller prime, which no block divides. larger: the innermost size is
    beyond a block, and the others are small. more_rows: each size other than an innermost one is twice as large and one more,
    or one more, as the bytes allow. one: every size is 1. empty: one size is 0. `max_bytes` limits inputs and weights; 0: no
    limit.
    """
    if kind not in KINDS:
        raise TaskFault(f"no version of a task is called {kind!r}", "infrastructure")
    sizes = sizes_of(source, input_shapes, with_literals=True)
    version = _Version(source, entry_point, input_shapes, sizes, max_bytes, 0 if kind == "more_rows" else SMALL_BYTES)
    if version.given is None:
        raise TaskFault("the reference cannot be tried without its inputs")
    changed = False
    for size in version.in_order(kind):
        if changed and kind == "empty":
            break
        values = [SMALL] if changed and kind == "larger" else _values(kind, size.value)
        changed = any(version.try_value(size, value) for value in values) or changed
    if not changed:
        raise TaskFault("no size of the inputs can change so with the reference still valid and the weights as they are")
    return *sizes.written(source, input_shapes), sizes.changed()


class _Version:
    """The task at the present sizes."""

    def __init__(self, source, entry_point, input_shapes, sizes, max_bytes, small_bytes):
        self._task = source, entry_point, input_shapes
        self._sizes, self._max_bytes, self._small_bytes = sizes, max_bytes, small_bytes
        self.given = self._present = self._tried()

    def _tried(self):
        source, entry_point, input_shapes = self._task
        return tried(*self._sizes.written(source, input_shapes), entry_point)

    def in_order(self, kind):
        """The sizes that this kind changes, in the order in which it does."""
        values = {value for shape in self.given.inputs for value in shape}
        known = [size for size in self._sizes.sizes if size.value >= 2 and size.value in values][:MOST_SIZES]
        found = sorted(((self._place(size), size) for size in known), key=lambda each: each[0])
        found = [size for place, size in found if place < NOWHERE and (place > 0 or kind != "more_rows")]
        return found[::-1] if kind in ("empty", "more_rows") else found

    def _place(self, size):
        """How far from the innermost dimension the size is, or NOWHERE where no input follows it alone."""
        was = size.value
        for value in (was + 1, 2 * was, was // 2):
            size.put(value)
            found = self._tried()
            size.put(was)
            if found is None or found.fixed != self.given.fixed or found.inputs == self.given.inputs:
                continue
            return min((len(shape) - 1 - at for shape, given in zip(found.inputs, self.given.inputs)
                        for at, (new, old) in enumerate(zip(shape, given)) if new != old), default=0)
        return NOWHERE

    def try_value(self, size, value):
        """Whether the task stays valid with this value of the size, and its inputs follow; else the size is put back."""
        was = size.value
        if value == was:
            return False
        size.put(value)
        found = self._tried()
        if found is not None and self._fits(found, value):
            self._present = found
            return True
        size.put(was)
        return False

    def _fits(self, found, value):
        return (found.inputs != self._present.inputs and found.fixed == self.given.fixed
                and (value == 0 or found.output_elements != 0)
                and found.weight <= max(GROWTH * self.given.weight, self._small_bytes)
                and not 0 < self._max_bytes < found.weight)


def _values(kind, value):
    """The values to try in place of `value`, the first one that fits being taken."""
    if kind == "prime":
        return [_prime_below(value) or _prime_above(value)]
    if kind == "larger":
        return [each for each in (LARGER, 2 * value + 1) if each > value]
    if kind == "more_rows":
        return [2 * value + 1, value + 1]
    return [1 if kind == "one" else 0]


def _is_prime(value):
    return value > 1 and all(value % each for each in range(2, int(value ** 0.5) + 1))


def _prime_below(value):
    return next((each for each in range(value - 1, 1, -1) if _is_prime(each)), None)


def _prime_above(value):
    return next(each for each in range(value + 1, 2 * value + 2) if _is_prime(each))
