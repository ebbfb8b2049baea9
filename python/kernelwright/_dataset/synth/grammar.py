"""PyTorch functions drawn from a grammar of operations: equal seed and number give equal sources.

A source is a function of one to four tensors and its `get_inputs`. It is nobody's benchmark: a family names the
shape of the computation, and draws decide operations, sizes, element types and the order of its parts.
"""
import random
import textwrap
from dataclasses import dataclass, field

from . import products
from .products.text import random_numbers

GRAMMAR = 4  # increase it when equal seeds and numbers give other sources or other kernels

ROWS = (12, 17, 24, 33, 40, 48, 60)
COLUMNS = (50, 70, 96, 100, 130, 150, 200, 250, 300)
INNER = (24, 40, 48, 72, 80, 96)
FRACTIONS = (0.1, 0.2, 0.25, 0.4, 0.6, 0.75, 0.9)
CONSTANTS = (0.1, 0.2, 0.25, 0.3, 0.5, 0.7, 0.75, 1.25, 1.5, 1.7, 2.0, 2.5, 3.0)

# A word for the name, and an expression of {0}; {c} is a constant, {f} one below 1.
UNARY = (
    ("relu", "torch.relu({0})"), ("gelu", "F.gelu({0})"), ("silu", "F.silu({0})"), ("sigmoid", "torch.sigmoid({0})"),
    ("tanh", "torch.tanh({0})"), ("softplus", "F.softplus({0})"), ("elu", "F.elu({0}, alpha={c})"),
    ("leaky", "F.leaky_relu({0}, {c})"), ("clamp", "torch.clamp({0}, -{c}, {c})"), ("hardswish", "F.hardswish({0})"),
    ("mish", "F.mish({0})"), ("selu", "F.selu({0})"), ("decay", "torch.exp(-torch.abs({0}))"), ("square", "{0} * {0}"),
    ("root", "torch.sqrt(torch.abs({0}) + {c})"), ("rsqrt", "torch.rsqrt({0} * {0} + {c})"),
    ("log1p", "torch.log1p(torch.abs({0}))"), ("sin", "torch.sin({0} * {c})"), ("cos", "torch.cos({0})"),
    ("abs", "torch.abs({0} - {c})"), ("cauchy", "1.0 / (1.0 + {0} * {0})"), ("erf", "torch.erf({0})"),
    ("relu6", "F.relu6({0} + {c})"), ("softsign", "F.softsign({0})"), ("tanhshrink", "F.tanhshrink({0})"),
    ("logsigmoid", "F.logsigmoid({0})"), ("scale", "{0} * {c}"), ("shift", "{0} + {c}"), ("cube", "torch.pow({0}, 3)"),
    ("threshold", "torch.where({0} > {c}, {0}, {c} * {0})"), ("gauss", "torch.exp(-{c} * {0} * {0})"),
    ("hardsigmoid", "F.hardsigmoid({0})"), ("celu", "F.celu({0}, {c})"), ("quick_gelu", "{0} * torch.sigmoid(1.702 * {0})"),
    ("tanh_gelu", "F.gelu({0}, approximate=\"tanh\")"), ("softshrink", "F.softshrink({0}, {c})"),
)
BINARY = (
    ("add", "{0} + {1}"), ("sub", "{0} - {1}"), ("mul", "{0} * {1}"), ("max", "torch.maximum({0}, {1})"),
    ("min", "torch.minimum({0}, {1})"), ("ratio", "{0} / (torch.abs({1}) + {c})"), ("gated", "{0} * torch.sigmoid({1})"),
    ("select", "torch.where({0} > {1}, {0} - {1}, {c} * {1})"), ("blend", "{0} + {f} * ({1} - {0})"),
    ("swiglu", "F.silu({0}) * {1}"), ("sqdiff", "({0} - {1}) * ({0} - {1})"), ("damped", "{0} * torch.exp(-torch.abs({1}))"),
    ("mix", "{f} * {0} + (1.0 - {f}) * {1}"), ("geglu", "F.gelu({0}) * {1}"),
)
ROW_REDUCTIONS = (
    ("sum", "{0}.sum(dim=-1{k})"), ("mean", "{0}.mean(dim=-1{k})"), ("amax", "torch.amax({0}, dim=-1{k})"),
    ("amin", "torch.amin({0}, dim=-1{k})"), ("norm", "torch.sqrt(({0} * {0}).sum(dim=-1{k}) + 1e-6)"),
    ("var", "torch.var({0}, dim=-1, correction=0{k})"), ("std", "torch.std({0}, dim=-1{k})"),
    ("logsumexp", "torch.logsumexp({0}, dim=-1{k})"), ("rms", "torch.sqrt(({0} * {0}).mean(dim=-1{k}) + 1e-6)"),
    ("absmax", "{0}.abs().amax(dim=-1{k})"), ("l1", "{0}.abs().sum(dim=-1{k})"),
    ("range", "torch.amax({0}, dim=-1{k}) - torch.amin({0}, dim=-1{k})"),
)


