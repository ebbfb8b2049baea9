"""What trainers get for an answer: one place waits for its verdict within a time limit, says "not judged", and turns a
verdict into a reward and metrics. For kernelwright.verl, .slime, .trl, .verifiers and .tinker. Documented in docs/rewards.md.

A reward of 0 means that the kernel was judged and earned nothing. What was not judged is never a reward: it is NotJudged.
"""
from __future__ import annotations

import functools
import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .client import Client
from .client_batch import path_of
from .client_conversation import Conversation, TurnResult
from .client_http import Refused, Unreachable
from .client_types import Evaluation, evaluation_of

__all__ = ["WAIT_S", "NotJudged", "Outcome", "best_reward", "judge_within", "metrics_of", "outcome_of", "shared_client",
           "turn_within"]

WAIT_S = 600.0  # of an adapter, unless it is told another limit
POLL_S = 30.0  # a call waits so long for a verdict, and is then repeated
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0  # before an answer is judged again after a fault of the infrastructure
NOT_FOUND = 404
TRUST_LEVELS = {"interpreter": 1, "in-process": 2, "replay": 3}  # those of Harbor's reward.json


class NotJudged(RuntimeError):
    """There is no verdict on the kernel, through no fault of it: the infrastructure failed for longer than the limit, or the
    task itself is broken. It is no reward of 0: leave the sample out."""


@dataclass(frozen=True)
class Outcome:
    """A reward, with metrics that always have the same names and are numbers."""

    reward: float
    metrics: dict[str, float]


@functools.lru_cache(maxsize=16)
def shared_client(evaluator: str | None) -> Client:
    """One client for each URL, for functions that trainers call for each sample."""
    return Client(evaluator)


def outcome_of(evaluation: Evaluation) -> Outcome:
    """Raises NotJudged where the evaluation says nothing about the kernel."""
    verdict = evaluation.verdict
    if verdict is None:
        raise NotJudged(f"not judged: the evaluation {evaluation.id} was cancelled ({evaluation.cause})")
    if evaluation.reward is None:
        why = verdict.get("error") or verdict.get("error_class")
        raise NotJudged(f"not judged: fault of the {verdict.get('fault')}: {why}")
    return Outcome(float(evaluation.reward), metrics_of(verdict))


def metrics_of(verdict: Mapping[str, Any]) -> dict[str, float]:
    """`speedup` is 0 where no speed is known, which `speedup_known` says. `correct`: right, and it counts."""
    speedup = verdict.get("speedup")
    return {"correct": float(verdict.get("status") == "correct" and verdict.get("counts") is True),
            "right": float(verdict.get("status") == "correct"),
            "speedup": float(speedup or 0), "speedup_known": float(speedup is not None),
            "trust_level": float(TRUST_LEVELS.get(str(verdict.get("trust")), 0))}


def best_reward(results: Iterable[TurnResult]) -> float | None:
    """The reward of a conversation: that of its best turn, 0 without a turn. None where a turn was not judged, because it
    may have been better."""
    rewards = [each.reward if each.judged else None for each in results]
    known = [each for each in rewards if each is not None]
    return None if len(known) < len(rewards) else max(known, default=0.0)


def judge_within(client: Client, request: Mapping[str, Any], wait_s: float = WAIT_S) -> Evaluation:
    """The evaluation of this request, which has no `id`: the id is made of the content, so that the same request of another
    process, or after a restart, attaches to the same evaluation. After a fault of the infrastructure it is judged again, until
    `wait_s` seconds have passed: then NotJudged. The service goes on judging, and a later call finds the verdict."""
    limit = _Limit(wait_s)
    request = {**request, "completion": _sent(request["completion"])}
    same = _content({"request": request, "protocol": _protocol(client, request, limit)})
    pause_s, tries, trouble = FIRST_PAUSE_S, 0, "no verdict"
    while True:
        asked = {**request, "id": f"content-{same}-{tries}"}
        found = _wait(client, asked, limit, trouble)
        if found.over and not _may_pass(found):
            return found
        trouble = found.cause or found.state if found.verdict is None else str(found.verdict.get("error"))
        limit.pause(pause_s, trouble)
        pause_s, tries = min(LONGEST_PAUSE_S, pause_s * 2), tries + 1


