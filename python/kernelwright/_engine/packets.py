"""Sends and receives messages: each is one packet of a SOCK_SEQPACKET socket, with descriptors."""
import array
import os
import socket

import flatbuffers

from . import wire
from .wire import Body, made, text

LIMIT = 64 * 1024
DESCRIPTORS = 16


class Ended(SystemExit):
    """The other end has closed: the process has no work left, and ends quietly where this is not caught."""


class TooLong(ValueError):
    """A message that does not fit in a packet."""


def clip(value, limit):
    """A string of at most `limit` bytes in UTF-8; nothing for None."""
    found = ("" if value is None else text(value)).encode("utf-8", "replace")
    return found[:limit].decode("utf-8", "ignore")


def encoded(body):
    """The packet of one message."""
    builder = flatbuffers.Builder(1024)
    kind = getattr(Body, type(body).__name__.removesuffix("T"))
    builder.Finish(made(wire.PacketT, bodyType=kind, body=body).Pack(builder))
    return bytes(builder.Output())


def decoded(data):
    """The message of one packet from a trusted sender."""
    packet = wire.from_bytes("Packet", data)
    if packet.body is None:
        raise ValueError("a packet without a message")
    return packet.body


def memory_file(name, data):
    """The descriptor of a new memory file with these bytes, to send beside a message."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC)
    with open(fd, "wb", closefd=False) as file:
        file.write(data)
    return fd


class Channel:
    """Messages over a descriptor. Keeps references to the functions that it needs, because candidates patch modules."""

    def __init__(self, fd):
        self._socket = fd if isinstance(fd, socket.socket) else socket.socket(fileno=fd)
        self._send, self._receive = self._socket.sendmsg, self._socket.recvmsg
        self._encoded, self._decoded, self._array = encoded, decoded, array.array
        self._room = socket.CMSG_SPACE(DESCRIPTORS * 4)
        self._rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS)
        self._cloexec = socket.MSG_CMSG_CLOEXEC
        self._cut = socket.MSG_TRUNC | socket.MSG_CTRUNC

    def fileno(self):
        """The socket's descriptor."""
        return self._socket.fileno()

    def send(self, body, fds=()):
        """Send one message with descriptors; the caller still closes them."""
        data = self._encoded(body)
        if len(data) > LIMIT:
            raise TooLong(f"a message of {len(data)} bytes")
        beside = [(*self._rights, self._array("i", fds))] if fds else []
        try:
            self._send([data], beside)
        except (BrokenPipeError, ConnectionResetError):
            raise Ended(0) from None

    def receive(self):
        """(message, descriptors) of the next packet."""
        try:
            data, beside, flags, _ = self._receive(LIMIT, self._room, self._cloexec)
        except ConnectionResetError:
            raise Ended(0) from None
        if not data:
            raise Ended(0)
        fds = self._array("i")
        for level, kind, held in beside:
            if (level, kind) == self._rights:
                fds.frombytes(held[:len(held) // fds.itemsize * fds.itemsize])
        if flags & self._cut:
            raise ValueError("a packet arrived cut")
        return self._decoded(data), list(fds)

    def close(self):
        """Close the socket."""
        self._socket.close()