@dataclass
class Input:
    """A tensor: how get_inputs makes it follows from its element type and its limit."""

    name: str
    sizes: tuple
    dtype: str
    below: int = 0  # of integers
    limit: str = ""  # the name of `below` in get_inputs

    def maker(self, limits):
        """The expression of get_inputs; `limits` names sizes."""
        sizes = [limits.get(each, each) for each in self.sizes]
        if self.dtype == "int64":
            return f"torch.randint(0, {self.limit}, ({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''}))"
        return random_numbers(sizes, self.dtype)


@dataclass
class Source:
    """One drawn function."""

    family: str
    name: str
    inputs: list
    text: str
    tile: int = 0  # a draw for the rewriter
    factors: tuple = ()  # (size, number that divides it)
    kernel: str = ""  # of a family that writes kernels itself


@dataclass
class Draft:
    """A function that is being drawn."""

    random: random.Random
    dtype: str = "float32"
    inputs: list = field(default_factory=list)
    words: list = field(default_factory=list)
    lines: list = field(default_factory=list)
    factors: list = field(default_factory=list)  # (size, number that divides it)

    def pick(self, values):
        """One of some values."""
        return self.random.choice(values)

    def chance(self, share):
        """True with this probability."""
        return self.random.random() < share

    def tensor(self, name, *sizes):
        """A new input; its name."""
        self.inputs.append(Input(name, sizes, self.dtype))
        return name

    def index(self, name, *sizes, below, limit):
        """A new input of integers below the size `below`, which get_inputs calls `limit`; its name."""
        self.inputs.append(Input(name, sizes, "int64", below, limit))
        return name

    def let(self, name, expression):
        """A new line; its name."""
        self.lines.append(f"{name} = {expression}")
        return name

    def apply(self, table, *operands, keep=False):
        """An operation of a table on operands, as an expression; its word joins the name."""
        word, template = self.pick(table)
        self.words.append(word)
        return template.format(*operands, c=self.pick(CONSTANTS), f=self.pick(FRACTIONS),
                               k=", keepdim=True" if keep else "")

    def chain(self, value, least, most, name="y"):
        """Some unary operations one after another."""
        for _ in range(self.random.randint(least, most)):
            value = self.let(name, self.apply(UNARY, value))
        return value


def pointwise(draft):
    """Chains of operations on equal shapes."""
    sizes = draft.pick([(draft.random.randint(600, 9000),), (draft.pick(ROWS), draft.pick(COLUMNS)), (4, draft.pick(ROWS), 50)])
    names = [draft.tensor(name, *sizes) for name in ("x", "y", "z")[:draft.pick((1, 2, 2, 3))]]
    value = draft.chain(names[0], 1, 2, "a") if len(names) > 1 else draft.chain(names[0], 2, 4, "a")
    for name in names[1:]:
        value = draft.let("a", draft.apply(BINARY, value, name))
        value = draft.chain(value, 0, 2, "a")
    return value


def broadcast(draft):
    """Vectors along a dimension of a matrix or of images."""
    if draft.chance(0.5):
        rows, columns = draft.pick(ROWS), draft.pick(COLUMNS)
        x = draft.tensor("x", rows, columns)
        first = draft.tensor("weight", columns)
        second = draft.tensor("scale", rows, 1) if draft.chance(0.5) else draft.tensor("bias", columns)
    else:
        channels, length = draft.pick(ROWS), draft.pick(COLUMNS)
        x = draft.tensor("x", draft.pick((2, 3)), channels, length)
        first, second = draft.tensor("weight", channels, 1), draft.tensor("bias", channels, 1)
    value = draft.chain(x, 0, 1)
    value = draft.let("y", draft.apply(BINARY, value, first))
    value = draft.chain(value, 0, 2)
    value = draft.let("y", draft.apply(BINARY, value, second))
    return draft.chain(value, 0, 1)


