"""A zygote forks fork servers of every mode, which can be told apart and end with it."""
import os
import socket
import time
from pathlib import Path

import pytest
from fork_client import SEQPACKET, Server
from kernelwright._engine import packets, wire
from kernelwright._engine.wire import made, text


@pytest.fixture(name="zygote")
def _zygote():
    zygote = Server("zygote", "--high-heap")
    yield zygote
    zygote.close()


def served(zygote, mode):
    """(control socket, Ready) of a fork server of that mode."""
    ours, theirs = socket.socketpair(*SEQPACKET)
    output = os.memfd_create("output")
    zygote.channel.send(made(wire.ServeT, mode=mode), [theirs.fileno(), output])
    theirs.close()
    os.close(output)
    ours.settimeout(60)
    channel = packets.Channel(ours)
    return channel, channel.receive()[0]


def words_of(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


def has_ended(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_servers_are_its_children_and_show_their_modes(zygote):
    for mode in ("oracle", "compile", "interpret"):
        channel, ready = served(zygote, mode)
        assert parent_of(ready.pid) == zygote.process.pid
        words = words_of(ready.pid)
        assert words[words.index(b"--mode") + 1] == mode.encode() and b"--high-heap" not in words
        assert text(ready.triton) and text(ready.torch), "what it runs"
        channel.close()


def test_it_has_not_imported_triton(zygote):
    """Triton chooses at import whether it interprets."""
    assert not text(zygote.ready.triton)
    maps = Path(f"/proc/{zygote.process.pid}/maps").read_text(encoding="utf-8")
    assert "/triton/" not in maps and "libtorch" in maps


def test_servers_end_with_it(zygote):
    _, ready = served(zygote, "oracle")
    zygote.process.kill()
    deadline = time.monotonic() + 10
    while not has_ended(ready.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert has_ended(ready.pid)
