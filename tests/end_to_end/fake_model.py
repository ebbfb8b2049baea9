"""A model server with fixed answers, which keeps the requests."""
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FakeModel:
    """`answer(path, body)` is the text of an answer, or a status without one. `requests` are (path, body)."""

    def __init__(self, answer, server="vllm"):
        self.requests, self._answer, self._owner = [], answer, server
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                model.send(self, 200, {"object": "list", "data": [{"id": "fake", "object": "model", "owned_by": model._owner,
                                                                   "max_model_len": 8192}]})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                path = self.path.removeprefix("/v1")
                model.requests.append((path, body))
                model.reply(self, path, body)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def reply(self, request, path, body):
        answer = self._answer(path, body)
        if isinstance(answer, int):
            return self.send(request, answer, {"error": {"message": "Not Found", "type": "NotFoundError", "code": answer}})
        choice = {"index": 0, "finish_reason": "stop"}
        choice |= {"text": answer} if path == "/completions" else {"message": {"role": "assistant", "content": answer}}
        usage = {"prompt_tokens": 10, "completion_tokens": 10}
        if body.get("stream"):
            return self.stream(request, answer, usage)
        return self.send(request, 200, {"model": "fake", "choices": [choice], "usage": usage})

    def stream(self, request, answer, usage):
        """The answer as the events of a chat completion, in two parts."""
        half = len(answer) // 2
        deltas = [({"role": "assistant", "content": answer[:half]}, None), ({"content": answer[half:]}, None), ({}, "stop")]
        chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in deltas]
        chunks.append({"choices": [], "usage": {**usage, "total_tokens": sum(usage.values())}})
        common = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "fake"}
        lines = [json.dumps(common | each) for each in chunks] + ["[DONE]"]
        self.send_bytes(request, 200, "text/event-stream", "".join(f"data: {line}\n\n" for line in lines).encode())

    def send(self, request, status, answer):
        self.send_bytes(request, status, "application/json", json.dumps(answer).encode())

    def send_bytes(self, request, status, kind, data):
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)
