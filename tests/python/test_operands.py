"""Operations of the interpreter on their operands give what a device gives."""


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
