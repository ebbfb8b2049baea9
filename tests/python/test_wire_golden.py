"""The golden packet of wire/golden reads the same in Python and in C++ (tests/verify/messages/wire_test.cpp)."""
from pathlib import Path

from kernelwright._engine import packets, wire
from kernelwright._engine.wire import made, numbers, text

GOLDEN = Path(__file__).resolve().parents[2] / "wire" / "golden" / "returned.bin"


def returned():
    """The message in the packet."""
    tensor = made(wire.TensorT, dtype="bfloat16", shape=[2, 3], stride=[3, 1], offset=4096, bytes=12)
    item = made(wire.ValueT, kind=wire.ValueKind.tensor, tensor=tensor)
    launch = made(wire.LaunchT, name="add", grid=[5, 1, 1], programs=5, num_warps=4)
    return made(wire.ReturnedT, trial=3, outputs=made(wire.ValueT, kind=wire.ValueKind.tuple, items=[item]),
                launches=[launch], launch_count=2, program_count=640, ms=1.5)


def expect_the_message(found):
    assert (found.trial, found.launchCount, found.programCount, found.ms) == (3, 2, 640, 1.5)
    tensor = found.outputs.items[0].tensor
    assert text(tensor.dtype) == "bfloat16"
    assert list(numbers(tensor.shape)) == [2, 3]
    assert text(found.launches[0].name) == "add"
    assert found.launches[0].registers == -1


def test_the_golden_packet_reads():
    expect_the_message(packets.decoded(GOLDEN.read_bytes()))


def test_what_is_written_reads_the_same():
    expect_the_message(packets.decoded(packets.encoded(returned())))
