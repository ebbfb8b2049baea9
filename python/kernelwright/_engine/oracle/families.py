"""Changes a task's inputs: families of inputs on which a right kernel is right too.

What looks normal is changed freely. Other real numbers stay within the range in which they were drawn, probabilities stay
probabilities, integers and masks stay among the values that were drawn, and everything else stays as it is drawn.

Some families have edges: rows of zeros, rows of a mask with nothing on, or all, and negative numbers for a reference that asks
for signs alone. The module `edges` tells where they may be.
"""
import math
from typing import NamedTuple

import torch
from torch.utils._pytree import tree_map_only

from ..seeds import of_family
from . import choices
from . import inputs as drawing
from .structure import restore
from .traits import CHOSEN, KEPT, NORMAL, PROBABILITIES, WITHIN, flat_of

SPIKES = 4096        # one value in so many
LEAST_PROBABLE = 0.05  # share of values that a sparse tensor keeps
FAINT = 2.0 ** -12   # what is left of faint rows, and of a range that begins near zero
LARGEST_HALF = 4096.0  # of float16, a sixteenth of what it holds
GIVEN = "given"  # the task's own inputs, judged like a family; never offered, and asked for at other shapes


class Family(NamedTuple):
    """How tensors of each kind are changed: (words, function); the function changes a contiguous copy in place."""

    normal: tuple | None = None
    within: tuple | None = None
    probabilities: tuple | None = None
    chosen: str = ""         # the change of integers and masks, by choices
    fixed: tuple | None = None  # of what never varies
    zeroed: tuple | None = None  # in place of `normal`, with rows of zeros too
    faint: tuple | None = None   # in place of `within`, with rows near zero too
    signed: tuple | None = None  # in place of `within`, on both sides of zero
    emptied: tuple | None = None  # in place of `probabilities`, with zeros too
    half: tuple | None = None    # in place of `normal` in float16, up to where squares and sums overflow
    is_apart: bool = False   # for two tensors or more that look normal
    finite: bool = False     # only NaN and infinity are refused
    on_bounds: bool = False  # numbers may lie exactly at a bound, where the next one makes a difference
    is_beyond: bool = False  # scaled to the reference's rare branches
    each_alone: bool = False  # an element's new value depends on nothing but itself, so that symmetry stays
    moves_zeros: bool = False  # not for tensors whose zeros belong to their structure
    reported_only: bool = False
    room: float = 1.0        # a factor of the limits


class Varied(NamedTuple):
    """Changed inputs, and a description of the change."""

    values: list
    words: str


def _scale(factor):
    return lambda values, *_: values.mul_(factor)


def _shift(sigmas):
    return lambda values, traits, _: values.add_(sigmas * traits.sigma)


def _shift_apart(sigmas):
    """Every second tensor to the other side."""
    return lambda values, traits, _: values.add_(sigmas * (traits.side or 1) * traits.sigma)


def _round_to_steps(values, traits, _):
    """To multiples of a power of two, at most σ / 16."""
    step = 2.0 ** (math.floor(math.log2(traits.sigma)) - 4)
    values.div_(step).round_().mul_(step)


def _scale_to_largest(values, *_):
    values.mul_(LARGEST_HALF / values.abs().max().clamp(min=1.0))


def _cube(values, traits, _):
    values.mul_((values / traits.sigma).square_())


def _thin(values, _, generator):
    drop = torch.empty(values.shape, dtype=torch.bool, device=values.device)
    values.masked_fill_(drop.bernoulli_(1 - LEAST_PROBABLE, generator=generator), 0)


