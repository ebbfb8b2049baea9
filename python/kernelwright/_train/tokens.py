"""Tokenises rows, and marks the tokens that are learnt.

A plain pair is the tokens of the prompt, which are not learnt, those of the completion, which are, and the end-of-text
token, which is too. The two are tokenised separately: at inference a model reads the tokens of the prompt and continues
after them, so the boundary in the data must lie between tokens, which one tokenisation of both does not guarantee.

Text of a row that resembles a special token (`<|im_end|>` in the source of a tokenizer) is tokenised as text. The marks
of holes stay marks, because the program itself writes them into prompts.

A sample's first token is never learnt: the sample has no token before it, and in a packed sequence it would be predicted
from the previous sample.
"""
import hashlib
import re

from . import turns
from .chat_template import Template
from .events import TrainError
from .samples import NOT_LEARNT, Dropped, Encoded

# Those of the coder models whose rendering the data set uses.
MARKS = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>")
# A normaliser may make several characters of one; a token covers at most this many times its own characters.
NORMALISED = 4

EMPTY = "empty completion"
NO_ANSWER = "no answer to learn"
TOO_LONG = "longer than max_length"
PROMPT_TOO_LONG = "the prompt alone fills max_length"
FOR_LENGTH = (TOO_LONG, PROMPT_TOO_LONG)


def ids_of(tokenizer, text, special=False):
    """Tokens of a text. `special`: text that resembles a special token becomes that token."""
    return tokenizer(text, add_special_tokens=False, split_special_tokens=not special, verbose=False)["input_ids"]


def lead_of(tokenizer):
    """The tokens that the tokenizer puts before every text, such as a begin-of-text token."""
    bare, dressed = ids_of(tokenizer, "a"), tokenizer("a")["input_ids"]
    for at in range(len(dressed) - len(bare) + 1):
        if dressed[at:at + len(bare)] == bare:
            return dressed[:at]
    return []


def fingerprint(tokenizer):
    """SHA-256 of the inputs of tokenisation: vocabulary, rules, chat template."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = backend.to_str() if backend is not None else repr(sorted(tokenizer.get_vocab().items()))
    template = getattr(tokenizer, "chat_template", None)
    return hashlib.sha256(f"{rules}\0{template!r}\0{tokenizer.eos_token_id}".encode()).hexdigest()


class Encoder:
    """Makes samples of rows for one tokenizer and one recipe."""

    def __init__(self, tokenizer, recipe):
        self.tokenizer, self.data = tokenizer, recipe["data"]
        if tokenizer.eos_token_id is None:
            raise TrainError("the model's tokenizer names no token that ends a text",
                             "set eos_token in its tokenizer_config.json")
        self.limit = self.data["max_length"]
        self.lead = lead_of(tokenizer)
        known = tokenizer.get_vocab()
        self.marks = {mark: known[mark] for mark in MARKS if mark in known}
        self.split = re.compile("(" + "|".join(map(re.escape, self.marks)) + ")") if self.marks else None
        self.characters = self.limit * NORMALISED * max(map(len, known), default=1)
        self.template = None  # made at the first conversation
        # Some tokenizers put a space before every text; a completion, which begins within a text, gets none.
        self.anchor = "\n" if tokenizer.decode(ids_of(tokenizer, "a") * 2) != "aa" else ""

    def within(self, text, special=False):
        """Tokens of a text that follows another one."""
        if self.anchor and text:
            before, both = (ids_of(self.tokenizer, each, special) for each in (self.anchor, self.anchor + text))
            if both[:len(before)] == before:
                return both[len(before):]
        return ids_of(self.tokenizer, text, special)

    def plain(self, text, first=True):
        """Tokens of a plain text: the marks of holes are marks, all other text is text."""
        ids = []
        for part in self.split.split(text) if self.split else [text]:
            if part in self.marks:
                ids.append(self.marks[part])
            elif part:
                ids += self.within(part) if ids or not first else ids_of(self.tokenizer, part)
        return ids

    def start(self, text, first=True):
        """Tokens of the part of a text that can matter, and the estimated number of the remaining tokens.

        Characters beyond those that max_length tokens can cover are not tokenised.
        """
        ids = self.plain(text[:self.characters + 1], first)
        rest = max(0, len(text) - self.characters - 1)
        return ids, round(rest * len(ids) / self.characters)

    def pair(self, prompt, completion):
        if not completion:
            return Dropped(EMPTY, len(self.start(prompt)[0]))
        asked, unread = self.start(prompt)
        answer, more = self.start(completion, first=not prompt)
        return self.sample([(self.lead + asked, False), (answer + [self.tokenizer.eos_token_id], True)], unread=unread + more)

    def text(self, text):
        if not text:
            return Dropped("empty text")
        ids, unread = self.start(text)
        return self.sample([(self.lead + ids + [self.tokenizer.eos_token_id], True)], unread=unread)

    def messages(self, row):
        if self.data["template"] == "none":
            asked, answered = turns.apart(row)
            return self.pair(asked, answered) if answered is not None else Dropped(NO_ANSWER)
        if self.template is None:
            self.template = Template(self.tokenizer)
        found = turns.find(self.template, row)
        if isinstance(found, str):
            return Dropped(found)
        pieces, unread = self.rendered(found)
        return self.sample(pieces, found.cut, unread)

    def rendered(self, found):
        """Pieces (tokens, learnt) of the part of a conversation that can matter, and the estimated number of further tokens."""
        pieces, tokens, characters, unread = [], 0, 0, 0
        for text, learnt in found.pieces:
            ids = []
            for part, special in found.parts(text):
                taken = "" if tokens > self.limit else part[:self.characters + 1]
                some = self.within(taken, special) if tokens else ids_of(self.tokenizer, taken, special)
                ids += some
                tokens, characters, unread = tokens + len(some), characters + len(taken), unread + len(part) - len(taken)
            pieces.append((ids, learnt))
        return pieces, round(unread * tokens / max(characters, 1))

    def sample(self, pieces, cut=(), unread=0):
        """The sample of pieces of (tokens, learnt), cut to max_length or dropped."""
        ids, labels = [], []
        everything = self.data["loss"] == "all"
        for some, learnt in pieces:
            ids += some
            labels += some if learnt or everything else [NOT_LEARNT] * len(some)
        tokens, limit = len(ids) + unread, self.limit
        if tokens > limit:
            if self.data["too_long"] == "drop":
                return Dropped(TOO_LONG, tokens)
            ids, labels, cut = ids[:limit], labels[:limit], (*cut, TOO_LONG)
        if labels:
            labels[0] = NOT_LEARNT
        if all(label == NOT_LEARNT for label in labels):
            return Dropped(PROMPT_TOO_LONG if TOO_LONG in cut else "nothing to learn", tokens)
        return Encoded(ids, labels, tuple(cut), tokens - len(ids))

    def encode(self, row):
        """An Encoded, or a Dropped with the reason."""
        if row.kind == "pair":
            return self.pair(row.prompt, row.completion)
        return self.text(row.text) if row.kind == "text" else self.messages(row)


def encode(tokenizer, row, recipe):
    """One row as an Encoded or a Dropped. For many rows, keep an Encoder."""
    return Encoder(tokenizer, recipe).encode(row)
