"""`kernelwright mcp` as a process, and a raw client of its protocol."""
import http.client
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import urllib.parse

from . import program

NEWEST = "2025-11-25"
HELLO = {"protocolVersion": NEWEST, "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}


def command(*words):
    return [program.binary(), "mcp", "--python", sys.executable, "--device", program.DEVICE, *map(str, words)]


class Agent:
    """A client over standard input and output. Messages without an answer yet are kept in `notices`."""

    def __init__(self, folder, *words):
        self.folder, self._words, self._id = folder, words, 0
        self.notices = []

    def __enter__(self):
        with (self.folder / "mcp.log").open("ab") as log:
            self._process = program.start(command(*self._words), self.folder, stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, stderr=log)
        self._lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(program.LIMIT_S)

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    @property
    def pid(self):
        return self._process.pid

    def log(self):
        return (self.folder / "mcp.log").read_text(encoding="utf-8")

    def send(self, method, params=None, **fields):
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}, **fields}
        self.raw(json.dumps(message).encode())

    def raw(self, line):
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def next(self):
        """The next message of the server; None at the end of its output."""
        line = self._lines.get(timeout=program.LIMIT_S)
        return None if line is None else json.loads(line)

    def begin(self, method, params=None):
        """Send a request; its id."""
        self._id += 1
        self.send(method, params, id=self._id)
        return self._id

    def answer(self, request):
        """The answer to a request; other messages go into `notices`."""
        while (message := self.next()) is not None:
            if message.get("id") == request:
                return message
            self.notices.append(message)
        raise AssertionError(self.log())

    def ask(self, method, params=None):
        answer = self.answer(self.begin(method, params))
        assert "result" in answer, answer
        return answer["result"]

    def initialize(self):
        result = self.ask("initialize", HELLO)
        self.send("notifications/initialized")
        return result

    def call(self, tool, progress=None, **arguments):
        """The result of a tool."""
        meta = {} if progress is None else {"_meta": {"progressToken": progress}}
        return self.ask("tools/call", {"name": tool, "arguments": arguments, **meta})

    def leave(self):
        """Close the server's standard input; its exit code."""
        self._process.stdin.close()
        return self._process.wait(program.LIMIT_S)

    def interrupt(self):
        """Ctrl-C; the exit code."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(program.LIMIT_S)


class Site:
    """The server over HTTP, and requests to it."""

    def __init__(self, folder, *words):
        self.folder, self._words = folder, words

    def __enter__(self):
        with (self.folder / "mcp.log").open("ab") as log:
            self._process = program.start(command("--http", "--port", 0, *self._words), self.folder,
                                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        self.url = self._process.stdout.readline().decode().strip()
        assert self.url.endswith("/mcp"), (self.folder / "mcp.log").read_text(encoding="utf-8")
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self.interrupt()

    def interrupt(self):
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(program.LIMIT_S)

    def ask(self, method, message=None, **headers):
        """Status, headers and text of the answer; `Host` may be replaced."""
        place = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=program.LIMIT_S)
        given = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json",
                 **{name.replace("_", "-"): value for name, value in headers.items()}}
        try:
            connection.request(method, place.path, None if message is None else json.dumps(message), given)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()


def request(number, method, params=None):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


def events(text):
    """The messages of a stream."""
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]


def text_of(result):
    """The text that a model reads."""
    return result["content"][0]["text"]