def _spikes(values, generator):
    count = max(1, values.numel() // SPIKES)
    return torch.randint(values.numel(), (count,), generator=generator, device=values.device)


def _spike(values, _, generator):
    flat, places = values.view(-1), _spikes(values, generator)
    flat[places] = flat[places] * 60


def _part(values, generator):
    """One contiguous region, about an eighth, at a random place; a view."""
    size = max(1, values.numel() // 8)
    start = torch.randint(values.numel() - size + 1, (), generator=generator, device=values.device).item()
    return values.view(-1)[start:start + size]


def _rows(values, generator, dim=-1):
    """A mask of a random half of the rows along `dim`, which broadcasts; some, never all. A vector's rows are its elements."""
    shape = list(values.shape)
    if values.dim() > 1 and values.numel() > shape[dim]:
        shape[dim] = 1
    chosen = torch.empty(shape, dtype=torch.bool, device=values.device).bernoulli_(0.5, generator=generator)
    flat = chosen.view(-1)
    if flat.numel() > 1:
        first = torch.randint(flat.numel(), (), generator=generator, device=values.device).item()
        flat[first], flat[(first + 1) % flat.numel()] = True, False
    return chosen


def _empty_places(values, generator):
    """A mask of some rows, never all, and of one slice of each other dimension: norms take all of them to be rows.

    Half of the rows are the same in all tensors with as many: their sum may be what is divided by.
    """
    common = torch.Generator(values.device).manual_seed(generator.initial_seed() ^ 1)
    rows = torch.zeros(values.shape[:-1], dtype=torch.bool, device=values.device)
    for each in (common, generator):
        rows |= torch.empty_like(rows).bernoulli_(1 / 16, generator=each)
    flat = rows.view(-1)
    first = torch.randint(flat.numel(), (), generator=common, device=values.device).item()
    flat[first], flat[(first + 1) % flat.numel()] = True, False
    found = rows.unsqueeze(-1).expand(values.shape).clone()
    for dim, size in enumerate(values.shape):
        if size > 2 and (dim, values.dim()) != (0, 2) or dim == 0 and size == 2 and values.dim() > 2:
            found.select(dim, torch.randint(size, (), generator=generator, device=values.device).item()).fill_(True)
    return found


def _scale_dim_and_empty_rows(values, traits, generator):
    _scale_rows(values, traits, generator)
    faint = torch.empty((*values.shape[:-1], 1), dtype=torch.bool, device=values.device).bernoulli_(1 / 8, generator=generator)
    values.mul_(torch.where(faint, FAINT, 1.0).to(values.dtype))
    values.masked_fill_(_empty_places(values, generator), 0)


def _lower_and_dim_rows(values, traits, generator):
    _low_rows(values, traits, generator)
    share = torch.where(_empty_places(values, generator), FAINT if traits.low > 0 else 0.0, 1.0).to(values.dtype)
    values.sub_(traits.low).mul_(share).add_(traits.low)


def _lower_and_negate_rows(values, traits, generator):
    _low_rows(values, traits, generator)
    values.mul_(torch.where(_rows(values, generator), -1.0, 1.0).to(values.dtype))


def _scale_part(values, _, generator):
    _part(values, generator).mul_(8)


def _scale_rows(values, _, generator):
    values.mul_(torch.where(_rows(values, generator), 8.0, 1.0).to(values.dtype))


def _scale_beyond(values, traits, generator):
    """Each row by one of the scales; a vector's rows are its elements."""
    rows = (*values.shape[:-1], 1) if traits.rows else values.shape
    chosen = torch.randint(len(traits.beyond), rows, generator=generator, device=values.device)
    values.mul_(torch.tensor(traits.beyond, dtype=values.dtype, device=values.device)[chosen])


def _sort(values, _, generator):
    """A random half of the rows ascends, the others descend; a vector does either."""
    values.copy_(values.sort(-1).values)
    if values.dim() > 1:
        values.copy_(torch.where(_rows(values, generator), values, values.flip(-1)))
    elif torch.rand((), generator=generator, device=values.device) < 0.5:
        values.copy_(values.flip(-1))


def _repeat(values, *_):
    values.copy_(values[..., :1].clone().expand(values.shape))


def _down(values, traits, share):
    values.sub_(traits.low).mul_(share).add_(traits.low)


def _up(values, traits, share):
    values.sub_(traits.high).mul_(share).add_(traits.high)


def _towards_low(share):
    return lambda values, traits, _: _down(values, traits, share)


def _towards_high(share):
    return lambda values, traits, _: _up(values, traits, share)


def _mirror(values, traits, _):
    values.neg_().add_(traits.low + traits.high)


def _bend(values, traits, _):
    reach = traits.high - traits.low
    values.sub_(traits.low).div_(reach).pow_(3).mul_(reach).add_(traits.low)


def _mostly_low(values, traits, generator):
    keep = torch.empty(values.shape, dtype=torch.bool, device=values.device).bernoulli_(LEAST_PROBABLE, generator=generator)
    values.sub_(traits.low).mul_(torch.where(keep, 1.0, 1 / 256).to(values.dtype)).add_(traits.low)


def _high_spikes(values, traits, generator):
    places = _spikes(values, generator)
    _down(values, traits, 1 / 60)
    values.view(-1)[places] = traits.high


def _low_part(values, traits, generator):
    _down(_part(values, generator), traits, 1 / 8)


def _low_rows(values, traits, generator):
    values.sub_(traits.low).mul_(torch.where(_rows(values, generator), 1 / 8, 1.0).to(values.dtype)).add_(traits.low)


def _normalised(values, traits, exponent):
    values.pow_(exponent)
    values.div_(values.sum(traits.sum_dim, keepdim=True))


def _sharper(exponent):
    return lambda values, traits, _: _normalised(values, traits, exponent)


def _sharper_rows(values, traits, generator):
    _normalised(values, traits, torch.where(_rows(values, generator, traits.sum_dim), 3.0, 1.0).to(values.dtype))


def _empty_probabilities(values, traits, generator):
    """An eighth of the values is zero, and some rows have one value alone. The largest of each row stays."""
    _sharper_rows(values, traits, generator)
    largest = values == values.amax(traits.sum_dim, keepdim=True)
    drop = torch.empty(values.shape, dtype=torch.bool, device=values.device).bernoulli_(1 / 8, generator=generator)
    alone = torch.empty_like(values.narrow(traits.sum_dim, 0, 1), dtype=torch.bool).bernoulli_(1 / 8, generator=generator)
    values.masked_fill_((drop | alone) & ~largest, 0)
    _normalised(values, traits, 1.0)


def _sort_rows_of_probabilities(values, traits, _):
    values.copy_(values.sort(traits.sum_dim).values)


def _uniform(values, traits, _):
    values.fill_(1 / values.shape[traits.sum_dim])


def _unfix(values, traits, generator):
    """The values in another order; a constant real number is changed by at most a half, and no constant integer."""
    flat = values.view(-1)
    if bool((flat == flat[0]).all()):
        if values.is_floating_point():
            noise = torch.rand(values.shape, generator=generator, device=values.device) - 0.5
            values.copy_(values + noise.to(values.dtype) * torch.where(values == 0, 1, values))
        return
    flat.copy_(flat[torch.randperm(flat.numel(), generator=generator, device=values.device)])


# In the order in which they are to be tried: those that find most wrong kernels per cost first.
# Integers and masks have families of their own, so that a draw that is not sound does not take real numbers with it.
FAMILIES = {
    "mostly_high": Family(chosen=choices.HIGH),
    "some_rows": Family(("half of the rows scaled by 8", _scale_rows), ("half of the rows lowered", _low_rows),
                        ("half of the rows made sharper", _sharper_rows),
                        zeroed=("half of the rows scaled by 8, some zero or near it", _scale_dim_and_empty_rows),
                        faint=("half of the rows lowered, some to near zero", _lower_and_dim_rows),
                        signed=("half of the rows lowered, half negated", _lower_and_negate_rows),
                        emptied=("half of the rows made sharper, some values zero", _empty_probabilities)),
    "lowered_4": Family(("shifted by -4 σ", _shift(-4)), each_alone=True),
    "scaled_60": Family(("scaled by 60", _scale(60)), ("raised to near its upper end", _towards_high(1 / 60)),
                        ("made much sharper", _sharper(4)), each_alone=True,
                        half=(f"scaled up to {LARGEST_HALF:g}", _scale_to_largest)),
    "shifted_4": Family(("shifted by 4 σ", _shift(4)), each_alone=True),
    "rare_branch": Family(is_beyond=True),
    "mostly_low": Family(chosen=choices.LOW),
    "region": Family(("one contiguous region scaled by 8", _scale_part), ("one contiguous region lowered", _low_part)),
    "spiked": Family(("one value in 4,096 scaled by 60", _spike),
                     ("lowered, with one value in 4,096 at its upper end", _high_spikes)),
    "sparse": Family(("95% zeros", _thin), ("95% lowered to near its lower end", _mostly_low)),
    "heavy_tailed": Family(("with heavy tails", _cube), ("bent towards its lower end", _bend), each_alone=True),
    "scaled_8": Family(("scaled by 8", _scale(8)), ("raised towards its upper end", _towards_high(1 / 8)),
                       ("made sharper", _sharper(2)), each_alone=True),
    "sorted_rows": Family(("with sorted rows", _sort), ("with sorted rows", _sort),
                          ("with sorted rows", _sort_rows_of_probabilities), moves_zeros=True,
                          room=4.0),  # long parts of a sum have one sign, and cancel in the end
    "reduced_16": Family(("divided by 16", _scale(1 / 16)), ("lowered towards its lower end", _towards_low(1 / 16)),
                         ("made flatter", _sharper(1 / 4)), each_alone=True),
    "shifted_apart": Family(("shifted by 4 σ, every second one by -4 σ", _shift_apart(4)), each_alone=True, is_apart=True),
    "far_below": Family(("shifted by -128 σ, every second one by 128 σ", _shift_apart(-128)), each_alone=True, finite=True),
    "negated": Family(("negated", _scale(-1)), ("mirrored within its range", _mirror), each_alone=True),
    "constant_rows": Family(("with constant rows", _repeat), ("with constant rows", _repeat),
                            ("made uniform", _uniform), moves_zeros=True, reported_only=True),
    "in_order": Family(chosen=choices.ORDER),
    "shifted_8": Family(("shifted by 8 σ", _shift(8)), each_alone=True, reported_only=True),
    "on_steps": Family(("rounded to steps of a power of two", _round_to_steps),
                       ("rounded to steps of a power of two", _round_to_steps), each_alone=True, on_bounds=True,
                       reported_only=True),
    "never_varied": Family(fixed=("as no seed draws it", _unfix), reported_only=True),
}


SIGNED = [each.signed for each in FAMILIES.values() if each.signed]  # the changes that leave the range drawn


def offered(units):
    """The names of the families that change any of these units."""
    return [name for name in FAMILIES if any(_change(unit.traits, name) for unit in units)]


def reported_only(name):
    """Whether an error in this family is shown only."""
    return name != GIVEN and FAMILIES[name].reported_only


def room_of(name):
    """The factor of this family's limits."""
    return 1.0 if name == GIVEN else FAMILIES[name].room


def asks_for_finite_values(name):
    """Whether this family compares no values."""
    return name != GIVEN and FAMILIES[name].finite


def may_lie_on_bounds(name):
    """Whether a change of one ulp may make a difference in this family."""
    return name != GIVEN and FAMILIES[name].on_bounds


def changes_integers(name):
    """Whether this family changes integers and masks."""
    return name != GIVEN and bool(FAMILIES[name].chosen)


def has_edges(units, name):
    """Whether this family has rows of zeros, or empty or full rows of a mask, for any of these units."""
    if name == GIVEN or FAMILIES[name].is_beyond:
        return False
    family = FAMILIES[name]
    return any(unit.traits.seen.may_have(family.chosen) if unit.traits.kind == CHOSEN and family.chosen else
               _change(unit.traits, name, True) != _change(unit.traits, name) for unit in units)


def varied(values, units, name, seed, labels, edges=False):
    """The Varied of drawn inputs, with the family's edges or without; they themselves stay as they are."""
    if name == GIVEN:
        return Varied(values, "as drawn")
    tensors, replaced, words = drawing.tensors_in(values), {}, {}
    device = tensors[0].device if tensors else "cpu"
    generator = torch.Generator(device).manual_seed(of_family(seed, name))
    # One of their own: all else in a mask is the same with edges and without.
    of_edges = torch.Generator(device).manual_seed(of_family(seed, f"edges of {name}")) if edges else None
    with torch.no_grad():
        for unit in units:
            if (change := _change(unit.traits, name, edges)) is None:
                continue
            own = [tensors[at] for at in unit.places]
            if (twin := unit.traits.structure.twin) and id(tensors[twin.place]) in replaced:
                other = replaced[id(tensors[twin.place])]
                replaced.update({id(each): (other.mT if twin.transposed else other).clone(
                    memory_format=torch.contiguous_format) for each in own[:1]})
            else:
                replaced.update(_changed(own, unit, change, generator, of_edges))
            words.setdefault(change[0], []).extend(labels[at] for at in unit.places)
    said = "; ".join(f"{', '.join(dict.fromkeys(names))}: {how}" for how, names in words.items())
    return Varied(tree_map_only(torch.Tensor, lambda tensor: replaced.get(id(tensor), tensor), values), said)


def _change(traits, name, edges=False):
    """(words, function) of a family for a tensor of these traits, or None."""
    family = FAMILIES[name]
    if traits.kind == CHOSEN:
        words = traits.seen.words(family.chosen, edges) if family.chosen else None
        return words and (words, family.chosen)
    if traits.kind == KEPT:
        return family.fixed if traits.fixed else None
    if traits.symmetric and not family.each_alone or traits.zeros and family.moves_zeros:
        return None
    if family.is_beyond:
        return _beyond(traits) if traits.kind == NORMAL and traits.beyond else None
    if family.is_apart and traits.side == 0:
        return None
    if edges and traits.rows and traits.kind == NORMAL and family.zeroed:
        return family.zeroed
    if edges and traits.kind == NORMAL and family.half and traits.dtype is torch.float16:
        return family.half
    if edges and traits.kind == PROBABILITIES and family.emptied:
        return family.emptied
    if edges and traits.sides and traits.low >= 0 and traits.kind == WITHIN and family.signed:
        return family.signed
    if edges and traits.rows and traits.from_zero and traits.kind == WITHIN and family.faint:
        return family.faint
    return {NORMAL: family.normal, WITHIN: family.within, PROBABILITIES: family.probabilities}[traits.kind]


def _beyond(traits):
    if len(traits.beyond) == 1:
        return f"scaled by {traits.beyond[0]:.3g}", _scale(traits.beyond[0])
    words = ", ".join(f"{each:.3g}" for each in traits.beyond)
    return f"rows scaled by one of {words}", _scale_beyond


def _changed(own, unit, change, generator, of_edges):
    """{id of a tensor: its replacement} for the tensors of one unit."""
    if unit.traits.kind == CHOSEN:
        return {id(own[0]): _chosen(own[0].detach(), unit.traits.seen, change[1], generator, of_edges)}
    base, start = (own[0].detach(), 0) if unit.whole else flat_of([each.detach() for each in own])
    new = _copy_of(base)
    change[1](new, unit.traits, generator)
    if unit.traits.zeros and unit.traits.kind != PROBABILITIES:
        new.masked_fill_(base == 0, 0)
    if unit.traits.kind == WITHIN and change not in SIGNED:
        new.clamp_(unit.traits.low, unit.traits.high)
    restore(new, base, unit.traits.structure)
    new = new.to(base.dtype)
    return {id(each): torch.as_strided(new, each.shape, each.stride(), each.storage_offset() - start) for each in own}


def _chosen(tensor, seen, change, generator, of_edges):
    """The replacement of a tensor, in its strides; dimensions of stride 0 hold equal values."""
    new = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
    values, target = choices.changed(tensor, seen, change, generator, of_edges), new
    for dim, step in enumerate(tensor.stride()):
        if step == 0:
            values, target = values.narrow(dim, 0, 1), target.narrow(dim, 0, 1)
    target.copy_(values)
    return new


def _copy_of(base):
    """A copy of its own, in a dtype that can be computed with."""
    return base.float() if base.dtype.itemsize == 1 else base.clone(memory_format=torch.contiguous_format)
