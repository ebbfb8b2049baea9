"""The file of a rewritten program: plain kernels, and the function that allocates the results and launches them."""
import ast
import itertools
import math
import re

from .captured import Allocation, Launch, Unsupported, View
from .kernel_text import Tensor, plain_kernel, wrapped
from .sizes import Sizes

ENTRY = "triton_kernel_wrapper"


def plain_file(program, inputs, forms, name, tile):
    """One module. `inputs` are the parameters of the reference, `forms` their (sizes, dtype), `name` names the kernels."""
    return FileWriter(program, inputs, forms, name, tile).write()


def contiguous(sizes):
    """The strides of a contiguous tensor."""
    return tuple(math.prod(sizes[at + 1:]) for at in range(len(sizes)))


class FileWriter:
    """Writes one program."""

    def __init__(self, program, inputs, forms, name, tile):
        self.program, self.name, self.tile = program, name, tile
        self.inputs = {}  # the compiler's name: ours
        self.dtypes = {}
        self.tensors = {}
        for theirs, ours, (sizes, dtype) in zip(program.inputs, inputs, forms, strict=True):
            self.inputs[theirs] = ours
            self.tensors[theirs] = Tensor(ours, tuple(sizes), contiguous(sizes))
            self.dtypes[theirs] = f"torch.{dtype}"
        self.parameters = list(inputs)
        self.written = []  # kernels
        self.known = {}  # a compiler's kernel with the names of its tensors: ours
        self.lines = []
        self.assigned = {}  # a size or a block: its text
        self.allocated = []  # names of buffers

    def write(self):
        """The text of the module."""
        self._name_buffers()
        for step in self.program.steps:
            if isinstance(step, Allocation):
                self._allocate(step)
            else:
                self._launch(step)
        results = [self._result(view) for view in self.program.results]
        self.lines.append("return " + ", ".join(results))
        imports = ["import torch", "import triton", "import triton.language as tl"]
        if any(kernel.needs_libdevice for kernel in self.written):
            imports.append("from triton.language.extra import libdevice")
        head = f"def {ENTRY}({', '.join(self.parameters)}):"
        launcher = "\n".join([head, *("    " + line for text in self.lines for line in text.split("\n"))])
        return "\n\n\n".join(["\n".join(imports), *(kernel.source for kernel in self.written), launcher]) + "\n"

    def _name_buffers(self):
        results = [view.name for view in self.program.results]
        if any(name in self.inputs for name in results) or len(set(results)) != len(results):
            raise Unsupported("a result that is an input or another result")
        made = [step for step in self.program.steps if isinstance(step, Allocation)]
        partial = 0
        for step in made:
            if step.name in results:
                name = "out" if len(results) == 1 else f"out{results.index(step.name) + 1}"
            else:
                partial += 1
                name = f"partial{partial}"
            self.tensors[step.name] = Tensor(name, step.sizes, step.strides)
            self.dtypes[step.name] = step.dtype
        missing = set(results) - {step.name for step in made}
        if missing:
            raise Unsupported("a result that no step allocates")

    def _allocate(self, step):
        self.lines.append(f"{self.tensors[step.name].name} = {self._empty(step)}")
        self.allocated.append(step.name)

    def _empty(self, step):
        tensor = self.tensors[step.name]
        if tensor.strides != contiguous(tensor.sizes):
            significant = [(size, stride) for size, stride in zip(tensor.sizes, tensor.strides) if size != 1]
            if significant != [(size, stride) for size, stride in zip(tensor.sizes, contiguous(tensor.sizes)) if size != 1]:
                return (f"torch.empty_strided({self._sizes(tensor.sizes)}, {self._sizes(tensor.strides)}, "
                        f"device={self.parameters[0]}.device, dtype={step.dtype})")
            tensor.strides = contiguous(tensor.sizes)
        for theirs, ours in self.inputs.items():
            if self.tensors[theirs].sizes == tensor.sizes and self.dtypes[theirs] == step.dtype:
                return f"torch.empty_like({ours})"
        dtype = next((f"{ours}.dtype" for theirs, ours in self.inputs.items() if self.dtypes[theirs] == step.dtype), step.dtype)
        return f"torch.empty({self._sizes(tensor.sizes)}, device={self.parameters[0]}.device, dtype={dtype})"

    def _sizes(self, sizes):
        """Sizes as those of inputs where an input has them."""
        texts = [self._number(size) for size in sizes]
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"

    def _number(self, number):
        """A number as a size of an input or a buffer, or a product of neighbouring sizes, where there is one."""
        if number == 1:
            return "1"
        known = [self.tensors[each] for each in [*self.inputs, *self.allocated]]
        for tensor in known:
            if number in tensor.sizes:
                return f"{tensor.name}.shape[{tensor.sizes.index(number)}]"
        for tensor in known:
            if math.prod(tensor.sizes) == number:
                return f"{tensor.name}.numel()"
        for tensor in known:
            for first, last in itertools.combinations(range(len(tensor.sizes) + 1), 2):
                if math.prod(tensor.sizes[first:last]) == number:
                    return " * ".join(f"{tensor.name}.shape[{at}]" for at in range(first, last))
        sizes = Sizes((size, ast.parse(f"{tensor.name}.shape[{at}]", mode="eval").body)
                      for tensor in known for at, size in enumerate(tensor.sizes))
        node = sizes.whole(number)
        return ast.unparse(node) if node is not None else str(number)

    def _launch(self, step):
        kernel = self.program.kernels[step.kernel]
        pointers = [name for name, kind in kernel.signature.items() if kind.startswith("*")]
        axes = [name.removesuffix("numel") for name, kind in kernel.signature.items() if name.endswith("numel")]
        if len(pointers) != len(step.tensors) or len(axes) != len(step.numbers):
            raise Unsupported("a launch with other arguments")
        numels = dict(zip(axes, step.numbers))
        tensors = {pointer: self.tensors[name] for pointer, name in zip(pointers, step.tensors)}
        if len({tensor.name for tensor in tensors.values()}) != len(tensors):
            raise Unsupported("a launch that has one tensor twice")
        suffix = f"_{len(self.written) + 1}" if sum(isinstance(each, Launch) for each in self.program.steps) > 1 else ""
        others = [self.tensors[each] for each in [*self.inputs, *self.allocated]]
        text = plain_kernel(kernel, f"{self.name}{suffix}_kernel", tensors, numels, self.tile, others)
        self.written.append(text)
        self._call(text, tensors)

    def _call(self, text, tensors):
        layout = text.layout
        values = {}
        for axis, made in layout.axes.items():
            texts = [*layout.grid, *layout.blocks.values()]
            if made.size in text_sizes(text) or any("{" + made.size + "}" in each for each in texts):
                values[made.size] = self._number(made.numel)
        ones = {size for size, value in values.items() if value == "1" and size not in text_sizes(text)}
        self._assign({size: value for size, value in values.items() if size not in ones})
        blocks = {block: value.format(**{size: size for size in values}) for block, value in layout.blocks.items()}
        self._assign({block: value for block, value in blocks.items() if "(" in value})
        constants = {block: value for block, value in blocks.items() if "(" not in value}
        names = {**{block: block for block in blocks}, **constants, **{size: "1" if size in ones else size for size in values}}
        grid = ", ".join(each.format(**names) for each in layout.grid)
        grid = f"({grid},)" if len(layout.grid) == 1 else f"({grid})"
        arguments = [tensors[each].name for each in text.tensors] + [layout.axes[axis].size for axis in text.sizes]
        arguments += list(text.strides.values())
        arguments += [f"{block}={constants.get(block, block)}" for block in blocks]
        self.lines.append(wrapped(f"{text.name}[{grid}]({', '.join(arguments)})"))

    def _assign(self, values):
        """Lines for the sizes that an earlier launch has not assigned yet."""
        texts = list(values.values())
        shape = re.fullmatch(r"(\w+)\.shape\[0\]", texts[0]) if len(texts) == 2 else None
        is_new = not values.items() & self.assigned.items()
        if shape and is_new and texts[1] == f"{shape[1]}.shape[1]" and self._rank(shape[1]) == 2:
            self.lines.append(f"{', '.join(values)} = {shape[1]}.shape")
            values = self._noted(values)
        for name, value in values.items():
            if self.assigned.get(name) != value:
                self._noted({name: value})
                self.lines.append(f"{name} = {value}")

    def _noted(self, values):
        """Values that used an older meaning of a name have to be computed again."""
        for name in values:
            self.assigned = {key: text for key, text in self.assigned.items() if not re.search(rf"\b{name}\b", text)}
        self.assigned.update(values)
        return {}

    def _rank(self, ours):
        return next(len(tensor.sizes) for tensor in self.tensors.values() if tensor.name == ours)

    def _result(self, view: View):
        tensor = self.tensors[view.name]
        if view.sizes is None or (view.sizes == tensor.sizes and view.strides == tensor.strides):
            return tensor.name
        if view.offset == 0 and view.strides == contiguous(view.sizes) and tensor.strides == contiguous(tensor.sizes):
            same = next((ours for theirs, ours in self.inputs.items() if self.tensors[theirs].sizes == view.sizes), None)
            sizes = self._sizes(view.sizes).replace(",)", ")")
            return f"{tensor.name}.view_as({same})" if same else f"{tensor.name}.view{sizes}"
        return (f"{tensor.name}.as_strided({self._sizes(view.sizes)}, {self._sizes(view.strides)}, "
                f"{self._number(view.offset)})")


def text_sizes(text):
    """The parameters with sizes."""
    return {text.layout.axes[axis].size for axis in text.sizes}