def row_reduction(draft):
    """Reductions over the last dimension, with operations before and after."""
    if draft.chance(0.7):
        shape = draft.pick(ROWS), draft.pick(COLUMNS)
    else:
        shape = draft.pick((2, 3, 4)), draft.pick((6, 9, 12)), draft.pick(COLUMNS)
    x = draft.tensor("x", *shape)
    value = draft.chain(x, 0, 2)
    if draft.chance(0.5):
        other = draft.tensor("weight", shape[-1]) if draft.chance(0.5) else draft.tensor("other", *shape)
        value = draft.let("y", draft.apply(BINARY, value, other))
    back = draft.chance(0.4)
    draft.words.append("row")
    total = draft.let("r", draft.apply(ROW_REDUCTIONS, value, keep=back))
    if back:
        return draft.chain(draft.let("z", draft.apply(BINARY, value, total)), 0, 1, "z")
    return draft.chain(total, 0, 2, "r")


def column_reduction(draft):
    """Reductions over another dimension than the last."""
    if draft.chance(0.6):
        shape = draft.pick(ROWS), draft.pick(COLUMNS)
    else:
        shape = draft.pick((2, 3, 4)), draft.pick((12, 20, 24)), draft.pick((50, 70, 96))
    x = draft.tensor("x", *shape)
    value = draft.chain(x, 0, 2)
    if draft.chance(0.4):
        value = draft.let("y", draft.apply(BINARY, value, draft.tensor("other", *shape)))
    draft.words.append("column")
    table = [(word, template.replace("dim=-1", f"dim={len(shape) - 2}")) for word, template in ROW_REDUCTIONS]
    total = draft.let("r", draft.apply(table, value, keep=back) if (back := draft.chance(0.3)) else draft.apply(table, value))
    if back:
        return draft.let("z", draft.apply(BINARY, value, total))
    return draft.chain(total, 0, 2, "r")


def softmax(draft):
    """Softmax and its relatives with temperatures, biases and masks."""
    rows, columns = draft.pick(ROWS), draft.pick(COLUMNS)
    x = draft.tensor("x", rows, columns)
    value = draft.chain(x, 0, 1)
    if draft.chance(0.6):
        other = draft.tensor("bias", columns) if draft.chance(0.5) else draft.tensor("offset", rows, columns)
        value = draft.let("y", draft.apply(BINARY, value, other))
    word, template = draft.pick((
        ("softmax", "torch.softmax({0} / {c}, dim=-1)"), ("log_softmax", "torch.log_softmax({0}, dim=-1)"),
        ("softmin", "F.softmin({0}, dim=-1)"), ("softmax", "torch.softmax({0}, dim=-1)"),
        ("entropy", "-(torch.softmax({0}, dim=-1) * torch.log_softmax({0}, dim=-1)).sum(dim=-1)"),
        ("squared_softmax", "torch.softmax({0}, dim=-1) ** 2"), ("column_softmax", "torch.softmax({0}, dim=0)"),
        ("soft_expectation", "(torch.softmax({0}, dim=-1) * {0}).sum(dim=-1)"),
        ("sparse_softmax", "torch.relu(torch.softmax({0}, dim=-1) - 1.0 / {0}.shape[-1])"),
    ))
    draft.words.append(word)
    value = draft.let("p", template.format(value, c=draft.pick(CONSTANTS)))
    if word in ("softmax", "softmin", "log_softmax") and draft.chance(0.5):
        value = draft.let("p", draft.apply(BINARY, value, draft.tensor("value", rows, columns)))
    return value


