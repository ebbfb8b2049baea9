"""Out-of-bounds accesses are reported; valid accesses are never reported."""

COPY = """
@triton.jit
def copy_kernel(x, o, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(o + i, v, mask=i < n)
"""


def test_load_past_the_end(interpret):
    facts = interpret(COPY + """
def go():
    copy_kernel[(1,)](torch.rand(100), torch.empty(128), 100, BLOCK=128)
""")
    assert facts["error_class"] == "out_of_bounds"
    assert facts["line"] == 5
    assert "load in copy_kernel" in facts["error"] and "28 of 128 lanes lie beyond" in facts["error"]
    assert "0 bytes beyond `x`" in facts["error"]


def test_masked_lanes_are_free(interpret):
    assert interpret("""
@triton.jit
def k(x, o, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n), mask=i < n)
def go():
    k[(1,)](torch.rand(100), torch.empty(100), 100, BLOCK=128)
""")["ok"]


def test_a_mask_of_a_block_and_a_flag_of_the_program(interpret):
    facts = interpret("""
@triton.jit
def k(x, o, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=(i < n) & (tl.program_id(0) == 0), other=0.0), mask=i < n)
def go():
    k[(1,)](torch.ones(1), torch.empty(1), 1, BLOCK=8)
""")
    assert facts["ok"], facts


def test_store_before_the_start(interpret):
    facts = interpret("""
@triton.jit
def k(o, BLOCK: tl.constexpr):
    tl.store(o + tl.arange(0, BLOCK) - 1, 1.0)
def go():
    k[(1,)](torch.empty(8), BLOCK=8)
""")
    assert "store in k" in facts["error"] and "1 of 8 lanes lie before" in facts["error"]
    assert "4 bytes before `o`" in facts["error"]


def test_atomic(interpret):
    facts = interpret("""
@triton.jit
def k(o):
    tl.atomic_add(o + 1, 1.0)
def go():
    k[(1,)](torch.zeros(1))
""")
    assert facts["error_class"] == "out_of_bounds" and "atomic in k" in facts["error"]


def test_atomic_on_half(interpret):
    facts = interpret("""
@triton.jit
def k(o):
    tl.atomic_add(o + 1, tl.full((1,), 1.0, tl.float16))
def go():
    k[(1,)](torch.zeros(1, dtype=torch.float16))
""")
    assert facts["error_class"] == "out_of_bounds"


def test_compare_and_swap(interpret):
    assert interpret("""
@triton.jit
def k(o):
    tl.atomic_cas(o - 1, 0, 1)
def go():
    k[(1,)](torch.zeros(1, dtype=torch.int32))
""")["error_class"] == "out_of_bounds"


def test_block_pointer_without_check(interpret):
    source = """
@triton.jit
def k(x, o, n, CHECK: tl.constexpr):
    p = tl.make_block_ptr(x, (n,), (1,), (0,), (128,), (0,))
    if CHECK:
        v = tl.load(p, boundary_check=(0,))
    else:
        v = tl.load(p)
    tl.store(o + tl.arange(0, 128), v)
def go():
    k[(1,)](torch.rand(100), torch.empty(128), 100, CHECK={})
"""
    assert interpret(source.format("False"))["error_class"] == "out_of_bounds"
    assert interpret(source.format("True"))["ok"]


def test_tensor_descriptor_with_a_wrong_shape(interpret):
    assert interpret("""
@triton.jit
def k(x, o):
    a = tl.make_tensor_descriptor(x, [64, 32], [32, 1], [64, 32])
    b = tl.make_tensor_descriptor(o, [64, 32], [32, 1], [64, 32])
    b.store([0, 0], a.load([0, 0]))
def go():
    k[(1,)](torch.rand(32, 32), torch.empty(64, 32))
""")["error_class"] == "out_of_bounds"


