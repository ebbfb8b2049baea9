"""Random choices of a product, and its expressions in PyTorch and Triton."""

from ..cuda_pairs.draw import Draw
from ..cuda_pairs.expressions import UNARY, Leaf, words_of, written

# Four sizes of one draw differ, so that each size in a text has one meaning.
HEIGHTS = (24, 33, 48, 60)
WIDTHS = (40, 56, 72, 100)
DEPTHS = (32, 45, 64, 80, 96)
# Functions that neither magnify a large product's rounding nor make it constant.
TAME = tuple(
    each for each in UNARY if each.word not in ("cube", "square", "scale", "shift", "sin", "cos", "gauss", "decay", "cauchy")
)


class ProductDraw(Draw):
    """The random choices of one product; `chooser` is a random.Random."""

    def __init__(self, chooser):
        self.random = chooser
        self.dtype = self.pick(("float32",) * 6 + ("float16",) * 3 + ("bfloat16",))
        self.sentence = chooser.randrange(1 << 16)

    @property
    def half(self):
        """Whether the tensors have a 16-bit type."""
        return self.dtype != "float32"

    @property
    def precision(self):
        """The argument of tl.dot that keeps float32 operands as they are."""
        return "" if self.half else ', input_precision="ieee"'

    def blocks(self, depth=True):
        """The sizes of a tile."""
        height, width = self.pick(((32, 64), (64, 32), (64, 64), (32, 32)))
        return {"BLOCK_M": height, "BLOCK_N": width, **({"BLOCK_K": self.pick((32, 32, 64))} if depth else {})}

    def activation(self, name, least=0, most=1):
        """Lines of Triton and of PyTorch that replace the variable `name` by functions of it, and their words."""
        node = Leaf(name)
        for _ in range(self.random.randint(least, most)):
            node = self.apply([each for each in TAME if each.word not in words_of(node)], node)
        return self.both(node, name)

    def combined(self, name, other, operations):
        """The same for an operation on two variables."""
        return self.both(self.apply(operations, name, other), name)

    @staticmethod
    def both(node, name):
        """The lines of both languages that assign an expression to `name`, and its words."""
        if isinstance(node, Leaf):
            return [], [], []
        made = []
        for language in ("triton", "torch"):
            lines, text = written(node, language, (name,))
            made.append([*lines, f"{name} = {text}"])
        return (*made, words_of(node))


def name_of(*words):
    """A function's name of at most five different words."""
    flat = [word for each in words for word in ([each] if isinstance(each, str) else each) if word]
    return "_".join(list(dict.fromkeys(flat))[:5])
