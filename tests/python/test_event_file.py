"""TensorBoard's event files, read back byte by byte, and the process that writes them."""
import json
import math
import os
import struct
import subprocess
import sys

import pytest

from kernelwright._reporting import event_file


def records(path):
    """The Events of a file, each checked against its two sums."""
    data, found = path.read_bytes(), []
    while data:
        size, = struct.unpack("<Q", data[:8])
        assert data[8:12] == event_file.masked(data[:8])
        found.append(data[12:12 + size])
        assert data[12 + size:16 + size] == event_file.masked(found[-1])
        data = data[16 + size:]
    return found


def fields(data):
    """(number, value) of a protocol buffer's fields."""
    found, at = [], 0

    def varint():
        nonlocal at
        number, shift = 0, 0
        while True:
            byte = data[at]
            at, number, shift = at + 1, number | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                return number
    while at < len(data):
        key = varint()
        kind = key & 7
        size = {0: 0, 1: 8, 5: 4}.get(kind)
        value = varint() if kind in (0, 2) else 0
        if kind:
            size = value if kind == 2 else size
            value = data[at:at + size]
            at += size
        found.append((key >> 3, value))
    return found


def scalars(record):
    summary = dict(fields(record))[5]
    return {dict(fields(value))[1].decode(): struct.unpack("<f", dict(fields(value))[2])[0]
            for _, value in fields(summary)}


def test_the_sum_is_crc32c():
    assert event_file.crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32C
    assert event_file.crc32c(b"") == 0


def test_a_file_begins_with_its_version_and_has_each_step(tmp_path):
    file = event_file.EventFile(tmp_path / "new" / "folder")
    for step in (1, 2, 300):
        file.log(step, 1.5, {"loss": 1 / step, "größe": 2.0})
    file.close()
    first, *steps = records(file.path)
    assert dict(fields(first))[3] == b"brain.Event:2" and "tfevents" in file.path.name
    assert [dict(fields(each))[2] for each in steps] == [1, 2, 300]
    assert scalars(steps[1]) == {"loss": 0.5, "größe": 2.0}


def test_a_resumed_run_says_where_it_starts(tmp_path):
    file = event_file.EventFile(tmp_path)
    file.log(7, 1.0, {"loss": 1.0})
    _, started, _ = records(file.path)
    assert dict(fields(started))[2] == 7 and fields(dict(fields(started))[7]) == [(1, 1)]


def test_numbers_beyond_a_float_are_cut_and_others_stay(tmp_path):
    file = event_file.EventFile(tmp_path)
    file.log(1, 1.0, {"big": 1e300, "small": -1e300, "inf": math.inf, "nan": math.nan})
    found = scalars(records(file.path)[1])
    assert found["big"] == -found["small"] == pytest.approx(3.4028235e38)
    assert found["inf"] == math.inf and math.isnan(found["nan"])


def report(lines, *words):
    return subprocess.run([sys.executable, "-P", "-m", "kernelwright._reporting", "--name", "run", *map(str, words)],
                          input=lines, capture_output=True, text=True, timeout=60, check=False)


def line(step, **metrics):
    return json.dumps({"step": step, "time": 1.0, "metrics": metrics}) + "\n"


def test_the_process_passes_numbers_on(tmp_path):
    done = report(line(1, loss=0.5, memory=None, word="x", truth=True) + line(2, memory=None), "--tensorboard", tmp_path)
    assert (done.returncode, done.stdout) == (0, "ready\n"), done.stderr
    path, = tmp_path.iterdir()
    assert [scalars(each) for each in records(path)[1:]] == [{"loss": 0.5}]


def test_a_missing_trackio_names_its_installation(tmp_path):
    (tmp_path / "trackio.py").write_text("raise ModuleNotFoundError(name='trackio')\n", encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run([sys.executable, "-P", "-m", "kernelwright._reporting", "--name", "run", "--trackio", "p"],
                          input="", capture_output=True, text=True, timeout=60, env={"PYTHONPATH": path}, check=False)
    assert done.returncode == 1 and done.stdout == "" and "pip install trackio" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("lines", ["not JSON\n", '{"step": 1}\n'])
def test_a_broken_line_is_an_error(tmp_path, lines):
    done = report(lines, "--tensorboard", tmp_path)
    assert done.returncode == 1 and "Traceback" not in done.stderr and done.stderr


def test_a_folder_that_cannot_be_made_is_an_error():
    done = report(line(1, loss=1.0), "--tensorboard", "/dev/null/x")
    assert done.returncode == 1 and done.stdout == "" and "/dev/null/x" in done.stderr
