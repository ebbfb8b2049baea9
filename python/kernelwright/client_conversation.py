"""Tasks and conversations of the evaluation service: methods of Client, and their types."""
from __future__ import annotations

import time
import urllib.parse
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

from .client_http import Wire
from .client_types import Options, RewardTerms

PromptStyle = Literal["wrapper", "modelnew"]
Messages = list[dict[str, str]]
"""Chat messages: {"role": "system" | "user" | "assistant", "content": text}."""

TURN_S = 30.0  # a call waits so long for a verdict, and is then repeated
MOST_TASKS = 1000  # of one list

T = TypeVar("T")


@dataclass(frozen=True)
class TaskInfo:
    """A task that the service has: give its `id` as `task_id`, and its `version` as `task_version` to pin it."""

    id: str
    version: str
    source: str
    sample_key: str
    name: str | None = None
    level: str | None = None
    problem_id: str | None = None
    licence: str | None = None
    repo: str | None = None


@dataclass(frozen=True)
class TaskPrompt(TaskInfo):
    """A task with its prompt."""

    prompt_style: str = "wrapper"
    messages: tuple[dict[str, str], ...] = ()


@dataclass(frozen=True)
class TurnResult:
    """The result of one completion."""

    turn: int
    judged: bool
    """False: the service gave no verdict, through no fault of the completion; send it, or another one, again."""
    verdict: dict[str, Any] | None
    """The verdict in short; get(evaluation) has the whole one."""
    feedback: str | None
    """The next message to the model; None after the last turn."""
    reward: float | None
    """None where task or infrastructure are to blame, so that it says nothing."""
    done: bool
    stop_reason: str | None
    best_turn: int | None
    evaluation: str | None
    not_judged: str | None
    """The reason where `judged` is False."""

    @property
    def correct(self) -> bool:
        """Whether the kernel is right and the answer counts."""
        return self.verdict is not None and self.verdict["status"] == "correct" and self.verdict["counts"] is True

    @property
    def speedup(self) -> float | None:
        return None if self.verdict is None else self.verdict["speedup"]


class Conversation:
    """One task, a model's completions in turns, and the service's verdicts and feedback. The state lies in the service:
    Client.resume(id) continues after a restart of either side. Not for several threads at once."""

    def __init__(self, calls: ConversationCalls, state: Mapping[str, Any]) -> None:
        self._calls = calls
        self._take(state)

    def turn(self, completion: str, *, finish_reason: str | None = None, limit_s: float | None = None) -> TurnResult:
        """Sends the model's answer to `observation`, and waits for its verdict. `finish_reason`: "length" where the answer
        was cut at its limit, so that the feedback says so. `limit_s`: seconds after which the call returns without a verdict;
        the service goes on judging, and the same completion, sent again, attaches."""
        if self.next_turn is None:
            raise ValueError(f"the conversation {self.id} has ended: {self.stop_reason}")
        end, left_s = None if limit_s is None else time.monotonic() + limit_s, limit_s
        while True:
            wait_s = TURN_S if left_s is None else min(TURN_S, left_s)
            body = {"turn": self.next_turn, "completion": completion, "finish_reason": finish_reason, "wait_s": wait_s}
            state = self._calls._wire.call("POST", f"{_path(self.id)}/turns", body, wait_s=wait_s, patience_s=left_s,
                                           limit_s=left_s)
            if end is not None:
                left_s = max(0.0, end - time.monotonic())
            if state["state"] != "judging" or state["result"]["judged"] or left_s == 0:
                break
        self._take(state)
        result = state["result"]
        why = None if result["judged"] else state["not_judged"] or state["why"] or f"no verdict within {limit_s} s"
        return TurnResult(turn=result["turn"], judged=result["judged"], verdict=result["verdict"],
                          feedback=result["feedback"], reward=result["reward"], done=self.done,
                          stop_reason=self.stop_reason, best_turn=self.best_turn, evaluation=result["evaluation"],
                          not_judged=why)

    async def turn_async(self, completion: str, *, finish_reason: str | None = None) -> TurnResult:
        """As turn(), on a separate thread. Cancelling the task leaves the turn to the service."""
        return await self._calls.on_thread([], lambda: self.turn(completion, finish_reason=finish_reason))

    def state(self) -> dict[str, Any]:
        """The whole state: all messages, and the history of the turns."""
        return self._calls._wire.call("GET", _path(self.id))

    def end(self, *, patience_s: float | None = None) -> None:
        """Ends it; a turn that is being judged is cancelled. `patience_s`: as the client's, for this call."""
        self._take(self._calls._wire.call("DELETE", _path(self.id), patience_s=patience_s))

    def _take(self, state: Mapping[str, Any]) -> None:
        self.id: str = state["id"]
        self.task_id: str = state["task_id"]
        self.task_version: str = state["task_version"]
        self.turns: int = state["turns"]
        """The maximum number of turns."""
        self.next_turn: int | None = state["turn"]
        """None once it has ended."""
        self.observation: Messages = state["observation"]
        """The messages since the last turn: the prompt, then the feedback; empty once it has ended."""
        self.done: bool = state["done"]
        self.stop_reason: str | None = state["stop_reason"]
        self.best_turn: int | None = state["best_turn"]
        self.expires_at: str | None = state["expires_at"]


