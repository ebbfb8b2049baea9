"""The HTTP of the evaluation service: JSON both ways, errors as exceptions, retries while the service restarts."""
from __future__ import annotations

import http.client
import ipaddress
import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, NoReturn

ANSWER_S = 30.0  # on top of the time that a call asks to wait
LEAST_ANSWER_S = 1.0  # where the caller's limit is nearly over
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0
FULL = 429


class ServiceError(RuntimeError):
    """There is no evaluation; the text gives the reason and a remedy. The kernel is never at fault."""


class Unreachable(ServiceError):
    """The service did not answer, or accepted no new work, for longer than the client's patience."""


class Refused(ServiceError):
    """The service refused the request: `status` of HTTP, `error_class` and `field` of its error."""

    def __init__(self, message: str, status: int, error_class: str | None = None, field: str | None = None,
                 retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.status, self.error_class, self.field, self.retry_after_s = status, error_class, field, retry_after_s


class Wire:
    """Calls of one service. `patience_s`: how long passing errors are retried, namely broken connections and answers that
    allow another try."""

    def __init__(self, url: str, headers: dict[str, str], patience_s: float) -> None:
        self._url, self.patience_s, self.closed = url, patience_s, False
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        self._loopback = _is_loopback(url)

    def call(self, method: str, path: str, body: Any = None, *, wait_s: float = 0, may_be_full: bool = False,
             patience_s: float | None = None, limit_s: float | None = None) -> dict[str, Any]:
        """The answer's JSON. `wait_s`: the time that the service may take. `may_be_full`: a full service is a valid answer.
        `limit_s`: the longest time for the call, with its retries."""
        if self.closed:
            raise ServiceError("the client is closed: call it within its `with` statement, or make another one")
        patience_s = self.patience_s if patience_s is None else patience_s
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        began = time.monotonic()
        give_up, pause_s = began + patience_s, FIRST_PAUSE_S
        while True:
            answer_s = wait_s + ANSWER_S
            if limit_s is not None:
                answer_s = min(answer_s, max(LEAST_ANSWER_S, began + limit_s - time.monotonic()))
            try:
                return self._once(method, path, data, answer_s)
            except Refused as refused:
                if refused.retry_after_s is None or (may_be_full and refused.status == FULL):
                    raise
                trouble: ServiceError = refused
                asked_s = refused.retry_after_s
            except Unreachable as unreachable:
                trouble, asked_s = unreachable, 0.0
            wait = max(asked_s, pause_s * random.uniform(0.5, 1))
            if time.monotonic() + wait > give_up:
                if patience_s:
                    raise Unreachable(f"nothing from {self._url} for {patience_s:g} s: {trouble}") from trouble
                raise trouble
            time.sleep(wait)
            pause_s = min(LONGEST_PAUSE_S, pause_s * 2)

    def _once(self, method: str, path: str, data: bytes | None, limit_s: float) -> dict[str, Any]:
        request = urllib.request.Request(self._url + path, data, self._headers, method=method)
        try:
            with self._opener().open(request, timeout=limit_s) as answer:
                return _object(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                self._refuse(error)
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            raise Unreachable(f"{method} {self._url}{path.partition('?')[0]}: {reason}") from error

    def _opener(self) -> urllib.request.OpenerDirector:
        if self._loopback:  # without a proxy, whatever the environment says
            return urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler({}))
        return urllib.request.build_opener(_NoRedirects)

    def _refuse(self, error: urllib.error.HTTPError) -> NoReturn:
        try:
            told = _object(error.read()).get("error")
        except (OSError, http.client.HTTPException, ValueError):
            told = None
        told = told if isinstance(told, dict) else {}
        message = told.get("message") or f"{self._url} answered {error.code} {error.reason}"
        if 300 <= error.code < 400:
            message = f"{self._url} redirects to {error.headers.get('Location')}: give the URL of the service itself"
        refused = Refused(message, error.code, told.get("class"), told.get("field"), _retry_after(error))
        raise refused from None  # the refusal says all that its cause does


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    # Following a redirect would send the key to the host that it names.
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _retry_after(error: urllib.error.HTTPError) -> float | None:
    """Seconds after which another try may succeed; None where no try will."""
    if error.code not in (FULL, 502, 503, 504):
        return None
    try:
        return min(600.0, max(0.0, float(error.headers.get("Retry-After", ""))))
    except ValueError:
        return 0.0


def _object(text: bytes) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("the answer is no JSON object; is this the evaluation service?")
    return value


def _is_loopback(url: str) -> bool:
    host = urllib.parse.urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
