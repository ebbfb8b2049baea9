"""Calls of a service on the same machine, without retries, because the caller decides what follows an error."""
import json
import time
import urllib.error
import urllib.request
from urllib.parse import quote

from ..client_http import FULL, Refused, Unreachable, Wire

__all__ = ["Refused", "ServiceCalls", "Unreachable"]

WAIT_S = 30
HEALTH_LIMIT_S = 10
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ServiceCalls:
    def __init__(self, url, key=None):
        self._url = url
        self._wire = Wire(url, {"Authorization": f"Bearer {key}"} if key else {}, patience_s=0)

    def why_not_ready(self):
        """None, or the reason why it is not ready."""
        try:
            with _DIRECT.open(self._url + "/health", timeout=HEALTH_LIMIT_S):
                return None
        except urllib.error.HTTPError as error:
            return _words_of(error)
        except (OSError, ValueError) as error:
            raise Unreachable(f"{self._url} does not answer: {error}") from error

    def service(self):
        return self._call("GET", "/v1/service")

    def protocol(self, options):
        return self._call("POST", "/v1/protocol", {"options": options})

    def cancel(self, evaluation_id):
        return self._call("DELETE", f"/v1/evaluations/{quote(evaluation_id, safe='')}")

    def evaluate(self, evaluation):
        """Submits one evaluation with an id, and waits without a limit for its end. Asks a full service again."""
        while True:
            try:
                self._call("POST", "/v1/evaluations", evaluation)
                break
            except Refused as refused:
                if refused.status != FULL:
                    raise
                time.sleep(refused.retry_after_s or 1)
        path = f"/v1/evaluations/{quote(evaluation['id'], safe='')}?wait_s={WAIT_S}"
        while True:
            found = self._call("GET", path, wait_s=WAIT_S)
            if found["state"] in ("done", "cancelled"):
                return found

    def _call(self, method, path, body=None, wait_s=0):
        return self._wire.call(method, path, body, wait_s=wait_s, may_be_full=True)


def _words_of(error):
    try:
        body = json.load(error)
        return f"it is {body['status']}: {body.get('why')}"
    except (OSError, ValueError, KeyError, TypeError):
        return f"it answers {error.code}"


def as_answer(refused):
    """The error as a value: an exception that crosses processes loses its attributes."""
    return {"status": refused.status,
            "error": {"class": refused.error_class, "message": str(refused), "field": refused.field}}


def unjudged(refused):
    """The state of an evaluation that the service refused."""
    return {"state": "cancelled", "verdict": None, "cause": f"refused: {refused}"}
