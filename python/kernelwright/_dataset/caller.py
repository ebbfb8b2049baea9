"""Reads facts about a launch's arguments from the launcher's source, without running it."""
import ast
from dataclasses import dataclass

TENSOR_SAME = frozenset((
    "contiguous", "view", "reshape", "clone", "detach", "t", "transpose", "permute", "flatten", "squeeze", "unsqueeze",
    "expand", "cuda", "cpu", "movedim", "view_as", "reshape_as", "narrow", "requires_grad_", "data", "T", "mT"))
TENSOR_NEW = frozenset(("empty", "zeros", "ones", "full", "rand", "randn", "randint", "tensor", "arange", "empty_strided",
                        "new_empty", "new_zeros", "new_ones", "new_full", "new_tensor", "full_like", "as_tensor"))
TENSOR_LIKE = frozenset(("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like"))
INTEGERS = frozenset(("stride", "size", "numel", "element_size", "dim", "len", "cdiv", "int", "next_power_of_2",
                      "prev_power_of_2", "data_ptr", "floor", "ceil", "num_warps", "bit_length"))
CASTS = {"half": "fp16", "float": "fp32", "bfloat16": "bf16", "double": "fp64", "int": "i32", "long": "i64", "bool": "i1"}
DTYPES = {"float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float32": "fp32", "float": "fp32", "float64": "fp64",
          "double": "fp64", "int8": "i8", "int16": "i16", "int32": "i32", "int": "i32", "int64": "i64", "long": "i64",
          "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "i1", "int1": "i1",
          "float8_e4m3fn": "fp8e4nv", "float8e4nv": "fp8e4nv", "float8_e5m2": "fp8e5", "float8e5": "fp8e5"}
DEEPEST = 8
UNKNOWN_VALUE = object()


@dataclass(frozen=True)
class Fact:
    """kind: int, float, bool, none, str, dtype, tensor or unknown. A tensor's dtype is a word such as fp32."""

    kind: str = "unknown"
    value: object = UNKNOWN_VALUE
    dtype: str | None = None
    certain: bool = False
    others: tuple = ()  # other possible values
    optional: bool = False  # it may be None

    @property
    def known(self):
        """Whether the value is known."""
        return self.value is not UNKNOWN_VALUE


UNKNOWN = Fact()


def of_value(value, certain):
    """The fact of a Python value."""
    kinds = {bool: "bool", int: "int", float: "float", str: "str", type(None): "none"}
    kind = kinds.get(type(value))
    return Fact(kind, value, certain=certain) if kind else UNKNOWN


