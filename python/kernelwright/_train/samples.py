"""The results of encoding rows: a sample to learn, or the reason why not; and counts of each."""
from collections import Counter
from dataclasses import dataclass, field

NOT_LEARNT = -100


@dataclass(slots=True)
class Encoded:
    """A sample: its tokens, and for each position its label (NOT_LEARNT: none).

    `cut` gives the reason why the sample is shorter than the row, `tokens_cut` how many tokens were cut.
    """

    input_ids: list
    labels: list
    cut: tuple = ()
    tokens_cut: int = 0

    @property
    def learnt(self):
        return sum(label != NOT_LEARNT for label in self.labels)


@dataclass(slots=True)
class Dropped:
    """The reason why a row is not learnt, and the number of its tokens."""

    reason: str
    tokens: int = 0


@dataclass
class Counts:
    """The outcomes of the rows. Tokens are those of the samples after cutting.

    For rows so long that they were tokenised in part, the cut or dropped tokens are estimated from that part.
    """

    rows: int = 0
    used: int = 0
    tokens: int = 0
    learnt_tokens: int = 0
    tokens_cut: int = 0
    tokens_dropped: int = 0
    dropped: Counter = field(default_factory=Counter)
    cut: Counter = field(default_factory=Counter)

    def add(self, outcome):
        """Counts an Encoded or a Dropped; true for a sample."""
        self.rows += 1
        if isinstance(outcome, Dropped):
            self.dropped[outcome.reason] += 1
            self.tokens_dropped += outcome.tokens
            return False
        self.used += 1
        self.tokens += len(outcome.input_ids)
        self.learnt_tokens += outcome.learnt
        self.tokens_cut += outcome.tokens_cut
        self.cut.update(outcome.cut)
        return True

    def as_fields(self):
        return {"rows": self.rows, "used": self.used, "dropped": dict(sorted(self.dropped.items())),
                "cut": dict(sorted(self.cut.items())), "tokens": self.tokens, "learnt_tokens": self.learnt_tokens,
                "tokens_cut": self.tokens_cut, "tokens_dropped": self.tokens_dropped}