def test_line_of_a_helper(interpret):
    facts = interpret("""
@triton.jit
def read(x, i):
    return tl.load(x + i)
@triton.jit
def k(x, o):
    tl.store(o, read(x, 5))
def go():
    k[(1,)](torch.rand(4), torch.empty(1))
""")
    assert facts["line"] == 4 and "load in k" in facts["error"]


def test_tensors_in_a_tuple_count(interpret):
    assert interpret("""
@triton.jit
def k(pair, o):
    tl.store(o, tl.load(pair[0]) + tl.load(pair[1] + 3))
def go():
    k[(1,)]((torch.rand(4), torch.rand(4)), torch.empty(1))
""")["ok"]


def test_a_view_may_reach_all_of_its_storage(interpret):
    assert interpret("""
@triton.jit
def k(x, o):
    tl.store(o, tl.load(x - 2) + tl.load(x + 1))
def go():
    k[(1,)](torch.rand(4)[2:3], torch.empty(1))
""")["ok"]


def test_an_address_as_a_number(interpret):
    source = """
@triton.jit
def k(address, o, at):
    tl.store(o, tl.load(address.to(tl.pointer_type(tl.float32)) + at))
def go():
    x = torch.rand(4)
    k[(1,)](x.data_ptr(), torch.empty(1), {})
"""
    assert interpret(source.format(3))["ok"]
    assert interpret(source.format(4))["error_class"] == "out_of_bounds"


def test_an_address_from_elsewhere_is_not_checked(interpret):
    assert interpret("""
@triton.jit
def k(address, o):
    tl.store(o, tl.load(address.to(tl.pointer_type(tl.float32)) + 1))
def go():
    x = torch.rand(4)
    k[(1,)](x.untyped_storage().data_ptr(), torch.empty(1))
""")["ok"]


def test_addresses_in_a_tensor(interpret):
    assert interpret("""
@triton.jit
def k(table, o):
    tl.store(o, tl.load(tl.load(table + 1).to(tl.pointer_type(tl.float32)) + 2))
def go():
    a, b = torch.rand(4), torch.rand(4)
    o = torch.empty(1)
    k[(1,)](torch.tensor([a.data_ptr(), b.data_ptr()]), o)
    assert o[0] == b[2]
""")["ok"]


def test_a_caught_fault_is_still_told(interpret):
    facts = interpret(COPY + """
def go():
    try:
        copy_kernel[(1,)](torch.rand(100), torch.empty(128), 100, BLOCK=128)
    except Exception:
        pass
""")
    assert facts["ok"] and facts["raised"] == ["OutOfBounds"]


def test_an_earlier_launch_lends_nothing(interpret):
    facts = interpret("""
@triton.jit
def k(x, o, away):
    tl.store(o, tl.load(x + away))
def go():
    pool = torch.rand(64)
    k[(1,)](pool, torch.empty(1), 1)
    x, y = torch.rand(1000), torch.rand(1000)
    at = [torch._C.StorageBase.data_ptr(each.untyped_storage()) for each in (x, y)]  # asks for no address
    k[(1,)](x, torch.empty(1), (at[1] - at[0]) // 4)
""")
    assert facts["error_class"] == "out_of_bounds"


def test_threads_that_launch_at_once_have_bounds_of_their_own(interpret):
    facts = interpret("""
import threading, time
begun = threading.Event()
@triton.jit
def k(x, o, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for _ in range(STEPS):
        v += 1.0
    tl.store(o + i, v)
def work(x, o, steps):
    begun.wait(10)
    k[(64,)](x, o, STEPS=steps, BLOCK=16)
def go():
    given = [(torch.rand(1024), torch.empty(1024), 20 + each) for each in range(4)]
    threads = [threading.Thread(target=work, args=each) for each in given]
    for each in threads:
        each.start()
    begun.set()
    for each in threads:
        each.join()
    for x, o, steps in given:
        assert torch.allclose(o, x + steps)
""")
    assert facts["ok"] and not facts["raised"], facts
