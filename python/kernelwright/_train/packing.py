"""Packs whole samples into sequences of at most max_length tokens.

Best fit, longest first: a sample goes into the sequence in which it leaves the least room. Ties are broken by order, so
equal samples give equal sequences. The engine keeps the samples of a sequence apart: position_ids restart at 0 with each.
"""
import random
from dataclasses import dataclass

import numpy

from .samples import NOT_LEARNT


@dataclass(slots=True)
class Sequence:
    """Samples that are learnt at once, one after the other: the length of each, and the row of each.

    Its fields can also be read by name: sequence["labels"].
    """

    input_ids: object  # int32, as labels and position_ids
    labels: object
    lengths: list
    rows: list

    @property
    def position_ids(self):
        """The position of each token in its sample."""
        return numpy.concatenate([numpy.arange(length, dtype=numpy.int32) for length in self.lengths])

    def __getitem__(self, name):
        return getattr(self, name)


def plan(lengths, max_length):
    """The samples of each sequence: a list of lists of indices. Raises ValueError for one that is longer than max_length.

    Sequences are indexed by their free room, and the sizes of room that occur are the bits of one number: the smallest
    sufficient room is the lowest bit at or above the sample's length.
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
    """The order of an epoch: a permutation that depends only on these three, from a generator of its own."""
    numbers = list(range(count))
    random.Random(f"kernelwright/{seed}/{epoch}").shuffle(numbers)
    return numbers


def join(samples, rows):
    """Samples (objects with input_ids and labels) as one sequence; `rows`: the row number of each sample."""
    ids, labels, lengths = [], [], []
    for sample in samples:
        ids.extend(sample.input_ids)
        # Its first token would be predicted from the sample before it.
        labels += [NOT_LEARNT, *sample.labels[1:]]
        lengths.append(len(sample.input_ids))
    return Sequence(numpy.asarray(ids, numpy.int32), numpy.asarray(labels, numpy.int32), lengths, list(rows))


def arrange(lengths, max_length, packing=True, seed=None):
    """The samples of each sequence, in the order of learning; seed None keeps the order of the data."""
    together = plan(lengths, max_length) if packing else [[index] for index in range(len(lengths))]
    if seed is None:
        return sorted(together, key=min)
    return [together[which] for which in order(len(together), seed)]


def pack(encoded, max_length, packing=True, seed=None):
    """Samples as sequences, one after the other. Without packing each sample is a sequence."""
    samples = list(encoded)
    for some in arrange([len(each.input_ids) for each in samples], max_length, packing, seed):
        yield join([samples[index] for index in some], some)
