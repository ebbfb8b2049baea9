"""An evaluation service that judges nothing and fails on request, for failures that a real one cannot be made to have."""
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FakeService:
    """Every evaluation is done at once, unless `holding`. `troubles` are (path's end, action), each for one call, in
    order: an action is a status, or "cut" for a connection that breaks before the answer."""

    def __init__(self):
        self.calls, self.bodies, self.headers, self.known = [], [], [], {}
        self.troubles, self.holding, self.max_batch, self.room = [], set(), 1000, 10**9
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                service.handle(self)

            do_GET = do_POST = do_DELETE = handle_any

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def forget(self):
        self.known.clear()

    def ids(self, method="POST", path="/v1/evaluations"):
        """The ids of single submissions, including repeated ones."""
        return [body["id"] for call, body in zip(self.calls, self.bodies) if call == (method, path)]

    def handle(self, request):
        path = request.path.partition("?")[0]
        body = json.loads(request.rfile.read(int(request.headers.get("Content-Length") or 0)) or "null")
        self.calls.append((request.command, path))
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        for trouble in self.troubles:
            if path.endswith(trouble[0]):
                self.troubles.remove(trouble)
                return self._fail(request, *trouble[1:])
        status, answer = self._answer(request.command, path, body)
        self._send(request, status, answer)

    def _fail(self, request, action, headers=()):
        if action == "cut":
            request.close_connection = True
            request.connection.close()
        else:
            error = {"error": {"class": "told_to", "message": f"told to answer {action}", "field": "kernel_code"}}
            self._send(request, action, error, headers)

    def _send(self, request, status, answer, headers=()):
        text = json.dumps(answer).encode()
        request.send_response(status)
        for name, value in (("Content-Length", str(len(text))), *headers):
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(text)

    def _answer(self, method, path, body):
        if path == "/v1/evaluations":
            self.known[body["id"]] = body
            return 202, {"id": body["id"], "state": "queued"}
        if path == "/v1/evaluations/batch":
            return self._take(body["evaluations"])
        if path == "/v1/evaluations/poll":
            return 200, {"evaluations": self._ended(body["ids"], body["wait_s"])}
        if path == "/v1/service":
            return 200, {"limits": {"max_batch": self.max_batch, "max_body_bytes": 1 << 20}}
        evaluation_id = path.rpartition("/")[2]
        if method == "DELETE":
            self.holding.discard(evaluation_id)
            return 200, {"id": evaluation_id, "state": "cancelled", "cause": "client"}
        if evaluation_id not in self.known:
            return 404, {"error": {"class": "not_found", "message": "there is none", "field": None}}
        time.sleep(0.01)
        return 200, self._record(evaluation_id)

    def _take(self, evaluations):
        if len(evaluations) > self.max_batch:
            return 413, {"error": {"class": "too_many", "message": "too many", "field": "evaluations"}}
        bad = [place for place, each in enumerate(evaluations) if not each["kernel_code"]]
        if bad:
            place = f"evaluations[{bad[0]}]"
            error = {"class": "invalid", "message": f"{place}: kernel_code is empty", "field": f"{place}.kernel_code"}
            return 400, {"error": error}
        if len(evaluations) > self.room:
            return 429, {"error": {"class": "queue_full", "message": "no room", "field": None}}
        self.known.update({each["id"]: each for each in evaluations})
        return 202, {"evaluations": [{"id": each["id"], "state": "queued"} for each in evaluations]}

    def _ended(self, ids, wait_s):
        until = time.monotonic() + wait_s
        while True:
            found = [self._record(each) for each in ids if each not in self.holding]
            if found or time.monotonic() > until:
                return found
            time.sleep(0.005)

    def _record(self, evaluation_id):
        if evaluation_id not in self.known:
            return {"id": evaluation_id, "state": "unknown"}
        if evaluation_id in self.holding:
            return {"id": evaluation_id, "state": "running", "verdict": None}
        verdict = {"id": evaluation_id, "status": "correct", "counts": True, "speedup": 2.0}
        return {"id": evaluation_id, "state": "done", "verdict": verdict}
