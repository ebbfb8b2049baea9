"""Submits many evaluations as the service accepts them, and waits for all of them together."""
from __future__ import annotations

import json
import re
import time
import urllib.parse
from collections.abc import Iterable, Iterator
from typing import Any

from .client_http import Refused, ServiceError, Unreachable, Wire
from .client_types import Evaluation, evaluation_of

POLL_S = 30.0
MOST_IDS = 1000
MOST_LOST = 5  # times that a service may forget an accepted one
ROOM_S = 0.2
BODY_SLACK = 64  # bytes around the list
_PLACE = re.compile(r"^evaluations\[(\d+)\]")


class Batch:
    def __init__(self, wire: Wire, requests: list[dict[str, Any]], max_batch: int, max_body_bytes: int) -> None:
        self._wire, self._max_batch, self._max_bytes = wire, max_batch, max_body_bytes - BODY_SLACK
        self._numbers: dict[str, list[int]] = {}
        for number, request in enumerate(requests):
            self._numbers.setdefault(request["id"], []).append(number)
        self._requests = {request["id"]: request for request in requests}
        self._waiting = list(reversed(self._requests))  # the next one last
        self._in_flight: dict[str, None] = {}  # in the order of their submission
        self._lost: dict[str, int] = {}
        self._chunk = max_batch
        self._next_try = self._progress = time.monotonic()

    def run(self) -> Iterator[tuple[int, Evaluation]]:
        """The numbers of requests and their evaluations, in the order in which they end."""
        while self._waiting or self._in_flight:
            if self._waiting and time.monotonic() >= self._next_try:
                self._submit_some()
            for found in self._ended():
                for number in self._numbers[found.id]:
                    yield number, found

    def cancel_rest(self) -> None:
        cancel_all(self._wire, self._in_flight)

    def _submit_some(self) -> None:
        chunk = self._next_chunk()
        body = {"evaluations": [self._requests[each] for each in chunk]}
        try:
            self._wire.call("POST", "/v1/evaluations/batch", body, may_be_full=True)
        except Refused as refused:
            if refused.retry_after_s is None:
                raise self._placed(refused, chunk) from None
            self._wait_for_room(len(chunk), refused)
            return
        del self._waiting[-len(chunk):]
        self._in_flight.update(dict.fromkeys(chunk))
        self._chunk = min(self._max_batch, self._chunk * 2)
        self._progress = time.monotonic()

    def _wait_for_room(self, tried: int, refused: Refused) -> None:
        # The service may have room for fewer, and evaluations in flight free room when they end.
        self._chunk = max(1, tried // 2)
        self._next_try = time.monotonic() + max(ROOM_S, refused.retry_after_s or 0)
        if not self._in_flight and time.monotonic() - self._progress > self._wire.patience_s:
            raise Unreachable(f"nothing was taken for {self._wire.patience_s:g} s: {refused}") from refused

    def _next_chunk(self) -> list[str]:
        chunk: list[str] = []
        size = 0
        for each in reversed(self._waiting[-self._chunk:]):
            size += len(json.dumps(self._requests[each], allow_nan=False)) + 2
            if chunk and size > self._max_bytes:
                break
            chunk.append(each)
        return chunk

    def _placed(self, refused: Refused, chunk: list[str]) -> Refused:
        """The same results, by the callers' numbers."""
        place = _PLACE.match(refused.field or "")
        if not place or int(place.group(1)) >= len(chunk):
            return refused
        number = self._numbers[chunk[int(place.group(1))]][0]
        field = _PLACE.sub(f"requests[{number}]", refused.field or "")
        what = str(refused).removeprefix(f"{place.group(0)}: ")  # its number within this part
        return Refused(f"requests[{number}]: {what}", refused.status, refused.error_class, field)

    def _ended(self) -> list[Evaluation]:
        until_try = max(0.0, self._next_try - time.monotonic()) if self._waiting else POLL_S
        if not self._in_flight:
            time.sleep(until_try)
            return []
        wait_s = min(POLL_S, until_try)
        ids = list(self._in_flight)[:MOST_IDS]
        answer = self._wire.call("POST", "/v1/evaluations/poll", {"ids": ids, "wait_s": wait_s}, wait_s=wait_s)
        found = [evaluation_of(each, self._requests.get(each["id"])) for each in answer["evaluations"]]
        for each in found:
            self._in_flight.pop(each.id, None)
            if not each.over:
                self._tell_again(each.id)
        if found:
            self._progress = time.monotonic()
        return [each for each in found if each.over]

    def _tell_again(self, evaluation_id: str) -> None:
        self._lost[evaluation_id] = self._lost.get(evaluation_id, 0) + 1
        if self._lost[evaluation_id] > MOST_LOST:
            raise forgotten(evaluation_id)
        self._waiting.append(evaluation_id)


def forgotten(evaluation_id: str) -> ServiceError:
    return ServiceError(f"the service has forgotten {evaluation_id} {MOST_LOST} times: is its --retention too short?")


def cancel_all(wire: Wire, ids: Iterable[str]) -> None:
    if wire.closed:
        return
    for each in ids:
        try:
            wire.call("DELETE", path_of(each), patience_s=0)
        except Refused:
            pass  # the service does not have it
        except Unreachable:
            return  # the service is unreachable, so the others cannot be judged either


def path_of(evaluation_id: str) -> str:
    return f"/v1/evaluations/{urllib.parse.quote(evaluation_id, safe='')}"
