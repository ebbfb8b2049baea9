"""The launch log and its page."""
import struct

import pytest

from kernelwright._engine.launches import LaunchLog


def words(page):
    return struct.unpack("<8Q", bytes(page[:64]))


def test_the_page_follows_a_launch():
    page = bytearray(64)
    log = LaunchLog(page)
    log.begin("k", (2, 1, 1), 2, 4)
    log.program_done()
    assert words(page)[:5] == (0, 1, 1, 1, 2)
    log.end()
    assert words(page)[:5] == (0, 0, 1, 1, 2)


def test_counters_on_the_page_outlive_a_reset():
    page = bytearray(64)
    log = LaunchLog(page)
    for _ in range(2):
        log.begin("k", (1, 1, 1), 1, 4)
        log.program_done()
        log.end()
        log.reset()
    assert words(page)[2:4] == (2, 2) and log.launches == 0


def test_the_stage_is_left_to_others():
    page = bytearray(struct.pack("<8Q", 5, *[0] * 7))
    log = LaunchLog(page)
    log.begin("k", (1, 1, 1), 1, 4)
    log.end()
    assert words(page)[0] == 5


def test_records_are_bounded():
    log = LaunchLog()
    for _ in range(100):
        log.begin("k", (1, 1, 1), 1, 4)
        log.end(shared=3)
    assert log.launches == 100
    records = log.reset()
    assert len(records) == 64 and records[0]["shared"] == 3 and log.reset() == []


def test_a_page_must_be_writable_and_long_enough():
    for page in (bytes(64), bytearray(63)):
        with pytest.raises(ValueError):
            LaunchLog(page)