def turn_within(conversation: Conversation, completion: str, wait_s: float = WAIT_S, *,
                finish_reason: str | None = None) -> TurnResult:
    """The result of this turn. It is sent again after a fault of the infrastructure, until `wait_s` seconds have passed: then
    NotJudged. The service goes on judging."""
    limit, pause_s, trouble = _Limit(wait_s), FIRST_PAUSE_S, "no verdict"
    while True:
        try:
            result = conversation.turn(_sent(completion), finish_reason=finish_reason, limit_s=limit.left(trouble))
        except Unreachable as unreachable:
            raise limit.over(str(unreachable)) from unreachable
        if result.judged:
            return result
        trouble = result.not_judged or trouble
        if conversation.done:  # it expired, or somebody has ended it
            raise NotJudged(f"not judged: the conversation has ended ({conversation.stop_reason}): {trouble}")
        limit.pause(pause_s, trouble)
        pause_s = min(LONGEST_PAUSE_S, pause_s * 2)


class _Limit:
    """A time limit; once it has passed, everything raises NotJudged."""

    def __init__(self, wait_s: float) -> None:
        if not 0 < wait_s < float("inf"):
            raise ValueError(f"wait_s is {wait_s}: give a number of seconds above 0")
        self._wait_s, self._end = wait_s, time.monotonic() + wait_s

    def left(self, trouble: str) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise self.over(trouble)
        return left

    def pause(self, pause_s: float, trouble: str) -> None:
        if self.left(trouble) <= pause_s:
            raise self.over(trouble)
        time.sleep(pause_s)

    def over(self, trouble: str) -> NotJudged:
        return NotJudged(f"not judged within {self._wait_s:g} s: {trouble}")


def _sent(completion: str) -> str:
    """Half a surrogate pair, which the arguments of a tool call may contain, is no text: the service would refuse it."""
    return completion.encode("utf-8", "replace").decode("utf-8")


def _may_pass(found: Evaluation) -> bool:
    """Whether the same may be judged in another try."""
    return found.verdict is None or found.verdict.get("fault") == "infrastructure"


def _wait(client: Client, asked: Mapping[str, Any], limit: _Limit, trouble: str) -> Evaluation:
    """Its evaluation once it has ended."""
    path, submitted = path_of(asked["id"]), False
    while True:
        left_s = limit.left(trouble)
        try:
            if not submitted:
                client._wire.call("POST", "/v1/evaluations", asked, patience_s=left_s, limit_s=left_s)
                submitted = True
                left_s = limit.left(trouble)
            poll_s = min(POLL_S, left_s)
            answer = client._wire.call("GET", f"{path}?wait_s={poll_s:.3f}", wait_s=poll_s, patience_s=left_s, limit_s=left_s)
        except Unreachable as unreachable:
            raise limit.over(str(unreachable)) from unreachable
        except Refused as refused:
            if not submitted or refused.status != NOT_FOUND:
                raise
            submitted = False  # the service has lost it
            continue
        found = evaluation_of(answer, asked)
        if found.over:
            return found


def _protocol(client: Client, request: Mapping[str, Any], limit: _Limit) -> str:
    """What the verdict depends on besides the request, such as the service's options: another protocol is another
    evaluation. Asked once a client and options."""
    options = request.get("options") or {}
    known, key = client._protocols, _content(options)
    if key not in known:
        left_s = limit.left("the service does not answer")
        try:
            answer = client._wire.call("POST", "/v1/protocol", {"options": options}, patience_s=left_s, limit_s=left_s)
        except Unreachable as unreachable:
            raise limit.over(str(unreachable)) from unreachable
        known[key] = str(answer["protocol"])
    return known[key]


def _content(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()[:40]
