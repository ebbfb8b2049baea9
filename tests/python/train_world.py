"""A recipe, a tokenizer of characters, and files of rows, for the tests of training data."""
import gzip
import json
from types import SimpleNamespace

EOS, BOS, HOLE = 1, 2, 3
SPECIAL = {"<|im_end|>": EOS, "<s>": BOS}
ADDED = SPECIAL | {"<|fim_middle|>": HOLE}


def recipe(**data):
    """The parts of the default recipe that affect the data."""
    chosen = {"max_length": 64, "packing": True, "too_long": "cut", "loss": "completion", "template": "auto", "shuffle": True}
    return {"data": chosen | data, "training": {"seed": 42, "epochs": 1, "micro_batch": 1, "accumulation": 16}}


class Letters:
    """A token for each character, and one for each that was added. With `lead`, a token stands before every text."""

    eos_token_id, chat_template = EOS, None
    backend_tokenizer = SimpleNamespace(to_str=lambda: "letters")
    added_tokens_decoder = {}

    def __init__(self, lead=(), joins=()):
        self.lead, self.joins = list(lead), joins

    def get_vocab(self):
        return {chr(each): each for each in range(32, 300)} | ADDED

    def __call__(self, text, add_special_tokens=True, split_special_tokens=False, verbose=True):
        ids = self.lead[:] if add_special_tokens else []
        while text:
            known = next((each for each in ADDED if text.startswith(each)), None)
            joined = next((each for each in self.joins if text.startswith(each)), None)
            if known and not (split_special_tokens and known in SPECIAL):
                ids, text = [*ids, ADDED[known]], text[len(known):]
            elif joined:
                ids, text = [*ids, 1000 + self.joins.index(joined)], text[len(joined):]
            else:
                ids, text = [*ids, ord(text[0])], text[1:]
        return {"input_ids": ids}

    def decode(self, ids):
        return "".join(chr(each) for each in ids)


def lines(path, records):
    """The records as JSON lines in a file, compressed where its name says so; returns its path as text."""
    text = "".join(json.dumps(each) + "\n" for each in records).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return str(path)
