"""Sequences on disk, in a form that other engines read as well (docs/training_data.md).

A folder has `shards.json` and `shard-00000.safetensors`, ... Each shard holds whole sequences:
input_ids, labels, position_ids   int32, a token each; -100 in labels: not learnt
sequence_offsets                  int64, the start of each sequence, and the end of the last
sample_offsets                    int64, the same for samples: all of the sequences' are among them
sample_rows                       int64, the row of each sample: its number in the training manifest, from 0
A label has the position of its token: the model predicts label i + 1 from token i. shards.json is written last, so a
folder without it is incomplete.
"""
import bisect
import contextlib
import hashlib
import json
from pathlib import Path

import numpy

from . import json_file, safetensors_file
from .events import TrainError
from .packing import Sequence
from .samples import NOT_LEARNT

SCHEMA = "kernelwright.shards/1"
HEADER = "shards.json"
SHARD_BYTES = 64 << 20
TOKEN_BYTES = 12
ARRAYS = {"input_ids": "I32", "labels": "I32", "position_ids": "I32", "sequence_offsets": "I64", "sample_offsets": "I64",
          "sample_rows": "I64"}
REMEDY = "remove the folder and start again: it is made anew from the data"


class Shard:
    """The content of one file, until it is large enough."""

    def __init__(self):
        self.ids, self.labels, self.places, self.rows, self.sequences, self.samples = [], [], [], [], [0], [0]

    @property
    def tokens(self):
        return self.sequences[-1]

    def add(self, sequence):
        self.ids.append(numpy.asarray(sequence.input_ids, "<i4"))
        self.labels.append(numpy.asarray(sequence.labels, "<i4"))
        self.places.append(sequence.position_ids)
        self.rows += sequence.rows
        for length in sequence.lengths:
            self.samples.append(self.samples[-1] + length)
        self.sequences.append(self.samples[-1])

    def write(self, folder, number):
        """Writes the shard; returns its entry in the header."""
        name = f"shard-{number:05d}.safetensors"
        labels = numpy.concatenate(self.labels)
        size = safetensors_file.write(folder / name, {
            "input_ids": numpy.concatenate(self.ids), "labels": labels, "position_ids": numpy.concatenate(self.places),
            "sequence_offsets": numpy.asarray(self.sequences, "<i8"), "sample_offsets": numpy.asarray(self.samples, "<i8"),
            "sample_rows": numpy.asarray(self.rows, "<i8")}, {"schema": SCHEMA})
        with (folder / name).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"name": name, "bytes": size, "sha256": digest, "sequences": len(self.sequences) - 1,
                "samples": len(self.samples) - 1, "tokens": self.tokens,
                "learnt_tokens": int(numpy.count_nonzero(labels != NOT_LEARNT))}


def clear(folder):
    """Deletes an earlier run's files, the header first."""
    for old in [folder / HEADER, *sorted(folder.glob("shard-*.safetensors"))]:
        with contextlib.suppress(FileNotFoundError):
            old.unlink()


def write(folder, sequences, about, shard_bytes=SHARD_BYTES):
    """Writes sequences as they arrive; memory holds one shard. `about` is added to the header, which is returned."""
    folder = Path(folder)
    files, shard, longest = [], Shard(), 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        clear(folder)
        for sequence in sequences:
            shard.add(sequence)
            longest = max(longest, len(sequence.input_ids))
            if shard.tokens * TOKEN_BYTES >= shard_bytes:
                files.append(shard.write(folder, len(files)))
                shard = Shard()
        if shard.tokens:
            files.append(shard.write(folder, len(files)))
        counts = {name: sum(each[name] for each in files) for name in ("sequences", "samples", "tokens", "learnt_tokens")}
        header = {"schema": SCHEMA, **about, "counts": counts, "longest": longest, "files": files}
        json_file.write(folder / HEADER, header)
    except OSError as error:
        raise TrainError(f"cannot write the tokens to {folder}: {error.strerror or error}",
                         f"{TOKEN_BYTES} bytes a token must fit there; or give another --output") from None
    return header


