"""The description of a pair, and the three texts that are written from it.

A family gives tensors, sizes, and the bodies of both kernels in terms of LOAD and STORE; this module adds signatures,
launchers and conversions, and gives everything the names of the draw.
"""

import re
import textwrap
from dataclasses import dataclass, field

ENTRY = "triton_kernel_wrapper"
C_TYPES = {"float32": "float", "float16": "__half", "int64": "long long", "int32": "int", "int8": "signed char", "bool": "bool"}
MACRO = re.compile(r"\b(LOAD|STORE|ATOMIC_ADD)\(")


@dataclass
class Tensor:
    """An input. `maker` is the expression of get_inputs, if it is not random normal numbers."""

    name: str
    sizes: tuple
    dtype: str = "float32"
    maker: str = ""


@dataclass
class Output:
    """A result: its shape as Python, and how it starts."""

    name: str
    shape: str  # "(n_rows,)"
    dtype: str = "float32"
    like: str = ""  # the input that has its shape and type
    fill: str = ""  # "0": the kernel adds to it


@dataclass
class Side:
    """A kernel of one language."""

    body: str
    grid: tuple  # of expressions of sizes and constants; cdiv(a, b) rounds up
    comment: str = ""  # what a block or program computes
    helpers: str = ""
    block: tuple = ("THREADS",)  # CUDA only
    constants: dict = field(default_factory=dict)  # CUDA: constexpr int; Triton: tl.constexpr parameters


@dataclass
class Program:
    """A pair before it is written."""

    name: str
    inputs: list
    outputs: list
    sizes: tuple  # integer parameters of the kernels
    sizes_from: list  # lines of Python that compute them from the inputs
    reference: list  # lines of the PyTorch function's body, which end with return
    cuda: Side
    triton: Side
    copies: bool = False  # elements are only moved, so that no type is converted


@dataclass
class Pair:
    """The texts of a pair."""

    family: str
    name: str
    reference: str
    triton: str
    cuda: str  # the .cu file: kernel and host launcher
    candidate: str  # a Python module that compiles and launches the kernel
    compared: str  # what tells the pair from others: the texts before they are named, without inputs and launchers


def fill(template, **values):
    """The template with $name replaced; a value of several lines takes the indentation of its line, an empty one no line."""
    lines = []
    for line in textwrap.dedent(template).strip("\n").split("\n"):
        whole = re.fullmatch(r"(\s*)\$(\w+)", line)
        if whole:
            value = values[whole.group(2)]
            value = "\n".join(value) if isinstance(value, list) else value
            if value:
                lines += [whole.group(1) + each if each else "" for each in value.split("\n")]
        else:
            lines.append(re.sub(r"\$(\w+)", lambda match: str(values[match.group(1)]), line))
    return "\n".join(lines)


def arguments_of(text, begin):
    """The arguments of a call whose first one begins there, and the place after it."""
    parts, depth, start = [], 0, begin
    for at in range(begin, len(text)):
        char = text[at]
        if char == ")" and depth == 0:
            return [*parts, text[start:at].strip()], at + 1
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    raise ValueError(f"an open call: {text[begin : begin + 60]}")


def expanded(text, macro):
    """The text with LOAD, STORE and ATOMIC_ADD as `macro` writes them; innermost last."""
    while match := MACRO.search(text):
        parts, end = arguments_of(text, match.end())
        text = text[: match.start()] + macro(match.group(1), parts) + text[end:]
    return text


