"""The interpreter's short cuts give what Triton's own rules give, for every pair of operand types."""

CASES = '''
import itertools
import numpy as np
import triton.runtime.interpreter as interpreter
from kernelwright._engine.cpu import operands
from triton.language.semantic import TritonSemantic

semantic = interpreter.interpreter_semantic
KINDS = [tl.int1, tl.int8, tl.uint8, tl.int16, tl.int32, tl.uint32, tl.int64, tl.uint64, tl.float16, tl.bfloat16, tl.float32,
         tl.float64, tl.float8e5, tl.pointer_type(tl.float32)]
NUMBERS = [0, 1, -1, 255, 256, 2 ** 31, -2 ** 31, 2 ** 63 + 1025, 2 ** 64, 0.0, -0.0, 0.1, 1e-40, 1e40, float("inf"), True]
FLAGS = [dict(zip(("allow_lhs_ptr", "allow_rhs_ptr", "arithmetic_check", "div_or_mod"), each))
         for each in itertools.product((False, True), repeat=4)]


def tensor(kind, shape):
    data = np.arange(1, 1 + int(np.prod(shape, dtype=int))).reshape(shape or (1,)).astype(interpreter._get_np_dtype(kind))
    handle = interpreter.TensorHandle(data, kind)
    return tl.tensor(handle, tl.block_type(kind, list(shape)) if shape else kind)


def facts(run):
    """What is known of each operand, or of the error."""
    try:
        return [(str(each.type), str(each.dtype), str(each.handle.dtype), str(each.shape), str(each.handle.data.dtype),
                 each.handle.data.shape, each.handle.data.tobytes()) for each in run()]
    except Exception as exc:
        return type(exc).__name__, str(exc)


def differing(short, slow, pairs, options):
    with np.errstate(all="ignore"):
        return [(str(left), str(right), more) for left, right in pairs for more in options
                if facts(lambda: short(semantic, left, right, **more)) != facts(lambda: slow(semantic, left, right, **more))]
'''


def test_pairs_of_tensors(interpret):
    found = interpret(CASES + '''
def go():
    shapes = [((), ()), ((4,), (4,)), ((4,), ()), ((), (4,)), ((4, 1), (1, 8)), ((4,), (2, 4)), ((4,), (8,))]
    pairs = [(tensor(left, a), tensor(right, b)) for left in KINDS for right in KINDS for a, b in shapes]
    return (differing(operands.operands, operands._slow_operands, pairs, FLAGS) +
            differing(operands.broadcast, operands._slow_broadcast, pairs, [{}]))
''')
    assert found["ok"] and found["value"] == [], found


def test_a_number_beside_a_tensor(interpret):
    found = interpret(CASES + '''
def go():
    tensors = [tensor(kind, shape) for kind in KINDS for shape in ((), (4,), (2, 4))]
    pairs = [pair for each in tensors for number in NUMBERS for pair in ((each, number), (number, each))]
    return differing(operands.operands, operands._slow_operands, pairs, FLAGS)
''')
    assert found["ok"] and found["value"] == [], found


def test_integers_wrap_as_on_a_device(interpret):
    """Triton's interpreter computes them again for an assertion that only `debug` makes."""
    found = interpret('''
import numpy as np
import triton.runtime.interpreter as interpreter

@triton.jit
def kernel(out, x):
    tl.store(out + tl.arange(0, 4), x + tl.arange(0, 4))

def go():
    out = torch.zeros(4, dtype=torch.int32)
    kernel[(1,)](out, 2**31 - 2)
    return out.tolist(), interpreter.interpreter_builder.options.debug
''')
    assert found["ok"] and found["value"] == [[2**31 - 2, 2**31 - 1, -2**31, -2**31 + 1], False], found