class Shards:
    """Sequences by number, read when they are accessed. `about` is the header."""

    def __init__(self, folder, about):
        self.folder, self.about = folder, about
        self.files = about["files"]
        self.ends, total = [], 0
        for each in self.files:
            total += each["sequences"]
            self.ends.append(total)
        self.arrays = [None] * len(self.files)

    def __len__(self):
        return self.ends[-1] if self.ends else 0

    def __getitem__(self, number):
        if not 0 <= number < len(self):
            raise IndexError(number)
        which = bisect.bisect_right(self.ends, number)
        arrays = self.mapped(which)
        at = number - (self.ends[which] - self.files[which]["sequences"])
        begin, end = map(int, arrays["sequence_offsets"][at:at + 2])
        samples = arrays["sample_offsets"]
        first, last = numpy.searchsorted(samples, [begin, end])
        return Sequence(numpy.array(arrays["input_ids"][begin:end]), numpy.array(arrays["labels"][begin:end]),
                        numpy.diff(samples[first:last + 1]).tolist(), arrays["sample_rows"][first:last].tolist())

    @property
    def lengths(self):
        """Tokens of each sequence."""
        return [int(each) for which in range(len(self.files)) for each in numpy.diff(self.mapped(which)["sequence_offsets"])]

    def mapped(self, which):
        """The arrays of one file, checked when it is first used."""
        if self.arrays[which] is None:
            entry = self.files[which]
            path = self.folder / entry["name"]
            try:
                if path.stat().st_size != entry["bytes"]:
                    raise safetensors_file.NotSafetensors(f"it has {path.stat().st_size} bytes, not {entry['bytes']}")
                arrays = safetensors_file.arrays_of(path, ARRAYS)
            except OSError as error:
                raise TrainError(f"cannot read {path}: {error.strerror or error}", REMEDY) from None
            except safetensors_file.NotSafetensors as error:
                raise TrainError(f"{path} is damaged: {error}", REMEDY) from None
            if why := disagreement(arrays, entry):
                raise TrainError(f"{path} is damaged: {why}", REMEDY)
            self.arrays[which] = arrays
        return self.arrays[which]


def disagreement(arrays, entry):
    """The inconsistency in a shard, or None."""
    tokens = entry["tokens"]
    if any(len(arrays[name]) != tokens for name in ("input_ids", "labels", "position_ids")):
        return "its arrays are not of one length"
    for name, count in (("sequence_offsets", entry["sequences"]), ("sample_offsets", entry["samples"])):
        offsets = arrays[name]
        if len(offsets) != count + 1 or offsets[0] != 0 or offsets[-1] != tokens or (numpy.diff(offsets) <= 0).any():
            return f"{name} does not count the tokens"
    if len(arrays["sample_rows"]) != entry["samples"]:
        return "sample_rows are not as many as samples"
    if not numpy.isin(arrays["sequence_offsets"], arrays["sample_offsets"]).all():
        return "a sample lies in two sequences"
    return "there is a token below 0" if int(arrays["input_ids"].min()) < 0 else None


def sound(header):
    """Whether the header has the expected form."""
    try:
        files = header["files"]
        return (header["schema"] == SCHEMA and isinstance(files, list)
                and all(type(each[name]) is int and each[name] > 0 for each in files
                        for name in ("bytes", "sequences", "samples", "tokens"))
                and all(each["name"] == f"shard-{number:05d}.safetensors" for number, each in enumerate(files)))
    except (KeyError, TypeError):
        return False


def open(folder):
    """The sequences of a folder, with all of its files checked. Raises events.TrainError."""
    path = Path(folder) / HEADER
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TrainError(f"{folder} has no {HEADER}: writing the tokens was never finished", REMEDY) from None
    except (OSError, ValueError, RecursionError) as error:
        raise TrainError(f"cannot read {path}: {error}", REMEDY) from None
    if not sound(header):
        raise TrainError(f"{path} is no header of {SCHEMA}", REMEDY)
    shards = Shards(Path(folder), header)
    for which in range(len(shards.files)):
        shards.mapped(which)
    return shards
