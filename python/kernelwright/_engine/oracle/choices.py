"""Integers and masks: what is common to all draws of one, and changed values that keep it.

No value is new: integers are those of the draws, and order, uniqueness, sums, rows of few numbers and the rows of a mask stay.
Whole numbers that are stored as floats are integers here.
"""
from dataclasses import dataclass, field

import torch

LOW, HIGH, ORDER = "low", "high", "order"  # the changes

MASK, COUNTED, PREFIX, VALUES, TUPLES, REORDERED, STEPS = (
    "mask", "counted rows", "prefix", "values", "tuples", "reordered", "steps")
MASKS = (MASK, COUNTED, PREFIX)
SEVERAL = "an order along several dimensions"  # why it is kept
WORDS = {
    MASK: ("15 of 16 off", "15 of 16 on", "sorted along rows"),
    COUNTED: ("most rows on at their ends", "most rows on at their starts", None),
    PREFIX: ("most rows as short as any", "most rows as long as any", None),
    VALUES: ("15 of 16 the least value", "15 of 16 the greatest value", "with sorted rows"),
    TUPLES: ("15 of 16 one tuple", "15 of 16 another tuple", "with sorted tuples"),
    REORDERED: ("in descending order", None, "in ascending order"),
    STEPS: ("with ascending steps", "with descending steps", None),
}
FEWEST = 4         # elements
_BARE = (torch.uint16, torch.uint32, torch.uint64)  # few operators know them
TUPLE = 16         # numbers at most of which a row is one thing, such as coordinates
PAIRS = 3          # rows at most of which the columns are one thing, such as edges
CHANGED = 15 / 16  # of what a change concerns
PROBED = 1 << 16   # elements that are examined before all are
FROZEN = 0.05      # share of a mask's positions that never change, beyond what chance gives
LARGEST_WHOLE = 1 << 24  # up to which float32 has every integer
LONG = 8           # numbers from which a line of floats keeps some of its variance
LEAST_VARIANCE = 1 / 16
EDGES = 1 / 8      # of the rows of a mask: those that get nothing, or all
SPREAD = (0.4, 2.5)  # of the sums of rows, over that of independent positions
FEWEST_ROWS = 16   # whose spread says anything


@dataclass
class Choices:
    """What the draws of one tensor have in common."""

    how: str = ""
    why: str = ""               # it is kept
    equal: tuple = ()           # dimensions along which all is equal
    along: int = -1             # of the others, the one that rows extend along
    low: float | int = 0        # of a mask: its two values; else the least and the greatest value or tuple
    high: float | int = 0
    frozen: torch.Tensor | None = None  # positions that never change
    some_on: list = field(default_factory=list)   # dimensions of a mask: each line has a place that is on
    some_off: list = field(default_factory=list)
    shortest: int = 0           # of a prefix
    longest: int = 0
    ends: bool = False          # a prefix that is off first, then on
    columns: bool = False       # the tuples are columns
    floats: bool = False        # whole numbers that are stored as floats
    may_be_off: bool = False    # rows of a mask
    may_be_on: bool = False

    def words(self, change, edges=False):
        """What a change does, or None if it does nothing."""
        found = WORDS[self.how][(LOW, HIGH, ORDER).index(change)] if self.how else None
        if found is None or self.floats and change == ORDER:  # lines across sorted rows lack a variance
            return None
        return found + (", some rows all " + ("on" if change == HIGH else "off") if edges and self.may_have(change) else "")

    def may_have(self, change):
        """Whether rows with nothing on, or all, may be part of a change."""
        return change == LOW and self.may_be_off or change == HIGH and self.may_be_on


def learned(draws, whole=False):
    """The Choices of one tensor, from its draws; `whole`: they are floats and hold whole numbers."""
    found = Choices()
    first = draws[0]
    found.equal = tuple(dim for dim, size in enumerate(first.shape) if size > 1 and all(
        bool((each == each.narrow(dim, 0, 1)).all()) for each in draws))
    small = [_canonical(each, found.equal) for each in draws]
    if small[0].numel() < FEWEST:
        found.why = "too few values"
        return found
    levels = _levels(small)
    if levels is None and whole and all(float(each.abs().max()) <= LARGEST_WHOLE for each in small):
        found.floats = True
        _learn_integers(found, [each.to(torch.int64) for each in small])
    elif levels is None and not _is_whole(first):
        found.why = "no integers and no mask"
    elif levels is None:
        _learn_integers(found, small)
    elif levels[0] == levels[1]:
        found.why = "constant"
    else:
        found.low, found.high = levels
        _learn_mask(found, [each == levels[1] for each in small])
    return found


