"""What a kernel can do in the interpreter: what a device's compiler makes code for, and nothing else."""
import pytest

KERNEL = """
import enum, dataclasses, os, sys
import numpy as np
import triton.runtime.interpreter as interpreter

{before}

@triton.jit
def kernel(x, out, {parameters}BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
{body}
    tl.store(out + at, value)

def go():
    x, out = torch.arange(8.0) + 1, torch.zeros(8)
    kernel[(1,)](x, out, {arguments}BLOCK=8)
    return out.tolist()
"""


def source(body="", before="", parameters="", arguments=""):
    """A file whose kernel copies 1 to 8, with a body between the load and the store."""
    body = "\n".join(f"    {line}" for line in body.splitlines())
    return KERNEL.format(body=body, before=before, parameters=parameters, arguments=arguments)


def doubled(facts):
    assert facts["ok"], facts
    return facts["value"] == [2.0 * (at + 1) for at in range(8)]


def test_a_function_of_constants_is_called(interpret):
    assert doubled(interpret(source("value = value * factor(BLOCK)", "def factor(block): return block // 4")))


def test_a_function_of_constants_is_called_once(interpret):
    facts = interpret(source("for _ in tl.static_range(2):\n    value = value + factor(BLOCK)",
                             "calls = []\ndef factor(block):\n    calls.append(1)\n    return len(calls)"))
    assert facts["value"] == [at + 3.0 for at in range(8)]


def test_a_function_knows_the_type_of_a_tensor(interpret):
    assert doubled(interpret(source("if is_float(value):\n    value = value * 2",
                                    "def is_float(value): return value.dtype.is_floating()")))


def test_a_function_does_not_know_the_data_of_a_tensor(interpret):
    facts = interpret(source("value = value * first(value)",
                             "def first(value): return float(value.handle.data.ravel()[0])"))
    assert facts["ok"] and facts["value"] != [at + 1.0 for at in range(8)]


def test_data_from_a_function_is_refused(interpret):
    facts = interpret(source("value = twice(value)", "def twice(value): return tl.tensor(value.handle, value.type)"))
    assert facts["error_class"] == "compile_error" and "`twice`" in facts["error"]


@pytest.mark.parametrize("body", [
    "value.handle.data += value.handle.data", "held = getattr(getattr(value, 'handle'), 'data')\nheld += held",
    "value = np.add(value.handle.data, 1)", "value = value + TABLE", "value = value + HELD.table",
    "import torch", "value = (lambda: value)()", "try:\n    value += 1\nexcept:\n    pass"])
def test_what_has_no_device_code_is_refused(interpret, body):
    before = "TABLE = torch.ones(8)\nclass Held: table = np.ones(8)\nHELD = Held()"
    facts = interpret(source(body, before))
    assert facts["error_class"] == "compile_error", facts
    assert facts["raised"][0] == "NoDeviceCode"


def test_an_object_with_operators_is_refused(interpret):
    before = "class Twice:\n    def __rmul__(self, other): return other + other\n"
    facts = interpret(source("value = value * factor", before, "factor: tl.constexpr, ", "Twice(), "))
    assert facts["error_class"] == "compile_error" and "Twice" in facts["error"]


def test_constants_of_python_classes_are_fine(interpret):
    before = """
class Act(enum.Enum):
    NONE = 0
    TWICE = 1

@dataclasses.dataclass(frozen=True)
class Config:
    act: Act
    factor: int = 2

    @property
    def half(self):
        return self.factor / 2

    def scaled(self, by):
        return self.half * by
"""
    body = "if CONFIG.act == ACT:\n    value = value * CONFIG.half * CONFIG.scaled(2)"
    assert doubled(interpret(source(body, before, "CONFIG: tl.constexpr, ACT: tl.constexpr, ",
                                    "Config(Act.TWICE), Act.TWICE, ")))


def test_the_combine_function_of_a_reduction_is_checked(interpret):
    for expression in ("value + tl.reduce(value, 0, combine)", "tl.associative_scan(value, 0, combine)"):
        facts = interpret(source(f"value = {expression}", """
@triton.jit
def combine(a, b):
    return tl.tensor(interpreter.TensorHandle(np.maximum(a.handle.data, b.handle.data), a.dtype), a.type)
"""))
        assert facts["error_class"] == "compile_error", facts


def test_names_of_the_interpreter_cannot_be_taken(interpret):
    before = """
class Evil:
    def to_tensor(self, value, check): raise ValueError("taken")
interpreter_semantic = Evil()
"""
    after = """
old = go
def go():
    interpreter.InterpretedFunction.rewritten_fn[kernel.fn] = lambda *args, **more: None
    kernel.rewrite = lambda: None
    return old()
"""
    assert doubled(interpret(source("value = value * 2", before) + after))


def test_the_error_names_the_line(interpret):
    written = source("value = value * 2\nvalue = value.handle")
    facts = interpret(written)
    assert "value.handle" in written.lstrip("\n").splitlines()[facts["line"] - 2]


@pytest.mark.parametrize("change", [
    "interpreter.InterpreterBuilder.create_masked_store = lambda *args: None",
    "interpreter.interpreter_builder.__class__.binary_op = lambda *args: None",
    "interpreter.TensorHandle.clone = lambda self: self",
    "np.add = lambda a, b: a",
    "tl.load = lambda *args, **more: None",
    "tl.core.tensor.__add__ = lambda self, other: self",
    "interpreter.InterpreterBuilder.create_fma.__code__ = (lambda *args, **more: None).__code__",
    "sys.modules['kernelwright._engine.cpu.bounds'].check = lambda *args: None",
    "sys.modules['kernelwright._engine.cpu.poison'].fill = lambda tensor: tensor"])
def test_a_replaced_part_of_the_interpreter_is_noticed(interpret, change):
    facts = interpret(source() + f"\nold = go\ndef go():\n    {change}\n    return old()\n")
    assert facts["error_class"] == "forbidden", facts
    assert "replaced" in facts["error"]


def test_it_is_noticed_although_the_candidate_catches_the_error(interpret):
    facts = interpret(source() + """
old = go
def go():
    store, interpreter.InterpreterBuilder.create_masked_store = interpreter.InterpreterBuilder.create_masked_store, None
    try:
        return old()
    except Exception:
        interpreter.InterpreterBuilder.create_masked_store = store
    return old()
""")
    assert facts["ok"] and facts["raised"] == ["Replaced"]


def test_it_is_noticed_although_the_grid_replaces_it(interpret):
    facts = interpret(source().replace("kernel[(1,)]", "kernel[replacing]") + """
def replacing(meta):
    interpreter.InterpreterBuilder.create_masked_store = lambda *args: None
    return (1,)
""")
    assert facts["error_class"] == "forbidden"


@pytest.mark.parametrize("change", [
    "tl.relu = kernel", "np.float_ = np.float64", "tl.math.fma = tl.math.exp", "tl.sigmoid = kernel",
    "torch.relu = lambda x: x", "torch.erf = lambda x: x"])
def test_other_changes_are_nobodys_concern(interpret, change):
    facts = interpret(source("value = value * 2") + f"\nold = go\ndef go():\n    {change}\n    return old()\n")
    assert doubled(facts)


def test_a_print_runs_no_code_of_the_candidate(interpret):
    before = """
class Output:
    def write(self, text): raise ValueError("written")
    def flush(self): pass
"""
    after = "\nold = go\ndef go():\n    sys.stdout = Output()\n    return old()\n"
    body = "value = value * 2\ntl.device_print('value', value)\nprint('value', value)\ntl.static_print('block', BLOCK)"
    assert doubled(interpret(source(body, before) + after))