class ProgramWriter:
    """Writes one program."""

    def __init__(self, family, program, draw):
        self.family, self.program, self.draw = family, program, draw
        self.types = {each.name: each.dtype for each in [*program.inputs, *program.outputs]}
        self.renames = {}

    def pair(self):
        """All texts."""
        kernel = self._cuda_kernel()
        texts = [self._reference(), self._triton(), f"{kernel}\n\n{self._host_launcher()}\n", self._candidate(kernel)]
        taken = set(re.findall(r"\w+", "\n".join(texts).replace("_ptr", " ")))
        for known, new in self.draw.names.items():
            if known in taken and new not in taken:
                self.renames[known] = new
                taken.add(new)
        return Pair(self.family, self.program.name, *map(self._renamed, texts), self._compared(kernel, texts))

    def _compared(self, kernel, texts):
        parts = [texts[0].split("\ndef get_inputs(")[0], texts[1].split(f"\ndef {ENTRY}(")[0], kernel]
        return re.sub(rf"\b{self.program.name}(?=_kernel\b|\b)", "f", "\n".join(parts)).replace(" __restrict__", "")

    def _renamed(self, text):
        for known, new in self.renames.items():
            text = re.sub(rf"(?<![.\w]){known}(?=(_ptr)?\b)(?!\w*\()", new, text)
        return text

    # --- PyTorch

    def _reference(self):
        lines = list(self.program.reference)
        halves = [each.name for each in self.program.inputs if each.dtype == "float16"]
        if self.program.copies:
            lines = [line.replace(".half()", "") for line in lines]
        elif halves:
            lines = [f"{name} = {name}.float()" for name in halves] + lines
        body = textwrap.indent("\n".join(lines), "    ")
        imports = "import torch\nimport torch.nn.functional as F\n" if "F." in body else "import torch\n"
        parameters = ", ".join(each.name for each in self.program.inputs)
        makers = ", ".join(self._maker(each) for each in self.program.inputs)
        return f"{imports}\n\ndef {self.program.name}({parameters}):\n{body}\n\n\ndef get_inputs():\n    return [{makers}]\n"

    @staticmethod
    def _maker(tensor):
        if tensor.maker:
            return tensor.maker
        sizes = ", ".join(str(size) for size in tensor.sizes)
        return f"torch.randn({sizes})" if tensor.dtype == "float32" else f"torch.randn({sizes}, dtype=torch.{tensor.dtype})"

    # --- CUDA

    def _cuda_macro(self, name, parts):
        half = self.types.get(parts[0]) == "float16" and not self.program.copies
        if name == "LOAD":
            return f"__half2float({parts[0]}[{parts[1]}])" if half else f"{parts[0]}[{parts[1]}]"
        if name == "ATOMIC_ADD":
            return f"atomicAdd(&{parts[0]}[{parts[1]}], {parts[2]})"
        return f"{parts[0]}[{parts[1]}] = " + (f"__float2half({parts[2]})" if half else parts[2])

    def _parameters(self, sizes):
        restrict = " __restrict__" if self.draw.restrict else ""
        pointers = [f"const {C_TYPES[each.dtype]}*{restrict} {each.name}" for each in self.program.inputs]
        pointers += [f"{C_TYPES[each.dtype]}*{restrict} {each.name}" for each in self.program.outputs]
        return [*pointers, *(f"int {size}" for size in sizes)]

    def _used_sizes(self, side):
        """The sizes that a kernel reads."""
        return [size for size in self.program.sizes if re.search(rf"\b{size}\b", side.body)]

    def _constants(self):
        return {
            **({"THREADS": self.draw.threads} if "THREADS" in self.program.cuda.block else {}),
            **self.program.cuda.constants,
        }

    def _cuda_kernel(self):
        side = self.program.cuda
        text = expanded(f"{side.helpers}\0{side.body}", self._cuda_macro)
        helpers, body = text.split("\0")
        if self.program.copies and "float16" in self.types.values():
            body = re.sub(r"-?\b\d+\.\d+f\b", r"__float2half(\g<0>)", re.sub(r"\bfloat\b", "__half", body))
        headers = {"cuda_fp16.h": "float16" in self.types.values(), "math_constants.h": "CUDART_INF_F" in text}
        parts = ["\n".join(f"#include <{header}>" for header, used in headers.items() if used)] if any(headers.values()) else []
        if self._constants():
            form = "#define {} {}" if self.draw.defines else "constexpr int {} = {};"
            parts.append(
                "\n".join(
                    form.format(name, f"({value})" if self.draw.defines and " " in str(value) else value)
                    for name, value in self._constants().items()
                )
            )
        if helpers.strip():
            parts.append(textwrap.dedent(helpers).strip("\n"))
        head = folded(f"__global__ void {self.program.name}_kernel(", self._parameters(self._used_sizes(side)), ") {")
        comment = "\n".join(f"// {line}" for line in textwrap.wrap(side.comment, 92))
        parts.append((comment + "\n" if comment else "") + head + "\n" + textwrap.indent(body.strip("\n"), "  ") + "\n}")
        return "\n\n".join(parts)

    def _host_launcher(self):
        program = self.program
        name = self.draw.launcher.format(program.name)
        parameters = [each.replace(" __restrict__", "") for each in self._parameters(program.sizes)] + ["cudaStream_t stream"]
        lines = [folded(f"void {name}(", parameters, ") {")]
        for each in program.outputs:
            if each.fill:
                elements = re.sub(r"[(),]", " ", each.shape).split()
                lines.append(
                    f"  cudaMemsetAsync({each.name}, 0, {' * '.join([*elements, f'sizeof({C_TYPES[each.dtype]})'])}, stream);"
                )
        grid, block = ", ".join(cpp(each) for each in program.cuda.grid), ", ".join(program.cuda.block)
        if len(program.cuda.grid) > 1 or not self.draw.inline_grid or "cdiv" in program.cuda.grid[0]:
            lines.append(f"  const dim3 grid({grid});")
            grid = "grid"
        if len(program.cuda.block) > 1:
            lines.append(f"  const dim3 block({block});")
            block = "block"
        arguments = [each.name for each in [*program.inputs, *program.outputs]] + self._used_sizes(program.cuda)
        lines.append(
            "  " + folded(f"{program.name}_kernel<<<{grid}, {block}, 0, stream>>>(", arguments, ");").replace("\n", "\n  ")
        )
        return "\n".join([*lines, "}"])

    def _candidate(self, kernel):
        program = self.program
        lines = [
            "global kernel",
            "if kernel is None:",
            f'    kernel = torch.cuda._compile_kernel(SOURCE, "{program.name}_kernel", cuda_include_dirs=[HEADERS])',
        ]
        lines += program.sizes_from + [self._allocation(each) for each in program.outputs]
        grid = [floor(each) for each in program.cuda.grid] + ["1"] * (3 - len(program.cuda.grid))
        block = list(program.cuda.block) + ["1"] * (3 - len(program.cuda.block))
        arguments = [each.name for each in [*program.inputs, *program.outputs]] + self._used_sizes(program.cuda)
        lines.append(f"kernel(grid=({', '.join(grid)}), block=({', '.join(block)}), args=({', '.join(arguments)},))")
        lines.append("return " + ", ".join(each.name for each in program.outputs))
        constants = "".join(f"{name} = {str(value).replace('/', '//')}\n" for name, value in self._constants().items())
        parameters = ", ".join(each.name for each in program.inputs)
        return (
            f'import torch\nfrom torch.utils import cpp_extension\n\nSOURCE = r"""\n{kernel}\n"""\n'
            "# NVRTC finds the headers of CUDA in the packages that PyTorch needs.\n"
            "HEADERS = f\"{torch.__path__[0]}/../nvidia/cu{torch.version.cuda.split('.')[0]}/include\"\n"
            'cpp_extension.CUDA_HOME = cpp_extension.CUDA_HOME or "/usr/local/cuda"\n'
            f"{constants}kernel = None\n\n\ndef {ENTRY}({parameters}):\n" + textwrap.indent("\n".join(lines), "    ") + "\n"
        )

    # --- Triton

    def _triton_macro(self, name, parts):
        pointer = f"{parts[0]}_ptr + {parts[1]}" if parts[1] else f"{parts[0]}_ptr"
        half = self.types.get(parts[0]) == "float16" and not self.program.copies
        rest = "".join(f", {each}" for each in parts[2:] if each != "raw")
        if name == "LOAD":
            return f"tl.load({pointer}{rest})" + (".to(tl.float32)" if half and "raw" not in parts else "")
        return f"{'tl.store' if name == 'STORE' else 'tl.atomic_add'}({pointer}{rest})"

    def _allocation(self, output):
        if output.like and not output.fill:
            return f"{output.name} = torch.empty_like({output.like})"
        first = self.program.inputs[0]
        same = next((each.name for each in self.program.inputs if each.dtype == output.dtype), None)
        dtype = f"{same}.dtype" if same else f"torch.{output.dtype}"
        make = "zeros" if output.fill else "empty"
        return f"{output.name} = torch.{make}({output.shape}, device={first.name}.device, dtype={dtype})"

    def _triton(self):
        program, side = self.program, self.program.triton
        body = expanded(f"{side.helpers}\0{side.body}", self._triton_macro)
        helpers, body = body.split("\0")
        sizes = self._used_sizes(side)
        tensors = [each.name for each in [*program.inputs, *program.outputs]]
        constants = [f"{name}: tl.constexpr" for name in side.constants]
        head = folded(f"def {program.name}_kernel(", [*(f"{name}_ptr" for name in tensors), *sizes, *constants], "):", 4)
        comment = "\n".join(f"    # {line}" for line in textwrap.wrap(side.comment, 90))
        kernel = "@triton.jit\n" + head + "\n" + (comment + "\n" if comment else "") + textwrap.indent(body.strip("\n"), "    ")
        libdevice = "\nfrom triton.language.extra import libdevice" if "libdevice." in body else ""
        parts = [f"import torch\nimport triton\nimport triton.language as tl{libdevice}"]
        if helpers.strip():
            parts.append(textwrap.dedent(helpers).strip("\n"))
        parts += [kernel, self._triton_launcher(sizes, tensors)]
        return "\n\n\n".join(parts) + "\n"

    def _triton_launcher(self, sizes, tensors):
        program, side = self.program, self.program.triton
        lines = program.sizes_from + [self._allocation(each) for each in program.outputs]
        named = {name: str(value) for name, value in side.constants.items()}
        computed = [name for name, value in named.items() if not value.isdigit()]
        grid_text = ", ".join(each.replace("cdiv(", "triton.cdiv(") for each in side.grid) + (
            "," if len(side.grid) == 1 else ""
        )
        uses = [name for name in named if re.search(rf"\b{name}\b", grid_text)]
        if uses and not self.draw.inline_grid:
            for name in uses:
                grid_text = re.sub(rf"\b{name}\b", f'meta["{name}"]', grid_text)
            lines += [f"{name} = {named[name]}" for name in computed] + [f"grid = lambda meta: ({grid_text})"]
        else:
            lines += [f"{name} = {value}" for name, value in named.items() if name in computed or name in uses]
            computed = [*computed, *uses]
            lines.append(f"grid = ({grid_text})")
        arguments = [*tensors, *sizes, *(f"{name}={name if name in computed else value}" for name, value in named.items())]
        lines.append(folded(f"{program.name}_kernel[grid](", arguments, ")", 4, 96))
        lines.append("return " + ", ".join(each.name for each in program.outputs))
        parameters = ", ".join(each.name for each in program.inputs)
        return f"def {ENTRY}({parameters}):\n" + textwrap.indent("\n".join(lines), "    ")


def folded(head, items, end, indent=4, width=100):
    """A list in brackets, on several lines where it is long."""
    whole = head + ", ".join(items) + end
    if len(whole) <= width:
        return whole
    lines = [" " * indent]
    for at, item in enumerate(items):
        text = item + ("," if at + 1 < len(items) else end)
        if lines[-1].strip() and len(lines[-1]) + 1 + len(text) > width:
            lines.append(" " * indent)
        lines[-1] += (" " if lines[-1].strip() else "") + text
    return head + "\n" + "\n".join(lines)


CDIV = re.compile(r"cdiv\(([^(),]+|[^(),]*\([^()]*\)[^(),]*), (\w+)\)")


def cpp(expression):
    """The expression of a grid as C++."""
    return CDIV.sub(r"(\1 + \2 - 1) / \2", expression)


def floor(expression):
    """The expression of a grid as Python without Triton."""
    return CDIV.sub(r"((\1 + \2 - 1) // \2)", expression)


def written_pair(family, program, draw):
    """The texts of a program."""
    return ProgramWriter(family, program, draw).pair()