def norm(draft):
    """Normalisations with weights, residuals and activations."""
    rows, columns = draft.pick(ROWS), draft.pick(COLUMNS)
    kind = draft.pick(("layer_norm", "rms_norm", "rms_norm", "group_norm", "l2_norm", "layer_norm", "instance_norm",
                       "standardise"))
    if kind in ("group_norm", "instance_norm"):
        groups, a_group, length = draft.pick((2, 3, 4)), draft.pick((2, 3, 5)), draft.pick((30, 50, 70))
        x = draft.tensor("x", draft.pick((2, 3)), groups * a_group, length)
        draft.factors.append((groups * a_group, groups))
        value = draft.chain(x, 0, 1)
        draft.words.append(kind)
        value = draft.let("y", f"F.group_norm({value}, {groups})" if kind == "group_norm" else f"F.instance_norm({value})")
        if draft.chance(0.6):
            value = draft.let("y", draft.apply(BINARY, value, draft.tensor("weight", groups * a_group, 1)))
        return draft.chain(value, 0, 1)
    x = draft.tensor("x", rows, columns)
    value = draft.chain(x, 0, 1)
    if draft.chance(0.5):
        value = draft.let("y", draft.apply(BINARY, value, draft.tensor("residual", rows, columns)))
    draft.words.append(kind)
    epsilon = draft.pick(("1e-5", "1e-6", "1e-3"))
    if kind == "layer_norm":
        weight, bias = draft.tensor("weight", columns), draft.tensor("bias", columns)
        value = draft.let("y", f"F.layer_norm({value}, {value}.shape[-1:], {weight}, {bias}, eps={epsilon})")
    elif kind == "rms_norm":
        draft.let("scale", f"torch.rsqrt(({value} * {value}).mean(dim=-1, keepdim=True) + {epsilon})")
        value = draft.let("y", f"{value} * scale * {draft.tensor('weight', columns)}")
    elif kind == "l2_norm":
        value = draft.let("y", f"{value} / torch.clamp({value}.norm(dim=-1, keepdim=True), min={epsilon})")
    else:
        draft.let("centred", f"{value} - {value}.mean(dim=-1, keepdim=True)")
        value = draft.let("y", f"centred / torch.sqrt((centred * centred).mean(dim=-1, keepdim=True) + {epsilon})")
    return draft.chain(value, 0, 2)


def loss(draft):
    """Losses of a prediction and a target."""
    rows, columns = draft.pick(ROWS), draft.pick(COLUMNS)
    x = draft.tensor("x", rows, columns)
    value = draft.chain(x, 0, 1)
    kind = draft.pick(("cross_entropy", "nll", "pair", "pair", "pair", "cosine", "margin", "kl"))
    if kind in ("cross_entropy", "nll"):
        target = draft.index("target", rows, below=columns, limit="CLASSES")
        draft.words.append(kind)
        reduction = draft.pick(("mean", "sum", "none"))
        if kind == "cross_entropy":
            return draft.let("loss", f"F.cross_entropy({value}, {target}, reduction=\"{reduction}\")")
        return draft.let("loss", f"F.nll_loss({value}, {target}, reduction=\"{reduction}\")")
    target = draft.tensor("target", rows, columns)
    word, template = {
        "cosine": ("cosine", "1.0 - F.cosine_similarity({0}, {1}, dim=-1)"),
        "margin": ("margin", "torch.relu({c} - {0} * torch.sign({1})).mean(dim=-1)"),
        "kl": ("kl", "F.kl_div(torch.log_softmax({0}, dim=-1), torch.softmax({1}, dim=-1), reduction=\"none\").sum(dim=-1)"),
        "pair": draft.pick((
            ("mse", "F.mse_loss({0}, {1}, reduction=\"none\")"), ("l1", "F.l1_loss({0}, {1}, reduction=\"none\")"),
            ("huber", "F.huber_loss({0}, {1}, delta={c}, reduction=\"none\")"),
            ("smooth_l1", "F.smooth_l1_loss({0}, {1}, beta={c}, reduction=\"none\")"),
            ("bce", "F.binary_cross_entropy_with_logits({0}, torch.sigmoid({1}), reduction=\"none\")"),
            ("log_cosh", "torch.log(torch.cosh(torch.clamp({0} - {1}, -8.0, 8.0)))"),
            ("poisson", "torch.exp(torch.clamp({0}, max={c})) - {1} * {0}"),
            ("focal", "-torch.sigmoid(-{0}) ** 2 * F.logsigmoid({0}) * torch.sigmoid({1})"),
            ("charbonnier", "torch.sqrt(({0} - {1}) ** 2 + {c})"),
        )),
    }[kind]
    draft.words += [word, "loss"]
    value = draft.let("loss", template.format(value, target, c=draft.pick(CONSTANTS)))
    if kind != "pair":
        return draft.let("loss", f"{value}.{draft.pick(('mean', 'sum'))}()") if draft.chance(0.4) else value
    if draft.chance(0.4):
        value = draft.let("loss", f"{value} * {draft.tensor('weight', columns)}")
    return draft.let("loss", f"{value}.{draft.pick(('mean(dim=-1)', 'sum(dim=-1)', 'mean()', 'sum()', 'mean(dim=0)'))}")


