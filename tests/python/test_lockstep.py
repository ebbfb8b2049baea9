"""Programs that run together give what they give one after another, and run one after another where they must."""
import pytest
from test_idioms import idioms

# Every launch runs both ways; `counts` has the programs that ran together and in turn.
BOTH_WAYS = '''
import ctypes
import torch
from kernelwright._engine.cpu import bounds, interpret, lockstep

counts = {"together": 0, "in turn": 0}
differing = []
_run, _together, _alone = lockstep.run, lockstep._together, lockstep.one_by_one


def _ranges():
    return bounds._now["ranges"][:bounds._now["own"]]


def _memory():
    return [(ctypes.c_char * (end - start)).from_address(start).raw for start, end, _ in _ranges()]


def _both(function, values, places, done):
    places = list(places)
    before = _memory()
    _run(function, values, places, done)
    together = _memory()
    for (start, end, _), content in zip(_ranges(), before):
        ctypes.memmove(start, content, end - start)
    _alone(function, values, places, lambda: None)
    for (_, _, name), one, other in zip(_ranges(), together, _memory()):
        one, other = (torch.frombuffer(bytearray(each), dtype=torch.uint8) for each in (one, other))
        if not torch.equal(one, other):
            four = len(one) % 4 == 0
            close = four and torch.allclose(*(each.view(torch.float32) for each in (one, other)), rtol=2e-5, atol=2e-5,
                                            equal_nan=True)
            if not close:
                differing.append(f"{function.__name__}: {name}")


def _counted(function, values, places, plan):
    found = _together(function, values, places, plan)
    counts["together" if found else "in turn"] += len(places)
    return found


interpret._seal.check = lambda: None
lockstep.run, lockstep._together = _both, _counted
'''
VECTORS = "import torch, triton, triton.language as tl\n" + BOTH_WAYS + '''
x, y = torch.randn(6100), torch.randn(6100)


def outcome():
    assert not differing, differing
    return counts["together"], counts["in turn"]
'''


@pytest.mark.parametrize("path, name, refused", [each for each in idioms() if each.values[2] != "endless"])
def test_an_idiom_gives_the_same_both_ways(interpreter, tmp_path, path, name, refused):
    copy = tmp_path / f"{path.stem}.py"
    copy.write_text(f"{path.read_text()}\n{BOTH_WAYS}\n\ndef go():\n    {name}()\n    assert not differing, differing\n")
    facts = interpreter.run(copy, "go", limit=60)
    if refused:
        assert refused in facts["error"]
    else:
        assert facts["ok"], facts.get("traceback")


@pytest.fixture
def both(interpreter, world):
    """(programs that ran together, programs that ran in turn) in `go()`."""
    def run(source):
        facts = interpreter.run(world(source, VECTORS), "go", limit=60)
        assert facts["ok"], facts.get("traceback")
        return tuple(facts["value"])
    return run


def test_independent_programs_run_together(both):
    assert both('''
        @triton.jit
        def k(x, y, o, n, B: tl.constexpr):
            at = tl.program_id(0) * B + tl.arange(0, B)
            tl.store(o + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)
        def go():
            o = torch.empty(6100)
            k[(61,)](x, y, o, 6100, B=128)
            assert torch.equal(o, x + y)
            return outcome()
    ''') == (61, 0)


def test_programs_that_write_in_place_run_together(both):
    assert both('''
        @triton.jit
        def k(x, B: tl.constexpr):
            at = tl.program_id(0) * B + tl.arange(0, B)
            tl.store(x + at, tl.load(x + at) * 2)
            tl.store(x + at, tl.load(x + at) + 1)
        def go():
            o = x.clone()
            k[(61,)](o, B=64)
            assert torch.equal(o[:61 * 64], x[:61 * 64] * 2 + 1)
            return outcome()
    ''') == (61, 0)


@pytest.mark.parametrize("body", [
    "tl.store(o + p + 1, tl.load(o + p) + 1)",                                   # reads what the one before wrote
    "tl.store(o + p, p); tl.store(o + 8, tl.load(o + tl.maximum(p - 1, 0)))",    # the same, after its own store
    "tl.store(o + p // 2, p); tl.store(o + p // 2, 7 * p)",                      # two programs, two stores
    "tl.store(o, tl.load(o) + 1)",                                               # all at one element
    "tl.atomic_add(o, 1); tl.store(o + p + 1, tl.load(o))",                      # reads what others add to
])
def test_programs_that_depend_on_one_another_run_in_turn(both, body):
    assert both(f'''
        @triton.jit
        def k(o):
            p = tl.program_id(0)
            {body}
        def go():
            k[(13,)](torch.zeros(32, dtype=torch.int32))
            return outcome()
    ''') == (0, 13)


def test_programs_run_together_with_those_that_go_their_way(both):
    assert both('''
        @triton.jit
        def k(x, o, B: tl.constexpr):
            p = tl.program_id(0)
            total = tl.zeros([B], tl.float32)
            for i in range(p % 3 + 1):
                total += tl.load(x + (p + i) * B + tl.arange(0, B))
            if p % 2 == 0:
                total = total * 2
            tl.store(o + p * B + tl.arange(0, B), total)
        def go():
            o = torch.empty(13 * 64)
            k[(13,)](x, o, B=64)
            return outcome()
    ''') == (13, 0)


def test_a_loop_that_may_wait_runs_in_turn(both):
    assert both('''
        @triton.jit
        def waits(lock):
            while tl.atomic_cas(lock, 0, 1) == 1:
                pass
        @triton.jit
        def k(lock, o):
            waits(lock)
            tl.store(o, tl.load(o) + 1)
            tl.atomic_xchg(lock, 0)
        def go():
            o = torch.zeros(1)
            k[(13,)](torch.zeros(1, dtype=torch.int32), o)
            assert o.item() == 13
            return outcome()
    ''') == (0, 13)


def test_atomic_operations_of_all_programs_count(both):
    assert both('''
        @triton.jit
        def k(x, total, ticket, order, B: tl.constexpr):
            p = tl.program_id(0)
            tl.atomic_add(total, tl.sum(tl.load(x + p * B + tl.arange(0, B))))
            tl.store(order + p, tl.atomic_add(ticket, 1))
        def go():
            total, ticket, order = torch.zeros(1), torch.zeros(1, dtype=torch.int32), torch.empty(61, dtype=torch.int32)
            k[(61,)](x, total, ticket, order, B=64)
            assert torch.allclose(total, x[:61 * 64].sum(), atol=1e-3) and ticket.item() == 61
            assert sorted(order.tolist()) == list(range(61))
            return outcome()
    ''') == (61, 0)


def test_an_error_is_that_of_one_program(interpret):
    facts = interpret('''
        @triton.jit
        def k(x, o):
            p = tl.program_id(0)
            tl.store(o + p, 1.0)
            tl.load(x + p * 100)
        def go():
            k[(61,)](torch.rand(100), torch.empty(61))
    ''')
    assert facts["error_class"] == "out_of_bounds" and "1 of 1 lanes" in facts["error"]
    assert facts["raised"] == ["OutOfBounds"]


def test_a_group_that_fails_leaves_no_trace(both):
    assert both('''
        @triton.jit
        def k(o, seen):
            p = tl.program_id(0)
            tl.store(o + p, tl.load(o + p) + 1)
            tl.device_print("p", p)
        def go():
            o = torch.zeros(13)
            k[(13,)](o, o)
            assert torch.equal(o, torch.ones(13))
            return outcome()
    ''') == (0, 13)
