"""A client of WebSockets, so that the tests need no package for it: text messages, one at a time."""
import base64
import json
import os
import socket
import struct

TEXT, CLOSE = 1, 8


class WebSocket:
    """A connection; `status` is that of the handshake's answer."""

    def __init__(self, port, path, key=None):
        self._socket = socket.create_connection(("127.0.0.1", port), 120)
        self._stream = self._socket.makefile("rb")
        access = [f"Authorization: Basic {base64.b64encode(f'any:{key}'.encode()).decode()}"] if key else []
        nonce = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall("\r\n".join([
            f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: Upgrade", "Upgrade: websocket",
            "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {nonce}", *access, "", ""]).encode())
        self.status = int(self._stream.readline().split()[1])
        while self._stream.readline().strip():
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stream.close()
        self._socket.close()

    def say(self, message):
        """Send one message, masked with zeros."""
        data = json.dumps(message).encode()
        length = struct.pack(">B", 0x80 | len(data)) if len(data) < 126 else struct.pack(">BH", 0x80 | 126, len(data))
        self._socket.sendall(bytes([0x80 | TEXT]) + length + bytes(4) + data)

    def hear(self):
        """The next message, or the code of the server's close frame."""
        kind, length = self._stream.read(2)
        if length >= 126:
            length = int.from_bytes(self._stream.read(2 if length == 126 else 8), "big")
        data = self._stream.read(length)
        if kind & 0x0f == CLOSE:
            return int.from_bytes(data[:2], "big")
        assert kind == 0x80 | TEXT
        return json.loads(data)

    def ask(self, kind, **data):
        """A message of OpenEnv and its answer."""
        self.say({"type": kind, "data": data})
        return self.hear()