def gather(draft):
    """Rows or elements that an index selects."""
    rows, columns, count = draft.pick(ROWS), draft.pick(COLUMNS), draft.pick((15, 20, 30, 45))
    kind = draft.pick(("embedding", "gather", "index_select", "embedding_sum", "row_gather"))
    draft.words.append(kind)
    if kind == "embedding_sum":
        index = draft.index("index", count, 5, below=rows, limit="ROWS")
        table = draft.tensor("table", rows, columns)
        value = draft.let("y", f"F.embedding({index}, {table}).{draft.pick(('sum', 'mean'))}(dim=1)")
    elif kind == "gather":
        x = draft.chain(draft.tensor("x", rows, columns), 0, 1)
        index = draft.index("index", rows, count, below=columns, limit="COLUMNS")
        value = draft.let("y", f"torch.gather({x}, 1, {index})")
    else:
        index = draft.index("index", count, below=rows, limit="ROWS")
        table = draft.tensor("table", rows, columns)
        value = draft.let("y", {"embedding": f"F.embedding({index}, {table})", "row_gather": f"{table}[{index}]",
                                "index_select": f"torch.index_select({table}, 0, {index})"}[kind])
    value = draft.chain(value, 1, 2)
    if kind != "gather" and draft.chance(0.6):
        value = draft.let("y", draft.apply(BINARY, value, draft.tensor("position", columns)))
    return value if draft.chance(0.6) else draft.let("y", draft.apply(ROW_REDUCTIONS, value))


def scan(draft):
    """Cumulative sums and products along a row."""
    rows, columns = draft.pick(ROWS), draft.pick(COLUMNS)
    value = draft.chain(draft.tensor("x", rows, columns), 0, 2)
    if draft.chance(0.5):
        other = draft.tensor("weight", columns) if draft.chance(0.5) else draft.tensor("other", rows, columns)
        value = draft.let("y", draft.apply(BINARY, value, other))
    if draft.chance(0.7):
        draft.words.append("cumsum")
        value = draft.let("y", f"torch.cumsum({value}, dim={draft.pick((1, -1, 1, 0))})")
    else:
        draft.words.append("cumprod")
        value = draft.let("y", f"torch.cumprod(1.0 + 0.01 * torch.tanh({value}), dim=1)")
    if draft.chance(0.7):
        return draft.chain(value, 0, 2)
    return draft.let("y", draft.apply(BINARY, value, draft.tensor("base", rows, columns)))


def movement(draft):
    """Transposes, concatenations, flips and shifts with operations between."""
    rows, columns = draft.pick(ROWS), draft.pick(COLUMNS)
    kind = draft.pick(("transpose", "permute", "cat", "flip", "roll", "pad", "stack", "interleave", "tril"))
    if kind == "permute":
        value = draft.chain(draft.tensor("x", 3, draft.pick((6, 10, 14)), draft.pick((30, 50, 70))), 1, 2)
        draft.words.append(kind)
        value = draft.let("y", f"{value}.permute({draft.pick(('0, 2, 1', '1, 0, 2', '2, 0, 1'))}).contiguous()")
        return draft.chain(value, 0, 1)
    x = draft.tensor("x", rows, columns)
    value = draft.chain(x, 0, 1)
    draft.words.append(kind)
    if kind == "transpose":
        value = draft.let("y", f"{value}.t().contiguous()")
        if draft.chance(0.6):
            value = draft.let("y", draft.apply(BINARY, value, draft.tensor("other", columns, rows)))
    elif kind in ("cat", "stack", "interleave"):
        other = draft.tensor("other", rows, draft.pick(COLUMNS) if kind == "cat" else columns)
        value = draft.let("y", {"cat": f"torch.cat([{value}, {other}], dim=1)",
                                "stack": f"torch.stack([{value}, {other}], dim=1)",
                                "interleave": f"torch.stack([{value}, {other}], dim=-1).flatten(1)"}[kind])
    elif kind == "flip":
        value = draft.let("y", f"torch.flip({value}, dims=[{draft.pick((0, 1))}])")
    elif kind == "roll":
        value = draft.let("y", f"torch.roll({value}, shifts={draft.pick((1, 3, 5))}, dims={draft.pick((0, 1))})")
    elif kind == "pad":
        value = draft.let("y", f"F.pad({value}, ({draft.pick((1, 2))}, {draft.pick((1, 3))}), value={draft.pick(CONSTANTS)})")
    else:
        value = draft.let("y", f"torch.{draft.pick(('tril', 'triu'))}({value}, diagonal={draft.pick((-1, 0, 2))})")
    return draft.chain(value, 1, 2)


