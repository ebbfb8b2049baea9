"""Compiles a jitted function that returns a value inside a kernel that calls it, with guessed operands."""
import itertools
import os

from .attempt_search import Search, compiled
from .signature import FLOATS, INDICES, INTEGERS, Choice, _constant

SHAPES = ("", "[64]", "[64, 64]", "[16, 16]")
MOST = 24
HEAD = "import triton\nimport triton.language as tl\n"


def judge(function, usage, module, targets, deadline):
    """compilable or signature_unknown: no source states its arguments."""
    search = Search(targets, deadline)
    for number, (shape, level, size) in enumerate(_levels(function)):
        operands = {param.name: _operand(param, usage, shape, level, size) for param in function.params}
        wrapper = _wrapper(function, operands, module, number)
        attempt = _Attempt({name: choice for name, (choice, _) in operands.items()})
        text = f"operands {shape or 'scalar'}, " + ", ".join(
            f"{name}{'=' if each.is_value else ': '}{each.what}?" for name, each in attempt.choices.items())
        if search.take(lambda target, wrapper=wrapper, attempt=attempt: compiled(wrapper, attempt, target), text):
            return search.found()
    return search.none("signature_unknown")


class _Attempt:
    """As attempts.Attempt, with every choice guessed."""

    guessed = True

    def __init__(self, choices):
        self.choices, self.options = choices, {}


def _levels(function):
    constants = any(param.is_constexpr for param in function.params)
    every = itertools.product(range(3), SHAPES, range(3 if constants else 1))
    return list(itertools.islice(((shape, level, size) for level, shape, size in every), MOST))


def _operand(param, usage, shape, level, size):
    """(the wrapper's parameters, the arguments that it passes on)."""
    name = param.name
    if param.is_constexpr:
        choices = _constant(param, None, usage).choices
        return choices[min(size, len(choices) - 1)], name
    if name in usage.pointers:
        whole = name in usage.index_pointers or INDICES.search(name)
        kinds = ("*i64", "*i32", "*fp32") if whole else ("*fp32", "*fp16", "*i32")
        offset = {"": "", "[64]": " + tl.arange(0, 64)"}.get(shape, f" + tl.zeros({shape or '[1]'}, tl.int32)")
        return Choice(kinds[level]), name + offset
    whole = name in usage.indices or (INTEGERS.search(name) and not FLOATS.search(name) and len(name) > 1)
    kinds = ("i32", "fp32", "i64") if whole else ("fp32", "i32", "fp16")
    kind = param.annotation_type or kinds[level]
    if usage.subscripted:
        # The other operands take part in the same arithmetic, after a subscript has given this one a second axis.
        shape = "[64]" if name in usage.subscripted else ""
    elif whole:
        shape = ""
    return Choice(kind), f"tl.zeros({shape}, {name}.dtype) + {name}" if shape else name


def _wrapper(function, operands, module, number):
    types = {name: ": tl.constexpr" if choice.is_value else "" for name, (choice, _) in operands.items()}
    parameters = ", ".join(f"{name}{types[name]}" for name in operands)
    given = ", ".join(f"{name}={text}" for name, (_, text) in operands.items())
    text = f"{HEAD}\n\n@triton.jit\ndef call_it({parameters}):\n    the_function({given})\n"
    path = os.path.join(os.path.dirname(module.path), f"call_{number}.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    namespace = {"the_function": function, "__name__": "kernel_module"}
    exec(compile(text, path, "exec"), namespace)
    return namespace["call_it"]