class ConversationCalls:
    """The methods of Client for tasks and conversations."""

    _wire: Wire

    async def on_thread(self, ids: list[str], work: Callable[[], T]) -> T:
        raise NotImplementedError

    def tasks(self) -> Iterator[TaskInfo]:
        """The tasks that the service has, in the order of their source."""
        after: str | None = "0"
        while after is not None:
            part = self._wire.call("GET", f"/v1/tasks?after={after}&limit={MOST_TASKS}")
            yield from (_known(TaskInfo, each) for each in part["tasks"])
            after = part["next"]

    def task(self, task_id: str, prompt_style: PromptStyle = "wrapper") -> TaskPrompt:
        """A task with its prompt as chat messages."""
        path = f"/v1/tasks/{urllib.parse.quote(task_id, safe='')}?prompt_style={urllib.parse.quote(prompt_style)}"
        found = self._wire.call("GET", path)
        return _known(TaskPrompt, {**found, "messages": tuple(found["messages"])})

    def conversation(self, task_id: str, *, task_version: str | None = None, turns: int | None = None,
                     prompt_style: PromptStyle | None = None, target_speedup: float | None = None,
                     options: Options | None = None, reward: RewardTerms | None = None,
                     id: str | None = None) -> Conversation:
        """Opens a conversation. With an `id` of yours, an equal request finds the conversation that exists."""
        body = {"task_id": task_id, "task_version": task_version, "turns": turns, "prompt_style": prompt_style,
                "target_speedup": target_speedup, "options": options, "reward": reward,
                "id": id or f"py-{uuid.uuid4().hex}"}  # a broken connection opens no second one
        return Conversation(self, self._wire.call("POST", "/v1/conversations", body))

    async def conversation_async(self, task_id: str, **fields: Any) -> Conversation:
        """As conversation(), on a separate thread."""
        return await self.on_thread([], lambda: self.conversation(task_id, **fields))

    def resume(self, conversation_id: str) -> Conversation:
        """A conversation that exists, by its id; waits for a turn that is being judged."""
        while True:
            state = self._wire.call("GET", f"{_path(conversation_id)}?wait_s={TURN_S:g}", wait_s=TURN_S)
            if state["state"] != "judging":
                return Conversation(self, state)


def _known(kind: Callable[..., T], found: Mapping[str, Any]) -> T:
    """A value of this dataclass; a newer service may state more fields."""
    names = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in found.items() if name in names})


def _path(conversation_id: str) -> str:
    return f"/v1/conversations/{urllib.parse.quote(conversation_id, safe='')}"
