"""Scalar expressions that are written as CUDA C++, Triton and PyTorch."""

import re
from dataclasses import dataclass

LANGUAGES = ("cuda", "triton", "torch")
CONSTANTS = (0.1, 0.2, 0.25, 0.3, 0.5, 0.7, 0.75, 1.25, 1.5, 2.0, 2.5, 3.0)
FRACTIONS = (0.1, 0.2, 0.25, 0.4, 0.6, 0.75, 0.9)


@dataclass(frozen=True)
class Operation:
    """A function of one or two values. {0} and {1} are the operands, {c} is a constant, {f} a constant below 1."""

    word: str
    result: str  # a name for a variable that holds the result
    cuda: str
    triton: str
    torch: str


@dataclass(frozen=True)
class Leaf:
    """A variable."""

    name: str


@dataclass(frozen=True)
class Apply:
    """An operation on operands, with its constants drawn."""

    operation: Operation
    operands: tuple
    constant: float = 1.0
    fraction: float = 0.5


UNARY = tuple(
    Operation(*each)
    for each in (
        ("relu", "act", "fmaxf({0}, 0.0f)", "tl.maximum({0}, 0.0)", "torch.relu({0})"),
        ("sigmoid", "gate", "1.0f / (1.0f + expf(-{0}))", "tl.sigmoid({0})", "torch.sigmoid({0})"),
        ("silu", "act", "{0} / (1.0f + expf(-{0}))", "{0} * tl.sigmoid({0})", "F.silu({0})"),
        (
            "gelu",
            "act",
            "0.5f * {0} * (1.0f + erff({0} * 0.70710678f))",
            "0.5 * {0} * (1.0 + tl.erf({0} * 0.70710678))",
            "F.gelu({0})",
        ),
        (
            "quick_gelu",
            "act",
            "{0} / (1.0f + expf(-1.702f * {0}))",
            "{0} * tl.sigmoid(1.702 * {0})",
            "{0} * torch.sigmoid(1.702 * {0})",
        ),
        ("tanh", "bounded", "tanhf({0})", "2.0 * tl.sigmoid(2.0 * {0}) - 1.0", "torch.tanh({0})"),
        (
            "softplus",
            "soft",
            "fmaxf({0}, 0.0f) + log1pf(expf(-fabsf({0})))",
            "tl.maximum({0}, 0.0) + tl.log(1.0 + tl.exp(-tl.abs({0})))",
            "F.softplus({0})",
        ),
        (
            "elu",
            "act",
            "{0} > 0.0f ? {0} : {c} * expm1f({0})",
            "tl.where({0} > 0.0, {0}, {c} * (tl.exp({0}) - 1.0))",
            "F.elu({0}, alpha={c})",
        ),
        ("leaky_relu", "act", "{0} > 0.0f ? {0} : {f} * {0}", "tl.where({0} > 0.0, {0}, {f} * {0})", "F.leaky_relu({0}, {f})"),
        (
            "clamp",
            "clamped",
            "fminf(fmaxf({0}, -{c}), {c})",
            "tl.minimum(tl.maximum({0}, -{c}), {c})",
            "torch.clamp({0}, -{c}, {c})",
        ),
        (
            "hardswish",
            "act",
            "{0} * fminf(fmaxf({0} + 3.0f, 0.0f), 6.0f) / 6.0f",
            "{0} * tl.minimum(tl.maximum({0} + 3.0, 0.0), 6.0) / 6.0",
            "F.hardswish({0})",
        ),
        ("square", "squared", "{0} * {0}", "{0} * {0}", "{0} * {0}"),
        ("root", "root", "sqrtf(fabsf({0}) + {c})", "tl.sqrt(tl.abs({0}) + {c})", "torch.sqrt(torch.abs({0}) + {c})"),
        ("log1p", "logged", "log1pf(fabsf({0}))", "tl.log(1.0 + tl.abs({0}))", "torch.log1p(torch.abs({0}))"),
        ("sin", "wave", "sinf({0} * {c})", "tl.sin({0} * {c})", "torch.sin({0} * {c})"),
        ("cos", "wave", "cosf({0})", "tl.cos({0})", "torch.cos({0})"),
        ("decay", "decayed", "expf(-fabsf({0}))", "tl.exp(-tl.abs({0}))", "torch.exp(-torch.abs({0}))"),
        ("scale", "scaled", "{0} * {c}", "{0} * {c}", "{0} * {c}"),
        ("shift", "shifted", "{0} + {c}", "{0} + {c}", "{0} + {c}"),
        ("cube", "cubed", "{0} * {0} * {0}", "{0} * {0} * {0}", "{0} * {0} * {0}"),
        ("gauss", "bell", "expf(-{c} * {0} * {0})", "tl.exp(-{c} * {0} * {0})", "torch.exp(-{c} * {0} * {0})"),
        ("cauchy", "peak", "1.0f / (1.0f + {0} * {0})", "1.0 / (1.0 + {0} * {0})", "1.0 / (1.0 + {0} * {0})"),
        ("softsign", "bounded", "{0} / (1.0f + fabsf({0}))", "{0} / (1.0 + tl.abs({0}))", "F.softsign({0})"),
    )
)
BINARY = tuple(
    Operation(*each)
    for each in (
        ("add", "total", "{0} + {1}", "{0} + {1}", "{0} + {1}"),
        ("sub", "difference", "{0} - {1}", "{0} - {1}", "{0} - {1}"),
        ("mul", "product", "{0} * {1}", "{0} * {1}", "{0} * {1}"),
        ("max", "larger", "fmaxf({0}, {1})", "tl.maximum({0}, {1})", "torch.maximum({0}, {1})"),
        ("min", "smaller", "fminf({0}, {1})", "tl.minimum({0}, {1})", "torch.minimum({0}, {1})"),
        ("safe_div", "ratio", "{0} / (fabsf({1}) + {c})", "{0} / (tl.abs({1}) + {c})", "{0} / (torch.abs({1}) + {c})"),
        ("gated", "gated", "{0} / (1.0f + expf(-{1}))", "{0} * tl.sigmoid({1})", "{0} * torch.sigmoid({1})"),
        ("blend", "blended", "{0} + {f} * ({1} - {0})", "{0} + {f} * ({1} - {0})", "torch.lerp({0}, {1}, {f})"),
        ("sqdiff", "error", "({0} - {1}) * ({0} - {1})", "({0} - {1}) * ({0} - {1})", "({0} - {1}) ** 2"),
        ("damped", "damped", "{0} * expf(-fabsf({1}))", "{0} * tl.exp(-tl.abs({1}))", "{0} * torch.exp(-torch.abs({1}))"),
        (
            "hypot",
            "length",
            "sqrtf({0} * {0} + {1} * {1})",
            "tl.sqrt({0} * {0} + {1} * {1})",
            "torch.sqrt({0} * {0} + {1} * {1})",
        ),
        (
            "select",
            "chosen",
            "{0} > {1} ? {0} : {c} * {1}",
            "tl.where({0} > {1}, {0}, {c} * {1})",
            "torch.where({0} > {1}, {0}, {c} * {1})",
        ),
    )
)
BY_WORD = {each.word: each for each in (*UNARY, *BINARY)}

