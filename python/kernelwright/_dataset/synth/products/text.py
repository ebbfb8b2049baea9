"""The texts of a product: kernels, the function that launches them, and the PyTorch reference."""

import re
import textwrap
from dataclasses import dataclass, field

from ..cuda_pairs.families.common import grouped
from ..cuda_pairs.program import fill, folded
from ..kernel_text import wrapped

ENTRY = "triton_kernel_wrapper"
__all__ = ["Input", "Kernel", "Product", "fill"]


class Named(int):
    """A size that the module of the reference calls by a name, because get_inputs uses it more than once."""

    def __new__(cls, number, name):
        """The number, written as the name."""
        made = super().__new__(cls, number)
        made.name = name
        return made

    def __format__(self, form):
        """The name."""
        return self.name

    __str__ = __repr__ = lambda self: self.name


def random_numbers(sizes, dtype):
    """The expression of a tensor of random normal numbers."""
    shape = ", ".join(str(size) for size in sizes)
    return f"torch.randn({shape})" if dtype == "float32" else f"torch.randn({shape}, dtype=torch.{dtype})"


@dataclass
class Input:
    """A tensor of the reference; `maker` is the expression of get_inputs if it is not random normal numbers."""

    name: str
    sizes: tuple
    dtype: str
    maker: str = ""

    def made(self):
        """The expression of get_inputs."""
        return self.maker or random_numbers(self.sizes, self.dtype)


@dataclass
class Kernel:
    """One kernel. `scalars` maps parameters to what the launcher passes; those that the body does not read are left out."""

    tensors: list
    scalars: dict
    constants: dict
    comment: str
    body: str
    grid: tuple
    suffix: str = ""

    def used(self):
        """The scalars that the body reads."""
        return {name: value for name, value in self.scalars.items() if re.search(rf"\b{name}\b", self.body)}

    def source(self, name):
        """The definition."""
        parameters = [
            *(f"{each}_ptr" for each in self.tensors),
            *self.used(),
            *(f"{each}: tl.constexpr" for each in self.constants),
        ]
        comment = [f"# {line}" for line in textwrap.wrap(self.comment, 100)]
        head = folded(f"def {name}{self.suffix}_kernel(", parameters, "):", 4, 110)
        body = [wrapped(line, 104) for line in self.body.strip("\n").split("\n")]
        return "\n".join(["@triton.jit", head, textwrap.indent("\n".join([*comment, *body]), "    ")])

    def launch(self, name):
        """The lines that launch it."""
        computed = {each: value for each, value in self.constants.items() if not str(value).isdigit() and value != each}
        grid = ", ".join(self.grid)
        named = {
            **computed,
            **{each: value for each, value in self.constants.items() if value != each and re.search(rf"\b{each}\b", grid)},
        }
        arguments = [*self.tensors, *self.used().values()]
        arguments += [f"{each}={each if each in named else value}" for each, value in self.constants.items()]
        grid += "," if len(self.grid) == 1 else ""
        return [
            *(f"{each} = {value}" for each, value in named.items()),
            f"grid = ({grid})",
            folded(f"{name}{self.suffix}_kernel[grid](", arguments, ")", 4, 100),
        ]


@dataclass
class Product:
    """A pair before it is written. `sizes` are lines of the launcher that name sizes; `made` those that allocate."""

    name: str
    inputs: list
    reference: list
    sizes: list
    made: list
    kernels: list
    result: str = "out"
    before: dict = field(default_factory=dict)  # lines of the launcher before the kernel of this number

    def reference_text(self):
        """The module of the reference."""
        body = textwrap.indent("\n".join(self.reference), "    ")
        imports = "import torch\nimport torch.nn.functional as F\n" if "F." in body else "import torch\n"
        parameters = ", ".join(each.name for each in self.inputs)
        makers = ", ".join(each.made() for each in self.inputs)
        inputs = (
            f"[{makers}]"
            if len(makers) < 100
            else "[\n        " + ",\n        ".join(each.made() for each in self.inputs) + ",\n    ]"
        )
        limits = {str(size): int(size) for each in self.inputs for size in each.sizes if isinstance(size, Named)}
        named = "".join(f"{name} = {size}\n" for name, size in limits.items())
        head = f"{imports}\n{named}" if named else imports
        return f"{head}\n\ndef {self.name}({parameters}):\n{body}\n\n\ndef get_inputs():\n    return {inputs}\n"

    def kernel_text(self):
        """The module of the kernels."""
        lines = [*self.sizes, *self.made]
        for at, kernel in enumerate(self.kernels):
            lines += self.before.get(at, [])
            lines += kernel.launch(self.name)
        lines.append(f"return {self.result}")
        head = folded(f"def {ENTRY}(", [each.name for each in self.inputs], "):")
        launcher = head + "\n" + textwrap.indent("\n".join(lines), "    ")
        imports = "import torch\nimport triton\nimport triton.language as tl"
        return "\n\n\n".join([imports, *(kernel.source(self.name) for kernel in self.kernels), launcher]) + "\n"


def weights(draw, name, sizes, fan):
    """A 16-bit matrix whose products stay near 1, so that a rounding between two products is small; any other as it is."""
    if not draw.half:
        return Input(name, sizes, draw.dtype)
    maker = f"torch.randn({', '.join(map(str, sizes))}, dtype=torch.{draw.dtype}) * {fan**-0.5:.2f}"
    return Input(name, sizes, draw.dtype, maker)


def in_type(draw, text):
    """A PyTorch expression of float32 in the element type of the tensors."""
    return f"{grouped(text)}.to(torch.{draw.dtype})" if draw.half else text


def returned(lines):
    """Lines whose last one assigns a value, as lines that return it."""
    name, _, value = lines[-1].partition(" = ")
    return [*lines[:-1], f"return {value}"] if re.fullmatch(r"\w+", name) else lines
