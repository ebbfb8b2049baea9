"""Random choices of a pair: element type, names, block sizes, expressions."""

import random

from .expressions import BINARY, CONSTANTS, FRACTIONS, UNARY, Apply, Leaf

ROWS = (12, 17, 24, 33, 40, 48)
COLUMNS = (50, 70, 96, 100, 130, 150, 200, 250, 300)
LENGTHS = (700, 1000, 1536, 2049, 3000, 4100, 5000)

# The names that texts are written with: the names that a pair may have instead.
NAMES = {
    "x": ("x", "x", "input", "src", "a"),
    "out": ("out", "out", "output", "y", "dst", "result"),
    "numel": ("n", "numel", "size", "count", "num_elements"),
    "n_rows": ("n_rows", "rows", "num_rows", "nrows", "M"),
    "n_cols": ("n_cols", "cols", "num_cols", "hidden", "N"),
    "THREADS": ("THREADS", "kThreads", "BLOCK_THREADS", "kBlockSize", "NUM_THREADS"),
    "BLOCK": ("BLOCK", "BLOCK_SIZE", "BLOCK_N", "TILE"),
    "offs": ("offs", "offsets", "idx"),
    "acc": ("acc", "total", "accum", "running"),
}


class Draw:
    """The random choices of one pair."""

    def __init__(self, seed, number):
        self.random = random.Random(f"kernelwright cuda pairs {seed} {number}")
        self.dtype = self.pick(("float32", "float32", "float32", "float16"))
        self.names = {known: self.pick(names) for known, names in NAMES.items()}
        self.threads = self.pick((128, 256, 256, 512))
        self.block = self.pick((128, 256, 512, 1024))
        self.restrict = self.chance(0.7)
        self.defines = self.chance(0.25)  # a macro instead of constexpr
        self.inline_grid = self.chance(0.6)
        self.launcher = self.pick(("launch_{}", "{}_forward", "run_{}", "{}_cuda"))
        self.sentence = self.random.randrange(1 << 16)

    def pick(self, values):
        """One of some values."""
        return self.random.choice(values)

    def chance(self, share):
        """True with this probability."""
        return self.random.random() < share

    def say(self, *sentences):
        """One of several wordings of a comment."""
        return sentences[self.sentence % len(sentences)]

    def apply(self, operations, *operands):
        """An operation on expressions or names."""
        nodes = tuple(Leaf(each) if isinstance(each, str) else each for each in operands)
        return Apply(self.pick(operations), nodes, self.pick(CONSTANTS), self.pick(FRACTIONS))

    def chain(self, node, least, most):
        """Unary operations one after another, no two equal neighbours."""
        node = Leaf(node) if isinstance(node, str) else node
        for _ in range(self.random.randint(least, most)):
            fresh = [each for each in UNARY if not isinstance(node, Apply) or each is not node.operation]
            node = self.apply(fresh, node)
        return node

    def binary(self, first, second):
        """A binary operation."""
        return self.apply(BINARY, first, second)
