"""The module that PyTorch's compiler wrote, as kernels, allocations, launches and results."""
import ast
from dataclasses import dataclass, field


class Unsupported(Exception):
    """The compiler wrote a construct that the rewriter does not know; the text names it."""


@dataclass
class Kernel:
    """One Triton function with the facts of its decorator."""

    name: str
    kind: str  # pointwise, reduction, persistent_reduction
    hint: str  # of a reduction: INNER, OUTER, DEFAULT
    signature: dict  # parameter: "*fp32", "i32", "constexpr"
    function: ast.FunctionDef
    helpers: list = field(default_factory=list)  # combine functions of scans


@dataclass
class Allocation:
    """`name = empty(sizes, strides, dtype)`; `dtype` as text: torch.float32."""

    name: str
    sizes: tuple
    strides: tuple
    dtype: str


@dataclass
class Launch:
    """A launch: the names of its tensors and the numbers after them, in the order of the parameters."""

    kernel: str
    tensors: list
    numbers: list


@dataclass
class View:
    """A result: a buffer, or a part of it under other sizes."""

    name: str
    sizes: tuple = None
    strides: tuple = None
    offset: int = 0


@dataclass
class Program:
    """All parts of the module that compute."""

    kernels: dict
    inputs: list
    steps: list
    results: list


def read_program(source):
    """The parts of the module; Unsupported where it calls a library or has another form."""
    module = ast.parse(source)
    kernels = {}
    for node in module.body:
        if isinstance(node, ast.Assign) and is_call(node.value, "triton") and name_of(node.value.func.value) == "async_compile":
            kernel = read_kernel(node.value)
            kernels[kernel.name] = kernel
    call = next((node for each in module.body if isinstance(each, ast.ClassDef) for node in each.body
                 if isinstance(node, ast.FunctionDef) and node.name == "call"), None)
    if call is None:
        raise Unsupported("no function that launches")
    return CallReader(kernels).read(call)


def read_kernel(call):
    """The kernel in a call of async_compile.triton."""
    name, text = (ast.literal_eval(each) for each in call.args[:2])
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    function = next(each for each in functions if each.name == name)
    decorator = next((each for each in function.decorator_list if isinstance(each, ast.Call)), None)
    kind = decorator.func.attr if decorator is not None else "a kernel without heuristics"
    if kind not in ("pointwise", "reduction", "persistent_reduction"):
        raise Unsupported(kind)
    facts = {each.arg: each.value for each in decorator.keywords}
    signature = next(value for key, value in zip(facts["triton_meta"].keys, facts["triton_meta"].values)
                     if key.value == "signature")
    hint = ast.unparse(facts["reduction_hint"]) if "reduction_hint" in facts else ""
    return Kernel(name, kind, hint.rpartition(".")[2], ast.literal_eval(signature), function,
                  [each for each in functions if each is not function])


class CallReader:
    """Reads the statements of the function that launches; buffers that share memory get one name."""

    def __init__(self, kernels):
        self._kernels, self._views = kernels, {}
        self._program = Program(kernels, [], [], [])

    def read(self, function):
        """The whole program."""
        for node in function.body:
            self._statement(node)
        return self._program

    def _statement(self, node):
        if isinstance(node, ast.With):
            for each in node.body:
                self._statement(each)
        elif isinstance(node, ast.Assign):
            self._assign(node.targets[0], node.value)
        elif isinstance(node, ast.Return):
            self._program.results = [self._view(each) for each in node.value.elts]
        elif isinstance(node, ast.Expr) and is_call(node.value, "run"):
            self._launch(node.value)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            text = ast.unparse(node.value.func)
            if text not in ("args.clear", "assert_size_stride", "assert_alignment", "torch.cuda.set_device"):
                raise Unsupported(f"a call of {text}")
        elif not isinstance(node, ast.Delete):
            raise Unsupported(f"a statement: {type(node).__name__}")

    def _assign(self, target, value):
        if name_of(value) == "args":
            self._program.inputs = [each.id for each in target.elts]
        elif is_call(value, "empty_strided_cuda"):
            sizes, strides, dtype = value.args
            self._program.steps.append(Allocation(target.id, ast.literal_eval(sizes), ast.literal_eval(strides),
                                                  ast.unparse(dtype)))
        elif isinstance(value, ast.Name):
            self._views[target.id] = self._view(value)
        elif is_call(value, "reinterpret_tensor"):
            view = self._view(value)
            if view.offset:
                raise Unsupported("a buffer within a buffer")
            self._views[target.id] = view
        elif not is_call(value, "get_raw_stream"):
            raise Unsupported(f"a value: {ast.unparse(value).split('(')[0]}")

    def _view(self, node):
        if isinstance(node, ast.Name):
            return self._views.get(node.id, View(node.id))
        if is_call(node, "reinterpret_tensor") and isinstance(node.args[0], ast.Name):
            sizes, strides, offset = (ast.literal_eval(each) for each in node.args[1:4])
            inner = self._view(node.args[0])
            return View(inner.name, sizes, strides, inner.offset + offset)
        raise Unsupported(f"a result: {ast.unparse(node).split('(')[0]}")

    def _launch(self, call):
        kernel = self._kernels.get(name_of(call.func.value))
        if kernel is None:
            raise Unsupported(f"a launch of {ast.unparse(call.func.value)}")
        tensors, numbers = [], []
        for node in call.args:
            if isinstance(node, ast.Constant):
                numbers.append(node.value)
                continue
            view = self._view(node)
            if view.offset:
                raise Unsupported("a launch on a part of a buffer")
            tensors.append(view.name)
        self._program.steps.append(Launch(kernel.name, tensors, numbers))


def name_of(node):
    """The name, or None for any other node."""
    return node.id if isinstance(node, ast.Name) else None


def is_call(node, name):
    """Whether it is a call of a function or method of this name."""
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    return (function.attr if isinstance(function, ast.Attribute) else name_of(function)) == name
