"""Makes the tensors of one micro-batch from packed sequences.

No sample may see another. Where a sample begins, `position_ids` restart at 0 and the label is masked, because the token
before it belongs to another sample. There is no attention mask: attention derives its blocks from the positions, or
receives the samples' boundaries.
"""
import torch

IGNORED = -100  # a label that the loss ignores


class Collator:
    """`sequences[i]` is a packing.Sequence. With `flat`, a micro-batch is one long row; otherwise a rectangle whose width is
    a multiple of `multiple`.
    """

    def __init__(self, sequences, pad_id, flat, multiple=1):
        self.sequences = sequences
        self.pad_id = pad_id
        self.flat = flat
        self.multiple = multiple

    def __call__(self, examples):
        numbers = [each["sequence"] for each in examples]
        rows = [self._row(number) for number in numbers]
        batch = flatten(rows) if self.flat else pad(rows, self.pad_id, self.multiple)
        return batch | {"sequences": numbers}

    def _row(self, number):
        each = self.sequences[number]
        row = {name: torch.as_tensor(getattr(each, name), dtype=torch.long) for name in ("input_ids", "labels", "position_ids")}
        row["labels"] = row["labels"].masked_fill(row["position_ids"] == 0, IGNORED)
        return row


def flatten(rows):
    """One row without padding, and the boundaries of its samples."""
    joined = {name: torch.cat([row[name] for row in rows])[None] for name in rows[0]}
    starts = (joined["position_ids"][0] == 0).nonzero().flatten().to(torch.int32)
    bounds = torch.cat([starts, torch.tensor([joined["input_ids"].numel()], dtype=torch.int32)])
    longest = int(bounds.diff().max())
    return joined | {"cu_seq_lens_q": bounds, "cu_seq_lens_k": bounds, "max_length_q": longest, "max_length_k": longest}


def pad(rows, pad_id, multiple=1):
    """A rectangle. The padding at the end of a row is a sample whose labels are all ignored."""
    width = -(-max(row["input_ids"].numel() for row in rows) // multiple) * multiple
    return {"input_ids": torch.stack([filled(row["input_ids"], width, pad_id) for row in rows]),
            "labels": torch.stack([filled(row["labels"], width, IGNORED) for row in rows]),
            "position_ids": torch.stack([counted(row["position_ids"], width) for row in rows])}


def filled(values, width, filler):
    return torch.cat([values, values.new_full((width - values.numel(),), filler)])


def counted(positions, width):
    return torch.cat([positions, torch.arange(width - positions.numel())])
