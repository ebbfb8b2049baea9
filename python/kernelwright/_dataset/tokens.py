"""Counts the tokens of rows.

python -I tokens.py count ROWS.jsonl OUT (--tokenizer FILE | --train SIZE --train-out FILE) [--sample-mb MB]

OUT has one line for each row, in the order of the rows: the tokens of prompt and completion together, a space, and those
of the prompt, each text encoded separately and without marks that a tokenizer would add. Without a tokenizer's file
(tokenizer.json) a byte-level BPE of at most SIZE entries is trained on the rows, or on a sample of them if they have more
than MB (10^6 bytes) of text, and written to FILE; equal rows give equal files. The last line of standard output is
{"tokenizer", "vocabulary", "trained_on_bytes", "rows", "tokens"}; trained_on_bytes is null without training. An error is
one line, {"error": {"what", "remedy"}}, and exit 2.
"""
import argparse
import json
import os
import re
import sys
import zlib
from pathlib import Path

ROWS_A_BATCH = 512
TEXT_A_BATCH = 8 << 20  # characters
SAMPLE_MB = 50
# The special tokens of Qwen's coder models, in which holes are rendered.
SPECIAL = ["<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>",
           "<|file_sep|>"]
# Text that is left out of training: marks, and runs so long that they are data. One run of megabytes takes hours.
LEFT_OUT = re.compile("|".join([*map(re.escape, SPECIAL), r"\w{49,}", r"\s{129,}", r"[^\w\s]{129,}"]))
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class TokenError(Exception):
    def __init__(self, what, remedy):
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def texts(path):
    """(prompt, completion) of each row."""
    with open(path, encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                pair = row["prompt"], row["completion"]
                yield tuple(LONE_SURROGATE.sub("\ufffd", text) for text in pair)
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise TokenError(f"{path}, line {number}: no row with prompt and completion ({error!r})",
                                 "give JSON lines with both") from None


def batches(path):
    batch, size = [], 0
    for pair in texts(path):
        batch.extend(pair)
        size += len(pair[0]) + len(pair[1])
        if len(batch) >= 2 * ROWS_A_BATCH or size >= TEXT_A_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def size_of(pair):
    return len(pair[0].encode()) + len(pair[1].encode())


class Sample:
    """Pieces of the rows' text for training, chosen by the text itself, so that the order of rows does not matter."""

    def __init__(self, path, limit):
        self.path = path
        self.whole = sum(map(size_of, texts(path)))
        self.share = min(1.0, limit / self.whole) if self.whole else 1.0
        self.used = 0

    def wants(self, pair):
        return self.share == 1.0 or zlib.crc32("\0".join(pair).encode()) < self.share * 2**32

    def __iter__(self):
        self.used = 0
        for pair in texts(self.path):
            if self.wants(pair):
                for piece in filter(None, LEFT_OUT.split("\n".join(pair))):
                    self.used += len(piece.encode())
                    yield piece


def train(path, vocabulary, limit, out):
    """The tokenizer and its name."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE())
    # Digits are single tokens, as in the models for which the rows are made.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, min_frequency=2, show_progress=False, special_tokens=SPECIAL,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    sample = Sample(path, limit)
    tokenizer.train_from_iterator(iter(sample), trainer)
    replace(out, lambda neighbour: tokenizer.save(neighbour))
    part = "" if sample.share == 1.0 else f", a sample of {sample.whole:,},"
    size = tokenizer.get_vocab_size()
    return tokenizer, f"byte-level BPE of {size:,} entries, trained on {sample.used:,} bytes{part} of these rows", sample.used


def load(path):
    from tokenizers import Tokenizer
    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as error:  # the library raises Exception itself
        raise TokenError(f"{path} is no tokenizer: {error}", "give a tokenizer.json of the tokenizers library") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer, f"{Path(path).name}, {tokenizer.get_vocab_size():,} entries"


def replace(path, write):
    neighbour = f"{path}.{os.getpid()}.tmp"
    try:
        write(neighbour)
        os.replace(neighbour, path)
    finally:
        if os.path.exists(neighbour):
            os.remove(neighbour)


def count(path, out, tokenizer):
    """The counted rows and tokens."""
    totals = [0, 0]

    def write(neighbour):
        with open(neighbour, "w", encoding="ascii", newline="\n") as lines:
            for batch in batches(path):
                sizes = [len(each.ids) for each in tokenizer.encode_batch_fast(batch, add_special_tokens=False)]
                lines.writelines(f"{prompt + completion} {prompt}\n" for prompt, completion in zip(sizes[::2], sizes[1::2]))
                totals[0] += len(sizes) // 2
                totals[1] += sum(sizes)
    replace(out, write)
    return totals


def work(options):
    trained_on = None
    if options.tokenizer:
        tokenizer, name = load(options.tokenizer)
    else:
        tokenizer, name, trained_on = train(options.rows, options.train, int(options.sample_mb * 1e6), options.train_out)
    rows, tokens = count(options.rows, options.out, tokenizer)
    return {"tokenizer": name, "vocabulary": tokenizer.get_vocab_size(), "trained_on_bytes": trained_on, "rows": rows,
            "tokens": tokens}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["count"])
    parser.add_argument("rows")
    parser.add_argument("out")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--tokenizer")
    which.add_argument("--train", type=int)
    parser.add_argument("--train-out")
    parser.add_argument("--sample-mb", type=float, default=SAMPLE_MB)
    options = parser.parse_args()
    if options.train is not None and not options.train_out:
        parser.error("--train needs --train-out")
    return options


def answer(options):
    try:
        return 0, work(options)
    except ImportError as error:
        said = TokenError(f"tokenizers is missing from {sys.executable} ({error})",
                          "install tokenizers, or do without numbers of tokens")
    except TokenError as error:
        said = error
    except (OSError, ValueError) as error:
        said = TokenError(f"cannot count tokens of {options.rows}: {error}", "check the file and the space on the disk")
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # the library's own class, which is not an Exception
            raise
        said = TokenError(f"the tokenizers library broke: {error}", "try another tokenizer's file")
    return 2, {"error": {"what": said.what.replace("\n", " "), "remedy": said.remedy}}


def main():
    status, line = answer(arguments())
    print(json.dumps(line))
    return status


if __name__ == "__main__":
    sys.exit(main())