def changed(tensor, choices, change, generator, of_edges=None):
    """A dense tensor with the shape and dtype of `tensor`, and values that are changed; with `of_edges` some rows of a mask
    that may have nothing on, or all, have it."""
    small = _canonical(tensor, choices.equal).movedim(choices.along, -1)
    if choices.how in MASKS:
        on = _CHANGES[choices.how](small == choices.high, choices, change, generator)
        if of_edges is not None and choices.may_have(change):
            on = torch.where(_some_rows(on, of_edges), change == HIGH, on)
        small = torch.where(on, choices.high, choices.low)
    else:
        new = _CHANGES[choices.how](small, choices, change, generator)
        small = _spread(new, small) if choices.floats else new
    small = small.movedim(-1, choices.along)
    shape = [1 if dim in choices.equal else size for dim, size in enumerate(tensor.shape)]
    return small.to(tensor.dtype).reshape(shape).expand(tensor.shape)


def _is_whole(tensor):
    return not tensor.is_floating_point() and not tensor.is_complex()


def _canonical(tensor, equal):
    """One slice along each dimension of equal values, without dimensions of size 1; in a dtype that can be computed with."""
    for dim in equal:
        tensor = tensor.narrow(dim, 0, 1)
    tensor = tensor.squeeze()
    tensor = tensor if tensor.dim() else tensor.reshape(1)
    return tensor.to(torch.int64) if tensor.dtype in _BARE else tensor


