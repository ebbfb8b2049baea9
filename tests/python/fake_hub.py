"""A hub on 127.0.0.1 that accepts uploads of data sets and stores them."""
import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FakeHub:
    def __init__(self, token="hf_let_me_in_please", refuse_commit=None):
        self.token, self.refuse_commit = token, refuse_commit
        self.repos, self.files, self.requests = {}, {}, []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                hub.answer(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

            def do_GET(self):
                hub.answer(self, b"")

            def log_message(self, *words):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *why):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler, body):
        self.requests.append((handler.command, handler.path))
        known = handler.headers.get("Authorization") == f"Bearer {self.token}"
        status, value = self.act(handler.path.split("?")[0], body) if known else (401, {"error": "Invalid credentials"})
        text = json.dumps(value).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    def act(self, path, body):
        if path == "/api/repos/create":
            return self.create(json.loads(body))
        if path == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}
        if "/preupload/" in path:
            return 200, {"files": [{"path": each["path"], "uploadMode": "regular", "shouldIgnore": False, "oid": None}
                                   for each in json.loads(body)["files"]]}
        if "/commit/" in path:
            return self.commit(body)
        return 200, {"id": "me/kernels", "sha": "1" * 40, "siblings": []}

    def create(self, asked):
        name = "/".join(filter(None, (asked.get("organization") or "me", asked["name"])))
        value = {"url": f"{self.url}/datasets/{name}", "name": name}
        if name in self.repos:
            return 409, value | {"error": "You already created this dataset repo"}
        self.repos[name] = asked
        return 200, value

    def commit(self, body):
        if self.refuse_commit:
            return 400, {"error": self.refuse_commit}
        for line in body.splitlines():
            operation = json.loads(line)
            if operation["key"] == "file":
                self.files[operation["value"]["path"]] = base64.b64decode(operation["value"]["content"])
        return 200, {"commitUrl": f"{self.url}/datasets/me/kernels/commit/{'2' * 40}", "commitOid": "2" * 40,
                     "success": True, "hookOutput": ""}
