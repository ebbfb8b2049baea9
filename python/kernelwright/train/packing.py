"""Samples put together into sequences of at most max_length tokens, none of them split.

Best fit, longest first: every sample goes where it leaves the least room. Ties are broken by order, so equal samples give
equal sequences. What keeps the samples of a sequence apart is for the engine to do: position_ids begin at 0 with each.
"""
import random
from dataclasses import dataclass

import numpy

from .samples import NOT_LEARNT


@dataclass(slots=True)
class Sequence:
    """Samples that are learnt from at once, one after the other: how long each is, and which row it was made of.

    What it is made of can be asked for by name, too: sequence["labels"].
    """

    input_ids: object  # int32, as labels and position_ids
    labels: object
    lengths: list
    rows: list

    @property
    def position_ids(self):
        """Places within each sample."""
        return numpy.concatenate([numpy.arange(length, dtype=numpy.int32) for length in self.lengths])

    def __getitem__(self, name):
        return getattr(self, name)


def plan(lengths, max_length):
    """Which samples go together: a list of lists of indices. Raises ValueError for one that is longer than max_length.

    Sequences are kept by the room they have left, and the rooms that occur are bits of one number: the least room that is
    enough is the lowest bit above the sample's length.
    """
    sequences, by_room, rooms = [], [[] for _ in range(max_length + 1)], 0
    for index in sorted(range(len(lengths)), key=lambda each: -lengths[each]):
        length = lengths[index]
        if not 0 < length <= max_length:
            raise ValueError(f"a sample of {length} tokens for sequences of at most {max_length}")
        enough = rooms >> length
        if enough:
            room = length + (enough & -enough).bit_length() - 1
            which = by_room[room].pop()
            if not by_room[room]:
                rooms &= ~(1 << room)
        else:
            room, which = max_length, len(sequences)
            sequences.append([])
        sequences[which].append(index)
        left = room - length
        if left:
            by_room[left].append(which)
            rooms |= 1 << left
    return sequences


def order(count, seed, epoch=0):
    """The order of an epoch: a permutation that depends on these three alone, with a generator of its own."""
    numbers = list(range(count))
    random.Random(f"kernelwright/{seed}/{epoch}").shuffle(numbers)
    return numbers


def join(samples, rows):
    """Samples (anything with input_ids and labels) as one sequence; `rows`: the number of each one's row."""
    ids, labels, lengths = [], [], []
    for sample in samples:
        ids.extend(sample.input_ids)
        # Its first token would be foretold from the sample before it.
        labels += [NOT_LEARNT, *sample.labels[1:]]
        lengths.append(len(sample.input_ids))
    return Sequence(numpy.asarray(ids, numpy.int32), numpy.asarray(labels, numpy.int32), lengths, list(rows))


def arrange(lengths, max_length, packing=True, seed=None):
    """Which samples make which sequence, in the order in which they are learnt; seed None keeps that of the data."""
    together = plan(lengths, max_length) if packing else [[index] for index in range(len(lengths))]
    if seed is None:
        return sorted(together, key=min)
    return [together[which] for which in order(len(together), seed)]


def pack(encoded, max_length, packing=True, seed=None):
    """Samples as sequences, one after the other. Without packing each sample is one."""
    samples = list(encoded)
    for some in arrange([len(each.input_ids) for each in samples], max_length, packing, seed):
        yield join([samples[index] for index in some], some)
