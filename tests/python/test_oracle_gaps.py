"""The arena's memory outside all tensors: filled for each trial, and compared after it."""
import pytest
import torch
from oracle_world import LINEAR, draw, judge, module, request, session  # noqa: F401

from kernelwright._engine import wire
from kernelwright._engine.oracle.bits import digest
from kernelwright._engine.oracle.gaps import Gaps
from kernelwright._engine.outputs import place_outputs

ODD = module("return x * 2", "[torch.randn(3, 7, dtype=torch.float16)]")


def answered(session, write=lambda arena: None, **fields):  # noqa: F811
    """The JudgedT of a right answer, after `write` changed the arena."""
    arena = draw(session)
    answer = session._task.reference.call(session._task.draw(77), 77)
    outputs = place_outputs(answer, arena, session._task.plan.outputs_offset)
    write(arena)
    return judge(session, outputs, **fields)


def poked(offset):
    """A write of one byte, whatever was there."""
    return lambda arena: arena.poke(offset, arena.peek(offset) ^ 1)


def place(session):  # noqa: F811
    """(the first byte, the byte behind the last) of the first input."""
    ref = session._task.plan.input_refs[0]
    return int(ref.offset), int(ref.offset + ref.bytes)


@pytest.mark.parametrize("source", [LINEAR, ODD], ids=["linear", "odd"])
@pytest.mark.parametrize("distance", [0, 5, 4000])
def test_a_write_behind_an_input(session, source, distance):  # noqa: F811
    session.prepare(request(), source)
    found = answered(session, poked(place(session)[1] + distance))
    assert found.errorClass == "out_of_bounds" and not found.right
    if distance < 4000:
        assert f"{distance} bytes behind input x" in wire.text(found.error)


def test_a_write_before_an_input(session):  # noqa: F811
    session.prepare(request(), LINEAR.replace("batch = 64", "batch = 63"))
    found = answered(session, poked(place(session)[0] - 2))
    assert found.errorClass == "out_of_bounds" and "2 bytes before input x" in wire.text(found.error)


def test_a_write_behind_a_weight(session):  # noqa: F811
    session.prepare(request(), LINEAR)
    ref = session._task.plan.weights["fc.bias"]
    found = answered(session, poked(int(ref.offset + ref.bytes)))
    assert "0 bytes behind weight fc.bias" in wire.text(found.error)


@pytest.mark.parametrize("seed", [75, 76, 77])
def test_a_write_behind_the_outputs(session, seed):  # noqa: F811
    session.prepare(request(), LINEAR)
    arena = draw(session, poison_seed=seed)
    answer = session._task.reference.call(session._task.draw(77), 77)
    outputs = place_outputs(answer, arena, session._task.plan.outputs_offset)
    assert judge(session, outputs).right
    poked(session._task.plan.arena_bytes - 1)(arena)
    found = judge(session, outputs)
    assert found.errorClass == "out_of_bounds" and "behind the outputs" in wire.text(found.error)


def test_outputs_alone_are_judged_without_the_rest(session):  # noqa: F811
    session.prepare(request(), LINEAR)
    assert answered(session, poked(place(session)[1]), outputsOnly=True).right


def test_gaps_change_from_draw_to_draw_and_inputs_stay(session):  # noqa: F811
    session.prepare(request(), LINEAR)
    begin, end = place(session)
    seen = []
    for poison_seed in (1, 2):
        arena = draw(session, poison_seed=poison_seed)
        seen.append((bytes(arena.bytes(begin, end - begin).tolist()), bytes(arena.bytes(end, 64).tolist())))
    assert seen[0][0] == seen[1][0] and seen[0][1] != seen[1][1]


def test_equal_outputs_have_equal_digests(session):  # noqa: F811
    session.prepare(request(), LINEAR)
    first, second = (answered(session, digest=True) for _ in range(2))
    assert first.digest == second.digest != 0
    assert answered(session).digest == 0


def test_a_digest_sees_a_bit_and_a_place():
    values = torch.randn(1000)
    swapped = values.clone()
    swapped[[3, 4]] = values[[4, 3]]
    other = values.clone()
    other.view(torch.int32)[7] ^= 1
    assert len({digest([each]) for each in (values, swapped, other)}) == 3


class Flat:
    """An arena of plain bytes."""

    device = torch.device("cpu")

    def __init__(self, size):
        self.size, self._bytes = size, torch.zeros(size, dtype=torch.uint8)

    def bytes(self, offset, size):
        return self._bytes[offset:offset + size]


def test_a_fill_leaves_tensors_and_the_outputs_memory_alone():
    arena = Flat(256)
    Gaps([("input a", 3, 6), ("input b", 17, 2)], (64, 96)).fill(arena, 5)
    own = [*range(3, 9), 17, 18, *range(64, 96)]
    assert not arena.bytes(0, 256)[own].any()
    rest = arena.bytes(0, 256)[[each for each in range(256) if each not in own]]
    assert (rest != 0).float().mean() > 0.9


@pytest.mark.parametrize("offset", [0, 2, 9, 16, 19, 63, 96, 255])
def test_every_byte_of_a_gap_is_watched(offset):
    arena, gaps = Flat(256), Gaps([("input a", 3, 6), ("input b", 17, 2)], (64, 96))
    gaps.fill(arena, 5)
    assert gaps.first_changed(arena, 5) is None
    arena.bytes(offset, 1).bitwise_xor_(128)
    assert gaps.first_changed(arena, 5) == offset