def _probe(draws, dim, whole_rows=False):
    """Some rows along a dimension of the first of these draws, as int64, with the rows last: what they break, all break."""
    rows = draws[0].movedim(dim, -1).reshape(-1, draws[0].shape[dim])
    rows = rows[:max(1, PROBED // rows.shape[1])]
    return (rows if whole_rows else rows[:, :PROBED]).to(torch.int64)


def _levels(draws):
    """The two values of all draws (least, greatest), or None if there are more."""
    few = draws[0].reshape(-1)[:PROBED]
    if not bool(((few == few.min()) | (few == few.max())).all()):
        return None
    low, high = min(each.min().item() for each in draws), max(each.max().item() for each in draws)
    return (low, high) if all(bool(((each == low) | (each == high)).all()) for each in draws) else None


def _learn_mask(found, draws):
    first = draws[0]
    if _is_symmetric(draws):
        found.why = "a symmetric mask"
        return
    found.some_on = [dim for dim in range(first.dim()) if all(bool(each.any(dim).all()) for each in draws)]
    found.some_off = [dim for dim in range(first.dim()) if all(bool((~each).any(dim).all()) for each in draws)]
    shaped = [dim for dim in range(first.dim()) if _shape_of_rows(draws, dim)]
    if len(shaped) > 1:
        found.why = SEVERAL
    elif shaped:
        found.along = shaped[0]
        found.how, found.shortest, found.longest, found.ends = _shape_of_rows(draws, shaped[0])
    else:
        found.how, found.frozen = MASK, _frozen(draws)
        if found.frozen is None and first.dim() > 1:
            rows = torch.cat([each.reshape(-1, each.shape[-1]) for each in draws])
            found.may_be_off, found.may_be_on = _may_be_empty(rows), _may_be_empty(~rows)


def _may_be_empty(rows):
    """Whether the positions of these rows of a mask look independent, so that a row may have nothing on.

    A place that is always on, or fewer rows without any than chance gives, show that some rule gives each row one.
    """
    count, length = rows.shape
    sums = rows.sum(1, dtype=torch.float64)
    share = float(sums.mean()) / length
    independent = length * share * (1 - share)
    if count < FEWEST_ROWS or length < 2 or not SPREAD[0] * independent <= float(sums.var()) <= SPREAD[1] * independent:
        return False
    return not bool(rows.all(0).any()) and (count * (1 - share) ** length < 1 or bool((sums == 0).any()))


def _shape_of_rows(draws, dim):
    """(how, shortest, longest, whether it is off first) of masks whose rows along `dim` have something in common, or None."""
    probe = _probe(draws, dim, whole_rows=True)
    sums, steps = probe.sum(1), probe.diff(dim=1)
    if bool((sums != sums[0]).any()) and bool((steps > 0).any()) and bool((steps < 0).any()):
        return None
    counts = torch.stack([each.sum(dim) for each in draws])
    low, high = int(counts.min()), int(counts.max())
    if low == high:
        return COUNTED, low, high, False
    steps = torch.stack([each.to(torch.int8).diff(dim=dim) for each in draws])
    if bool((steps <= 0).all()) or bool((steps >= 0).all()):
        return PREFIX, low, high, bool((steps > 0).any())
    return None


def _is_symmetric(draws):
    return draws[0].dim() > 1 and draws[0].shape[-1] == draws[0].shape[-2] \
        and all(bool((each == each.transpose(-1, -2)).all()) for each in draws)


def _frozen(draws):
    """The positions that no draw changes, where there are more than chance gives: a triangle, a band, a diagonal."""
    every = torch.stack(draws)
    still = every.all(0) | ~every.any(0)
    on = int(every.sum()) / every.numel()
    if int(still.sum()) / still.numel() > on ** len(draws) + (1 - on) ** len(draws) + FROZEN:
        return still
    if still.dim() > 1 and still.shape[-1] == still.shape[-2]:
        diagonal = torch.eye(still.shape[-1], dtype=torch.bool, device=still.device)
        if bool((still | ~diagonal).all()):
            return diagonal.expand(still.shape)
    return None


def _learn_integers(found, draws):
    first = draws[0]
    every = torch.stack(draws)
    still = (every == every[0]).all(0)
    found.low, found.high = int(every.min()), int(every.max())
    found.columns = not found.floats and first.dim() == 2 and first.shape[0] <= PAIRS < first.shape[1]
    if found.columns or not found.floats and first.dim() > 1 and first.shape[-1] <= TUPLE:
        _learn_tuples(found, [_tuples(each, found.columns) for each in draws])
    else:
        _learn_rows(found, every)
    if found.how == VALUES:
        found.frozen = still
    elif found.how and int(still.sum()) / still.numel() > FROZEN + (2 / first.shape[found.along] if found.how == STEPS else 0):
        found.how, found.why = "", "places that never change"


def _learn_tuples(found, draws):
    every = torch.stack(draws)
    if any(_in_order(every[..., column], -1) for column in range(every.shape[-1])):
        found.why = "tuples in an order"
        return
    some = draws[0][:PROBED // every.shape[-1]]
    distinct = all(bool((each[_sorted(each)].to(torch.int64).diff(dim=0) != 0).any(1).all()) for each in (some, *draws))
    found.how = REORDERED if distinct else TUPLES
    order = _sorted(draws[0])
    found.low, found.high = draws[0][order[0]], draws[0][order[-1]]


def _sorted(rows):
    """The places of rows in their order, by their first numbers first."""
    order = torch.arange(len(rows), device=rows.device)
    for column in reversed(range(rows.shape[1])):
        order = order[rows[order, column].argsort(stable=True)]
    return order


def _learn_rows(found, every):
    """`every` are the draws, along a first dimension."""
    dims = range(1, every.dim())
    ordered = [dim for dim in dims if _in_order(every, dim)]
    bound = [dim for dim in dims if _is_bound(every, dim)]
    if len({*ordered, *bound}) > 1:
        found.why = SEVERAL
    elif ordered:
        found.how, found.along = STEPS, ordered[0] - 1
    elif bound:
        found.how, found.along = REORDERED, bound[0] - 1
    else:
        sums = {int(each.sum()) for each in every}
        found.how = REORDERED if len(sums) == 1 else VALUES


def _in_order(every, dim):
    for values in (_probe(every, dim - 1 if dim > 0 else dim), every.movedim(dim, -1)):
        steps = values.to(torch.int64).diff(dim=-1)
        if bool((steps > 0).any()) and bool((steps < 0).any()):
            return False
    return True


def _is_bound(every, dim):
    """Whether all rows along a dimension have the same sum, or none has equal numbers."""
    return all(_has_one_sum(each) for each in (_probe(every, dim - 1, whole_rows=True), every.movedim(dim, -1))) \
        or all(_is_distinct(each) for each in (_probe(every, dim - 1), every.movedim(dim, -1)))


def _has_one_sum(rows):
    sums = rows.sum(-1, dtype=torch.int64)
    return bool((sums == sums.flatten()[0]).all())


def _is_distinct(rows):
    return bool((rows.to(torch.int64).sort(-1).values.diff(dim=-1) > 0).all())


def _tuples(values, columns):
    return values.T if columns else values.reshape(-1, values.shape[-1])


def _most(shape, generator, device):
    return torch.empty(shape, dtype=torch.bool, device=device).bernoulli_(CHANGED, generator=generator)


def _change_mask(on, choices, change, generator):
    if change == ORDER:
        new = on.to(torch.int8).sort(-1, descending=True).values.to(torch.bool)
    else:
        most = _most(on.shape, generator, on.device)
        new = on | most if change == HIGH else on & ~most
    if choices.frozen is not None:
        new = torch.where(choices.frozen, on, new)
    return _restored(new, on, choices)


def _some_rows(on, generator):
    """A mask of some of the rows, never all."""
    found = torch.empty((*on.shape[:-1], 1), dtype=torch.bool, device=on.device).bernoulli_(EDGES, generator=generator)
    flat = found.view(-1)
    first = torch.randint(flat.numel(), (), generator=generator, device=on.device).item()
    flat[first], flat[(first + 1) % flat.numel()] = True, False
    return found


def _restored(new, on, choices):
    """The changed mask with lines as drawn where the change leaves nothing, or all, of lines that always have both."""
    checks = [(dim, lambda mask, dim: ~mask.any(dim, keepdim=True)) for dim in choices.some_on]
    checks += [(dim, lambda mask, dim: mask.all(dim, keepdim=True)) for dim in choices.some_off]
    before = None
    while before is None or not torch.equal(before, new):  # ends, since each turn leaves more as it was drawn
        before = new
        for dim, lacks in checks:
            new = torch.where(lacks(new, dim), on, new)
    return new


def _change_counted(on, choices, change, generator):
    end = on.to(torch.int8).sort(-1, descending=change == HIGH).values.to(torch.bool)
    return torch.where(_most((*on.shape[:-1], 1), generator, on.device), end, on)


def _change_prefix(on, choices, change, generator):
    length = choices.longest if change == HIGH else choices.shortest
    at = torch.arange(on.shape[-1], device=on.device)
    new = at >= on.shape[-1] - length if choices.ends else at < length
    return torch.where(_most((*on.shape[:-1], 1), generator, on.device), new, on)


def _change_values(values, choices, change, generator):
    if change == ORDER:
        new = values.sort(-1).values
    else:
        most = _most(values.shape, generator, values.device)
        new = torch.where(most, choices.high if change == HIGH else choices.low, values)
    return torch.where(choices.frozen, values, new)


def _spread(new, values):
    """The changed numbers with lines as drawn where little of their variance is left: a kernel in one pass loses it."""
    for dim in (dim for dim, size in enumerate(values.shape) if size >= LONG):
        left, before = (each.double().var(dim, keepdim=True) for each in (new, values))
        new = torch.where(left < LEAST_VARIANCE * before, values, new)
    return new


def _change_tuples(values, choices, change, generator):
    rows = _tuples(values, choices.columns)
    if change == ORDER:
        return _from_tuples(_sorted(rows), rows, values, choices)
    new = torch.where(_most((len(rows), 1), generator, values.device), choices.high if change == HIGH else choices.low, rows)
    return new.T if choices.columns else new.reshape(values.shape)


def _reorder(values, choices, change, generator):
    if isinstance(choices.low, torch.Tensor):
        rows = _tuples(values, choices.columns)
        order = _sorted(rows)
        return _from_tuples(order.flip(0) if change == LOW else order, rows, values, choices)
    return values.sort(-1, descending=change == LOW).values


def _from_tuples(order, rows, values, choices):
    return rows[order].T if choices.columns else rows[order].reshape(values.shape)


def _change_steps(values, choices, change, generator):
    values = values.to(torch.int64)
    steps = values.diff(dim=-1).sort(-1, descending=change == HIGH).values
    return torch.cat([values[..., :1], values[..., :1] + steps.cumsum(-1)], -1)


_CHANGES = {MASK: _change_mask, COUNTED: _change_counted, PREFIX: _change_prefix, VALUES: _change_values,
            TUPLES: _change_tuples, REORDERED: _reorder, STEPS: _change_steps}
