"""`kernelwright view` as a process, and requests to it that no well-behaved client would send."""
import http.client
import json
import os
import signal
import socket
import subprocess
import time
import urllib.parse

from . import program


class Answer:
    """Status, headers and body of a response."""

    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    def json(self):
        return json.loads(self.body)


class Viewing:
    """A viewer of paths; ended by Ctrl-C."""

    def __init__(self, folder, *words):
        self.folder = folder
        self._words = [str(word) for word in words]
        self._process = None
        self.url, self.key = "", ""

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self.interrupt()

    def start(self):
        """Start it and read what it prints: the URL, and the key if it made one."""
        command = [program.binary(), "view", *self._words]
        if "--port" not in self._words:
            command += ["--port", "0"]
        with (self.folder / "view.log").open("ab") as log:
            self._process = program.start(command, self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=log)
        self.url = self._process.stdout.readline().decode().strip()
        assert self.url, (self.folder / "view.log").read_text(encoding="utf-8")
        if "--host" in self._words:
            self.key = self._process.stdout.readline().decode().removeprefix("key ").strip()

    @property
    def pid(self):
        return self._process.pid

    @property
    def port(self):
        return urllib.parse.urlsplit(self.url).port

    def interrupt(self):
        """Ctrl-C; the exit code."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(20)

    def kill(self):
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait(20)

    def log(self):
        return (self.folder / "view.log").read_text(encoding="utf-8")

    def ask(self, path, method="GET", headers=None, body=None, timeout=20):
        """One request on a connection of its own; `headers` may replace Host."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            given = {"Host": f"127.0.0.1:{self.port}", **(headers or {})}
            if body is not None:
                given.setdefault("Content-Length", str(len(body)))
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders(body)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def index(self, query=""):
        return self.ask("/api/index" + query).json()

    def keys(self):
        """The keys of the rows."""
        column = self.index()["rows"]["columns"]["key"]
        return column if isinstance(column, list) else [column["words"][at] for at in column["at"]]

    def token(self):
        page = self.ask("/").body.decode()
        return page.split('name="kernelwright-live" content="')[1].split('"')[0]

    def queue(self, reviewer, count=100):
        return self.ask("/api/review/queue?" + urllib.parse.urlencode({"reviewer": reviewer, "count": count})).json()

    def label(self, key, reviewer, label, note=""):
        body = json.dumps({"key": key, "reviewer": reviewer, "label": label, "note": note}).encode()
        return self.ask("/api/review", "POST", {"X-Kernelwright-Token": self.token()}, body)

    def socket(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def raw(self, data):
        """The first bytes of the answer to these bytes; empty if the connection ends without one."""
        with self.socket() as connection:
            connection.sendall(data)
            try:
                return connection.recv(65536)
            except ConnectionResetError:
                return b""


class Events:
    """The events of a stream, as they come."""

    def __init__(self, viewing, path="/api/events"):
        self._socket = viewing.socket()
        self._socket.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{viewing.port}\r\n\r\n".encode())
        self._file = self._socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()
        self._socket.close()

    def until(self, wanted, seconds=60):
        """Changes until one fits; all of them."""
        deadline, seen = time.monotonic() + seconds, []
        while time.monotonic() < deadline:
            line = self._file.readline()
            if not line:
                raise AssertionError(f"the stream ended after {seen}")
            if line.startswith(b"data: "):
                seen.append(json.loads(line[6:]))
                if wanted(seen[-1]):
                    return seen
        raise AssertionError(f"not seen in {seconds} s: {seen}")