def matmul(draft):
    """Matrix products with operations before and after."""
    # The rewriter names a stride by its number: three different sizes have three names.
    m = draft.pick(ROWS[2:])
    n = draft.pick([each for each in (40, 48, 56, 72, 80, 96) if each != m])
    k = draft.pick([each for each in INNER if each not in (m, n)])
    kind = draft.pick(("linear", "linear", "mm", "mm", "bmm", "gram"))
    if kind == "linear":
        value = draft.chain(draft.tensor("x", m, k), 0, 1)
        weight, bias = draft.tensor("weight", n, k), draft.tensor("bias", n)
        draft.words.append(kind)
        value = draft.let("y", f"F.linear({value}, {weight}, {bias})")
    elif kind == "mm":
        value = draft.chain(draft.tensor("x", m, k), 0, 1)
        other = draft.tensor("other", k, n)
        draft.words.append(kind)
        value = draft.let("y", f"{value} @ {other}")
    elif kind == "bmm":
        batches = draft.pick((2, 3))
        draft.words.append(kind)
        x, other = draft.tensor("x", batches, m, k), draft.tensor("other", batches, k, n)
        value = draft.let("y", f"torch.bmm({x}, {other})")
    else:
        x, n = draft.tensor("x", m, k), m
        draft.words.append(kind)
        value = draft.let("y", f"{x} @ {x}.t()")
    value = draft.chain(value, 1, 2)
    if draft.chance(0.5) and kind != "bmm":
        value = draft.let("y", draft.apply(BINARY, value, draft.tensor("residual", m, n)))
    if draft.chance(0.25):
        value = draft.let("y", draft.pick((f"torch.softmax({value}, dim=-1)", f"{value}.sum(dim=-1)",
                                           f"torch.amax({value}, dim=-1)")))
    return value


COMPILED = {each.__name__: each for each in (
    pointwise, broadcast, row_reduction, column_reduction, softmax, norm, loss, gather, scan, movement, matmul)}
FAMILIES = {**COMPILED, **products.FAMILIES}
# How often a family is drawn without --families: three in ten sources have products.
SHARES = {**dict.fromkeys(COMPILED, 6), **dict.fromkeys(products.FAMILIES, 2), "matmul": 3}


def draw(seed, number, families=()):
    """The source with this number."""
    chooser = random.Random(f"kernelwright synth {seed} {number}")
    names = sorted(families) or sorted(FAMILIES)
    family = chooser.choices(names, [SHARES[name] for name in names] if not families else None)[0]
    if family in products.FAMILIES:
        product = products.draw_product(chooser, family)
        return Source(family, product.name, product.inputs, product.reference_text(), kernel=product.kernel_text())
    draft = Draft(chooser, chooser.choice(("float32",) * 17 + ("float16", "float16", "bfloat16")))
    result = COMPILED[family](draft)
    words = list(dict.fromkeys(draft.words))[:5]
    name = "_".join(words) or family
    return Source(family, name, draft.inputs, source_text(name, draft, result), chooser.randrange(12),
                  tuple(draft.factors))


def source_text(name, draft, result):
    """The module of a drawn function."""
    lines = draft.lines
    if lines and lines[-1].startswith(f"{result} = "):
        lines = [*lines[:-1], f"return {lines[-1].removeprefix(f'{result} = ')}"]
    else:
        lines = [*lines, f"return {result}"]
    body = textwrap.indent("\n".join(lines), "    ")
    imports = "import torch\nimport torch.nn.functional as F\n" if "F." in body else "import torch\n"
    limits = {each.below: each.limit for each in draft.inputs if each.limit}
    sizes = "".join(f"{limit} = {size}\n" for size, limit in limits.items())
    makers = [each.maker(limits) for each in draft.inputs]
    inputs = f"[{', '.join(makers)}]"
    if len(inputs) > 100:
        inputs = "[\n        " + ",\n        ".join(makers) + ",\n    ]"
    parameters = ", ".join(each.name for each in draft.inputs)
    head = f"{imports}\n{sizes}" if sizes else imports
    return (f"{head}\n\ndef {name}({parameters}):\n{body}\n\n\n"
            f"def get_inputs():\n    return {inputs}\n")
