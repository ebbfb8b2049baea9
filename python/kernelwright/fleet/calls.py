"""Calls of the service's HTTP: plain requests, with the standard library alone, from any thread."""
import json
import time
import urllib.error
import urllib.request
from urllib.parse import quote

WAIT_S = 30
LIMIT_S = 20
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a child on loopback is behind no proxy


class Unreachable(RuntimeError):
    """Nobody answers, or what answers is no service."""


class Refused(RuntimeError):
    """The service answered with an error: `status`, and `body` as it sent it."""

    def __init__(self, status, body, retry_after_s=None):
        error = body.get("error") or {}
        super().__init__(error.get("message") or f"the service answered {status}")
        self.status, self.body, self.retry_after_s = status, body, retry_after_s


class ServiceCalls:
    def __init__(self, url, headers=None):
        self._url, self._headers = url.rstrip("/"), dict(headers or {})

    def health(self):
        """(status, body), whatever the status."""
        try:
            return 200, self._call("GET", "/health")
        except Refused as refused:
            return refused.status, refused.body

    def service(self):
        return self._call("GET", "/v1/service")

    def protocol(self, options):
        return self._call("POST", "/v1/protocol", {"options": options})

    def submit(self, evaluation):
        return self._call("POST", "/v1/evaluations", evaluation)

    def submit_all(self, evaluations):
        return self._call("POST", "/v1/evaluations/batch", {"evaluations": evaluations})["evaluations"]

    def look(self, evaluation_id, wait_s=0):
        return self._call("GET", f"/v1/evaluations/{quote(evaluation_id, safe='')}?wait_s={wait_s:g}",
                          limit_s=wait_s + LIMIT_S)

    def cancel(self, evaluation_id):
        return self._call("DELETE", f"/v1/evaluations/{quote(evaluation_id, safe='')}")

    def evaluate(self, evaluation):
        """Submits one with an id, and waits for its end however long that takes. A full service is asked again."""
        while True:
            try:
                self.submit(evaluation)
                break
            except Refused as refused:
                if refused.status not in (429, 503):
                    raise
                time.sleep(refused.retry_after_s or 1)
        while True:
            found = self.look(evaluation["id"], WAIT_S)
            if found["state"] in ("done", "cancelled"):
                return found

    def _call(self, method, path, body=None, limit_s=LIMIT_S):
        headers = {**self._headers, "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data=body, headers=headers, method=method)
        try:
            with _DIRECT.open(request, timeout=limit_s) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise Refused(error.code, _json_of(error.read()), _seconds(error.headers.get("Retry-After"))) from None
        except (OSError, ValueError) as error:
            raise Unreachable(f"the service at {self._url} does not answer: {error}") from error


def _json_of(text):
    try:
        body = json.loads(text)
        return body if isinstance(body, dict) else {}
    except ValueError:
        return {}


def _seconds(text):
    return float(text) if text and text.replace(".", "", 1).isdigit() else None
