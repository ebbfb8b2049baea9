"""Writes TensorBoard's event files without TensorBoard.

A file is a sequence of TFRecords: length (8 bytes), masked CRC-32C of the length, one Event (a protocol buffer), masked
CRC-32C of the Event; all little-endian.
"""
import math
import os
import struct
import time
from pathlib import Path

POLYNOMIAL = 0x82F63B78  # CRC-32C (Castagnoli), reflected
MASK = 0xA282EAD8
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types
# Fields of Event, Summary, Summary.Value and SessionLog in TensorFlow's event.proto and summary.proto.
WALL_TIME, STEP, FILE_VERSION, SUMMARY, SESSION_LOG = 1, 2, 3, 5, 7
VALUE, TAG, SIMPLE_VALUE, STATUS, STARTED = 1, 1, 2, 1, 1
LARGEST_FLOAT = 3.4028234663852886e38


def _table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


TABLE = _table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + MASK) & 0xFFFFFFFF)


def record(data):
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def varint(number):
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)


def field(number, kind, value):
    key = varint(number << 3 | kind)
    return key + varint(len(value)) + value if kind == BYTES else key + value


def event(seconds, step, content):
    return (field(WALL_TIME, FIXED64, struct.pack("<d", seconds)) + field(STEP, VARINT, varint(max(step, 0)))
            + content)


def scalars(metrics):
    """A Summary. Numbers beyond a float's range become its largest or smallest; others that are not finite stay."""
    made = b""
    for tag, number in metrics.items():
        if math.isfinite(number):
            number = min(max(number, -LARGEST_FLOAT), LARGEST_FLOAT)
        made += field(VALUE, BYTES, field(TAG, BYTES, tag.encode("utf-8", "replace"))
                      + field(SIMPLE_VALUE, FIXED32, struct.pack("<f", number)))
    return made


class EventFile:
    """A new event file in a folder. Each call writes and flushes whole records, so that readers may follow it."""

    def __init__(self, folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
        now = time.time()
        # Readers sort the files of a folder by name: the time comes first, and no host's name is in it.
        self.path = Path(folder) / f"events.out.tfevents.{int(now * 1000):014d}.{os.getpid()}.kernelwright"
        self.file = open(self.path, "xb")
        self._write(event(now, 0, field(FILE_VERSION, BYTES, b"brain.Event:2")))
        self.begun = False

    def log(self, step, seconds, metrics):
        if not self.begun and step > 1:  # a resumed run: readers drop what an earlier file has from this step on
            started = field(STATUS, VARINT, varint(STARTED))
            self._write(event(seconds, step, field(SESSION_LOG, BYTES, started)))
        self.begun = True
        self._write(event(seconds, step, field(SUMMARY, BYTES, scalars(metrics))))

    def _write(self, data):
        self.file.write(record(data))
        self.file.flush()

    def close(self):
        self.file.close()
