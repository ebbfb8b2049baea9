"""Makes sequences on disk from files: reads, tokenises, packs and writes rows, with memory for one shard.

Samples wait in a file beside the shards, because the longest are packed first and are known only after all are read.
Memory holds the length and the manifest's line of every row.
"""
import contextlib
import math
from array import array
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy

from . import manifest, packing, rows, shards
from .events import TrainError
from .samples import Counts, Dropped, Encoded
from .tokens import Encoder, fingerprint

WAITING = "samples.tmp"
SHARED = "in the training rows too"


@dataclass
class Prepared:
    """The prepared data. `counts` is the event "data"; `shards` is a shards.Shards."""

    shards: object
    counts: dict
    rows: list  # of the manifest
    files: list  # of the manifest
    places: list  # of each of these rows: (file, row)
    shared: set = field(default_factory=set)  # validation files with rows that are trained on

    def rows_of(self, number):
        """The places of a sequence's samples, as text."""
        return ["{}:{}".format(*self.places[row]) for row in self.shards[number].rows]

    def learnt_after(self, steps, recipe):
        """(rows, counts) of the manifest after so many steps, limited to the data drawn until then.

        The first epoch takes the sequences in their order; with a later epoch all of them have been drawn.
        """
        training, total = recipe["training"], len(self.shards)
        reached = min(total, steps * training["micro_batch"] * training["accumulation"])
        learnt = self.rows
        if reached < total:
            learnt = [self.rows[row] for row in sorted({row for number in range(reached) for row in self.shards[number].rows})]
        return learnt, self.counts | {"sequences_reached": reached, "rows_reached": len(learnt)}


class Waiting:
    """Samples in a file: the tokens of each, then the labels, as int32."""

    def __init__(self, path):
        self.path, self.lengths, self.begins, self.at = Path(path), array("q"), array("q"), 0
        self.file = open(path, "wb")
        self.mapped = None

    def add(self, sample):
        length = len(sample.input_ids)
        self.lengths.append(length)
        self.begins.append(self.at)
        self.file.write(numpy.asarray([sample.input_ids, sample.labels], "<i4").data)
        self.at += 2 * length

    def __getitem__(self, index):
        if self.mapped is None:
            self.file.close()
            self.mapped = numpy.memmap(self.path, "<i4", "r")
        begin, length = self.begins[index], self.lengths[index]
        ids, labels = self.mapped[begin:begin + 2 * length].reshape(2, length).tolist()
        return Encoded(ids, labels)

    def remove(self):
        self.mapped = None
        with contextlib.suppress(OSError):  # a full disk may fail again
            self.file.close()
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()


def no_room(folder, error):
    return TrainError(f"cannot write the tokens to {folder}: {error.strerror or error}", "make room, or give another --output")


def waiting_in(folder):
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return Waiting(folder / WAITING)
    except OSError as error:
        raise no_room(folder, error) from None


def steps_of(sequences, recipe, max_steps=None):
    """The number of the optimiser's steps."""
    training = recipe["training"]
    an_epoch = math.ceil(math.ceil(sequences / training["micro_batch"]) / training["accumulation"])
    steps = math.ceil(an_epoch * training["epochs"])
    return steps if max_steps is None else min(steps, max_steps)


def tokenised(files, tokenizer, recipe, waiting, progress, trained=frozenset()):
    """Reads and tokenises everything into `waiting`: (counts, rows by file, the manifest's rows, their places, files
    with rows of `trained`)."""
    encoder, counts, by_file, learnt, places, shared = Encoder(tokenizer, recipe), Counts(), Counter(), [], [], set()
    for row in rows.read(files):
        by_file[row.file] += 1
        outcome = encoder.encode(row)
        if trained and manifest.row_hash(row) in trained:
            outcome = Dropped(SHARED)
            shared.add(row.file)
        if counts.add(outcome):
            waiting.add(outcome)
            learnt.append(manifest.entry(row))
            places.append((row.file, row.line))
        if progress and counts.rows % 1000 == 0:
            progress(counts)
    return counts, by_file, learnt, places, shared


def nothing_left(counts):
    why = ", ".join(f"{reason}: {count}" for reason, count in counts.dropped.most_common())
    remedy = ("give rows that --data lacks" if SHARED in counts.dropped else
              "look at the reasons; a larger data.max_length or other columns may help")
    return TrainError(f"none of {counts.rows} rows is left to learn from ({why})", remedy)


def prepare(files, tokenizer, recipe, folder, max_steps=None, progress=None, trained=frozenset()):
    """Prepare all files into shards in `folder`. Raises events.TrainError; `progress` receives the Counts from time to time.

    Rows whose content hash is in `trained` are dropped: validation rows that are trained on say nothing of others.
    """
    folder, data, files = Path(folder), recipe["data"], [str(each) for each in files]
    rows.look(files)
    sources = manifest.files(files, {})
    waiting = waiting_in(folder)
    try:
        counts, by_file, learnt, places, shared = tokenised(files, tokenizer, recipe, waiting, progress, trained)
        if not counts.used:
            raise nothing_left(counts)
        for each in sources:
            each["rows"] = by_file[each["path"]]
        seed = recipe["training"]["seed"] if data["shuffle"] else None
        order = packing.arrange(waiting.lengths, data["max_length"], data["packing"], seed)
        about = {"tokenizer_sha256": fingerprint(tokenizer), "data": data, "seed": seed, "sources": sources}
        shards.write(folder, (packing.join([waiting[index] for index in some], some) for some in order), about)
    except OSError as error:
        raise no_room(folder, error) from None
    finally:
        waiting.remove()
    return Prepared(shards.open(folder), figures(counts, len(order), recipe, max_steps), learnt, sources, places,
                    shared)


def figures(counts, sequences, recipe, max_steps):
    """The event "data": the outcome of the rows, and the number of steps."""
    return {**counts.as_fields(), "sequences": sequences, "steps": steps_of(sequences, recipe, max_steps),
            "share_filled": counts.tokens / (sequences * recipe["data"]["max_length"])}