def parsed(text, limit=400_000):
    """The syntax tree of a piece of source, or None."""
    from .kernel_module import dedented
    if len(text) > limit:
        return None
    try:
        return ast.parse(dedented(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def word(node):
    """The last name of a call or attribute: "empty" of torch.empty(...)."""
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class Caller:
    """One function that launches; `constants` are the module's own values by name."""

    def __init__(self, text, constants):
        self._constants = constants
        self._assigned, self._parameters, self._presets = {}, {}, {}
        tree = parsed(text) if text else None
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._take_parameters(node.args)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    self._assign(target, node.value)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self._assign(node.target, node.value)
            elif isinstance(node, (ast.AugAssign, ast.For, ast.comprehension)):
                self._assign(node.target, None)
            elif isinstance(node, ast.NamedExpr):
                self._assign(node.target, node.value)

    def _take_parameters(self, args):
        plain = args.posonlyargs + args.args
        for each in plain + args.kwonlyargs:
            self._parameters[each.arg] = ast.unparse(each.annotation) if each.annotation else ""
        for each, preset in [*zip(plain[len(plain) - len(args.defaults):], args.defaults),
                             *zip(args.kwonlyargs, args.kw_defaults)]:
            if preset is not None:
                self._presets[each.arg] = preset

    def _assign(self, target, value):
        if isinstance(target, ast.Name):
            self._assigned.setdefault(target.id, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            for at, each in enumerate(target.elts):
                if isinstance(each, ast.Starred):
                    continue
                self._assign(each, parts[at] if len(parts) == len(target.elts) else _element(value))

    def fact(self, text):
        """The fact of an argument, from its source text."""
        try:
            node = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return UNKNOWN
        return self.of(node)

    def of(self, node, depth=0, seen=()):
        """The fact of an expression of the caller."""
        if node is None or depth > DEEPEST:
            return UNKNOWN
        if isinstance(node, ast.Constant):
            return of_value(node.value, True)
        if isinstance(node, ast.Name):
            return self._of_name(node.id, depth, seen)
        if isinstance(node, ast.UnaryOp):
            return self._of_unary(node, depth, seen)
        if isinstance(node, (ast.Compare, ast.BoolOp)):
            return self._of_condition(node, depth, seen)
        if isinstance(node, ast.IfExp):
            return _either(self.of(node.body, depth + 1, seen), self.of(node.orelse, depth + 1, seen))
        if isinstance(node, ast.BinOp):
            return self._of_operation(node, depth, seen)
        if isinstance(node, ast.Attribute):
            return self._of_attribute(node, depth, seen)
        if isinstance(node, ast.Subscript):
            if word(node.value) in ("shape", "strides") or (isinstance(node.value, ast.Call)
                                                            and word(node.value) in ("size", "stride")):
                return Fact("int", certain=True)
            base = self.of(node.value, depth + 1, seen)
            return base if base.kind == "tensor" else UNKNOWN
        return self._of_call(node, depth, seen) if isinstance(node, ast.Call) else UNKNOWN

    def _of_name(self, name, depth, seen):
        if name in seen:
            return UNKNOWN
        if name in self._assigned:
            facts = [self.of(each, depth + 1, (*seen, name)) for each in self._assigned[name]]
            known = [each for each in facts if each.kind != "unknown"]
            if name in self._parameters:
                known.append(self._of_parameter(name, depth, seen))
            if len(facts) == 1 and name not in self._parameters:
                return facts[0]
            return _merged(known)
        if name in self._parameters:
            return self._of_parameter(name, depth, seen)
        value = self._constants.get(name, UNKNOWN_VALUE)
        return of_value(value, True) if value is not UNKNOWN_VALUE else UNKNOWN

    def _of_parameter(self, name, depth, seen):
        annotation = self._parameters[name]
        preset = self._presets.get(name)
        known = self.of(preset, depth + 1, seen) if preset is not None else UNKNOWN
        optional = known.kind == "none" or "None" in annotation or "Optional" in annotation
        if "Tensor" in annotation:
            return Fact("tensor", optional=optional)
        for each in ("bool", "int", "float", "str"):
            if each in annotation.replace("Optional", ""):
                return Fact(each, known.value if known.kind == each else UNKNOWN_VALUE, optional=optional)
        if known.kind not in ("unknown", "none"):
            return Fact(known.kind, known.value)
        return Fact(optional=optional)

    def _of_unary(self, node, depth, seen):
        base = self.of(node.operand, depth + 1, seen)
        if isinstance(node.op, ast.Not):
            return Fact("bool", not base.value, certain=base.certain) if base.known else Fact("bool")
        if isinstance(node.op, ast.USub) and base.known and base.kind in ("int", "float"):
            return Fact(base.kind, -base.value, certain=base.certain)
        return base

    def _of_condition(self, node, depth, seen):
        values = node.values if isinstance(node, ast.BoolOp) else []
        facts = [self.of(each, depth + 1, seen) for each in values]
        if facts and not all(each.kind == "bool" for each in facts):
            return _merged(facts)
        return Fact("bool")

    def _of_operation(self, node, depth, seen):
        left, right = (self.of(each, depth + 1, seen) for each in (node.left, node.right))
        kinds = {left.kind, right.kind}
        if "tensor" in kinds:
            return Fact("tensor")
        if isinstance(node.op, ast.Div) or "float" in kinds:
            return Fact("float", certain=isinstance(node.op, ast.Div) or left.certain and right.certain)
        if kinds == {"int"}:
            return Fact("int", certain=left.certain and right.certain)
        return Fact("int") if "int" in kinds else UNKNOWN

    def _of_attribute(self, node, depth, seen):
        if node.attr in DTYPES and word(node.value) in ("torch", "tl", "language", "triton"):
            return Fact("dtype", DTYPES[node.attr], certain=True)
        if node.attr in ("ndim", "nbytes", "itemsize"):
            return Fact("int", certain=True)
        if node.attr in ("is_cuda", "requires_grad", "training"):
            return Fact("bool")
        if node.attr == "dtype":
            base = self.of(node.value, depth + 1, seen)
            return Fact("dtype", base.dtype or UNKNOWN_VALUE, certain=base.certain and base.dtype is not None)
        if node.attr in TENSOR_SAME:
            return self.of(node.value, depth + 1, seen)
        return UNKNOWN

    def _of_call(self, node, depth, seen):
        name, base = word(node), getattr(node.func, "value", None)
        keywords = {each.arg: each.value for each in node.keywords}
        if name in CASTS and base is not None and not node.args:
            return Fact("tensor", dtype=CASTS[name], certain=True)
        if name in ("min", "max"):
            return self._of_extreme(node, depth, seen)
        if name in INTEGERS:
            return Fact("int", certain=name not in ("floor", "ceil"), others=("power",) if "power" in name else ())
        if name in TENSOR_LIKE or name in TENSOR_NEW:
            asked = self.of(keywords["dtype"], depth + 1, seen) if "dtype" in keywords else UNKNOWN
            like = self.of(node.args[0], depth + 1, seen) if name in TENSOR_LIKE and node.args else UNKNOWN
            dtype = asked.value if asked.known else None if "dtype" in keywords else like.dtype
            return Fact("tensor", dtype=dtype if isinstance(dtype, str) else None,
                        certain=asked.certain or ("dtype" not in keywords and like.certain))
        if name in ("to", "type") and (node.args or keywords):
            for each in [*node.args, *keywords.values()]:
                asked = self.of(each, depth + 1, seen)
                if asked.kind == "dtype":
                    return Fact("tensor", dtype=asked.value if asked.known else None, certain=asked.certain)
            return self.of(base, depth + 1, seen)
        if name in ("float", "sqrt", "log2", "log", "exp", "pow") and isinstance(node.func, (ast.Name, ast.Attribute)) \
                and word(base) in ("", "math"):
            return Fact("float", certain=True)
        if name == "bool" and isinstance(node.func, ast.Name):
            return Fact("bool")
        if name in TENSOR_SAME and base is not None:
            return self.of(base, depth + 1, seen)
        return UNKNOWN

    def _of_extreme(self, node, depth, seen):
        facts = [self.of(each, depth + 1, seen) for each in node.args]
        if all(each.certain and each.known and each.kind in ("int", "float") for each in facts) and facts:
            chosen = (min if word(node) == "min" else max)(each.value for each in facts)
            return of_value(chosen, True)
        if any(each.kind == "float" for each in facts):
            return Fact("float")
        return Fact("int", others=tuple(each.value for each in facts if each.known))


def _element(value):
    # `M, N = x.shape` or `a, b = x.stride()`: each name is an int.
    if value is not None and (word(value) in ("shape", "stride", "size")):
        return ast.Subscript(value=ast.Attribute(value=ast.Name("it"), attr="shape"), slice=ast.Constant(0))
    return None


def _either(first, second):
    return _merged([first, second])


def _merged(facts):
    """The common facts of several assignments; never certain of a value."""
    facts = [each for each in facts if each.kind != "unknown"]
    solid = [each for each in facts if each.kind != "none"]
    if not solid:
        # None until an unknown value is assigned.
        return Fact(optional=bool(facts)) if facts else UNKNOWN
    first = solid[0]
    others = tuple(dict.fromkeys(each.value for each in solid if each.known and each.kind == first.kind))
    same = {each.dtype for each in solid}
    return Fact(first.kind, first.value, first.dtype if len(same) == 1 else None, False, others + first.others,
                len(solid) < len(facts) or any(each.optional for each in solid))
