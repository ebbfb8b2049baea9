"""The service's HTTP interface in Python, over any backend that places evaluations: an ASGI application.

It handles only ids, states and waiting; the service that judges an evaluation also checks it. docs/openapi.json
describes the interface of both.
"""
import asyncio
import hmac
import json
import re
import time
import uuid
from typing import Protocol

from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from .evaluations import ApiError, is_over

WAIT_MAX_S = 60
BATCH_MAX = POLL_MAX = 1000
BODY_MAX_BYTES = 64 << 20
ID_MAX = 256
_ID = re.compile(r"[\x21-\x7e]+")


class Backend(Protocol):
    """Places evaluations. An evaluation's state is a dict as GET /v1/evaluations/ID gives it."""

    async def submit(self, evaluations):
        """Submits all or none: [(state, whether it was new)]. ApiError 409 where an id exists with another body."""

    async def wait(self, evaluation_id, deadline):
        """Its state once it has ended or the monotonic deadline has passed; None where it is unknown."""

    async def cancel(self, evaluation_id):
        """Its state afterwards; None where it is unknown."""

    async def service(self):
        """As GET /v1/service gives it."""

    async def protocol(self, options):
        """As POST /v1/protocol gives it."""


def application(backend, key=None):
    """The ASGI application. With a key, every path but /health requires it."""
    front = _Front(backend, key)
    routes = [Route("/v1/evaluations", front.submit, methods=["POST"]),
              Route("/v1/evaluations/batch", front.submit_batch, methods=["POST"]),
              Route("/v1/evaluations/poll", front.poll, methods=["POST"]),
              Route("/v1/evaluations/{id:path}", front.look, methods=["GET"]),
              Route("/v1/evaluations/{id:path}", front.cancel, methods=["DELETE"]),
              Route("/v1/service", front.service, methods=["GET"]),
              Route("/v1/protocol", front.protocol, methods=["POST"]),
              Route("/health", front.health, methods=["GET"])]
    errors = {ApiError: _refused, 404: _no_route, 405: _no_method}
    return Starlette(routes=routes, exception_handlers=errors)


class _Front:
    def __init__(self, backend, key):
        self._backend, self._key = backend, key

    async def submit(self, request):
        [(state, is_new)] = await self._backend.submit([_evaluation(await self._body(request))])
        return JSONResponse(_receipt(state), 202 if is_new else 200)

    async def submit_batch(self, request):
        rows = (await self._body(request)).get("evaluations")
        if not isinstance(rows, list) or len(rows) > BATCH_MAX:
            raise ApiError(400, "invalid", f"evaluations must be a list of at most {BATCH_MAX}", "evaluations")
        evaluations = [_evaluation(row, f"evaluations[{number}].") for number, row in enumerate(rows)]
        states = await self._backend.submit(evaluations)
        return JSONResponse({"evaluations": [_receipt(state) for state, _ in states]}, 202)

    async def look(self, request):
        self._check_key(request)
        wait_s = _wait(request.query_params.get("wait_s", "0"))
        return _found(await self._backend.wait(request.path_params["id"], time.monotonic() + wait_s))

    async def cancel(self, request):
        self._check_key(request)
        return _found(await self._backend.cancel(request.path_params["id"]))

    async def poll(self, request):
        body = await self._body(request)
        ids = body.get("ids")
        if not isinstance(ids, list) or len(ids) > POLL_MAX or not all(isinstance(each, str) for each in ids):
            raise ApiError(400, "invalid", f"ids must be a list of at most {POLL_MAX} strings", "ids")
        states = await self._first_over(ids, time.monotonic() + _wait(body.get("wait_s", 0)))
        return JSONResponse({"evaluations": states})

    async def service(self, request):
        self._check_key(request)
        limits = {"max_body_bytes": BODY_MAX_BYTES, "max_batch": BATCH_MAX}
        about = await self._backend.service()
        return JSONResponse({**about, "limits": {**(about.get("limits") or {}), **limits}})

    async def protocol(self, request):
        body = await self._body(request)
        return JSONResponse(await self._backend.protocol(body.get("options") or {}))

    async def health(self, request):
        try:
            await self._backend.service()
        except ApiError as why:
            return JSONResponse({"status": "starting", "why": str(why)}, 503, headers={"Retry-After": "5"})
        return JSONResponse({"status": "ready"})

    async def _first_over(self, ids, deadline):
        """States of evaluations that have ended or are unknown, as soon as one exists or the deadline has passed."""
        waits = {each: asyncio.ensure_future(self._backend.wait(each, deadline)) for each in dict.fromkeys(ids)}
        pending, over = set(waits.values()), False
        try:
            while pending and not over:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                over = any(each.result() is None or is_over(each.result()) for each in done)
        finally:
            for each in pending:
                each.cancel()
        ended = ((name, each.result()) for name, each in waits.items() if each.done() and not each.cancelled())
        return [state or {"id": name, "state": "unknown"} for name, state in ended if state is None or is_over(state)]

    async def _body(self, request):
        self._check_key(request)
        text = bytearray()
        async for chunk in request.stream():
            text += chunk
            if len(text) > BODY_MAX_BYTES:
                raise ApiError(413, "too_large", f"the body is larger than {BODY_MAX_BYTES} bytes")
        try:
            body = json.loads(text)
        except ValueError as error:
            raise ApiError(400, "invalid", f"the body is no JSON: {error}") from None
        if not isinstance(body, dict):
            raise ApiError(400, "invalid", "the body must be a JSON object")
        return body

    def _check_key(self, request):
        given = request.headers.get("authorization", "")
        if self._key is not None and not hmac.compare_digest(given.encode(), f"Bearer {self._key}".encode()):
            raise ApiError(401, "unauthorized", "a key is needed: Authorization: Bearer KEY")


def _evaluation(body, where=""):
    if not isinstance(body, dict):
        raise ApiError(400, "invalid", "an evaluation must be an object", where.rstrip(".") or None)
    source = "completion" if "completion" in body else "kernel_code"
    for name in ("reference_code", source):
        if not isinstance(body.get(name), str):
            raise ApiError(400, "invalid", f"{name} must be a string", where + name)
    name = body.get("id") or uuid.uuid4().hex
    if not isinstance(name, str) or len(name) > ID_MAX or not _ID.fullmatch(name):
        raise ApiError(400, "invalid", f"id must be a string of 1 to {ID_MAX} printable characters", where + "id")
    return {**body, "id": name}


def _wait(value):
    try:
        wait_s = float(value)
    except (TypeError, ValueError):
        wait_s = -1
    if not 0 <= wait_s <= WAIT_MAX_S:
        raise ApiError(400, "invalid", f"wait_s must be a number from 0 to {WAIT_MAX_S}", "wait_s")
    return wait_s


def _receipt(state):
    return {"id": state["id"], "state": state["state"]}


def _found(state):
    if state is None:
        raise ApiError(404, "not_found", "there is no evaluation of that id")
    return JSONResponse(state)


def _answer(error):
    headers = {"Retry-After": str(error.retry_after_s)} if error.retry_after_s else None
    body = {"error": {"class": error.error_class, "message": str(error), "field": error.field}}
    return JSONResponse(body, error.status, headers=headers)


async def _refused(_, error):
    return _answer(error)


async def _no_route(_, __):
    return _answer(ApiError(404, "not_found", "there is nothing at that path"))


async def _no_method(_, error):
    response = _answer(ApiError(405, "method_not_allowed", "the path takes other methods"))
    response.headers.update(error.headers or {})
    return response