ATOM = re.compile(r"-?[\w.]+$")


def is_atom(text):
    """Whether an operator can stand beside a text: it has no operator outside of brackets."""
    depth = 0
    for char in text:
        depth -= char in ")]"
        if depth == 0 and not (char.isalnum() or char in "_.()[]"):
            return False
        depth += char in "(["
    return True


class Writer:
    """Writes expressions of one language. A value that an operation needs twice becomes a variable first."""

    def __init__(self, language, taken=()):
        self.language, self.lines, self.taken = language, [], set(taken)

    def write(self, node):
        """The expression; its variables are in `lines`."""
        if isinstance(node, Leaf):
            return node.name
        template = getattr(node.operation, self.language)
        operands = {}
        for at, operand in enumerate(node.operands):
            text = self.write(operand)
            if template.count(f"{{{at}}}") > 1 and not ATOM.match(text):
                text = self.let(operand.operation.result, text)
            operands[at] = text
        return self._filled(template, operands, node)

    def let(self, name, text):
        """A new variable; its name."""
        known, number = name, 1
        while name in self.taken:
            number += 1
            name = f"{known}{number}"
        self.taken.add(name)
        self.lines.append(f"const float {name} = {text};" if self.language == "cuda" else f"{name} = {text}")
        return name

    def _filled(self, template, operands, node):
        end = "f" if self.language == "cuda" else ""
        template = template.replace("{c}", f"{node.constant}{end}").replace("{f}", f"{node.fraction}{end}")

        def operand(match):
            text = operands[int(match.group(2))]
            alone = match.group(1) in ("(", ", ") and match.group(3) in (")", ",")
            return match.group(1) + (text if alone or is_atom(text) else f"({text})")

        return re.sub(r"(^|\(|, |.)\{(\d)\}(?=(\)|,|.|$))", operand, template)


def written(node, language, taken=()):
    """The lines before an expression, and the expression."""
    writer = Writer(language, taken)
    text = writer.write(node)
    return writer.lines, text


def words_of(node):
    """The operations of an expression, the innermost first."""
    if isinstance(node, Leaf):
        return []
    return [word for operand in node.operands for word in words_of(operand)] + [node.operation.word]
