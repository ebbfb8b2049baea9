"""A client of the evaluation service, `kernelwright serve`: sends candidates and receives verdicts.

with Client("http://127.0.0.1:8080") as client:
    evaluation = client.evaluate(reference_code=reference, kernel_code=kernel)
print(evaluation.correct, evaluation.speedup)

Standard library only; safe to use from any thread. Every evaluation has an id under which it is submitted again after a
broken connection or a restart of the service, so that it is judged once. Documented in docs/python-api.md.
"""
from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from .client_batch import MOST_LOST, POLL_S, Batch, cancel_all, forgotten, path_of
from .client_conversation import Conversation, ConversationCalls, TaskInfo, TaskPrompt, TurnResult
from .client_http import Refused, ServiceError, Unreachable, Wire
from .client_types import AnyRequest, Evaluation, Options, Request, RewardTerms, Tolerance, evaluation_of, with_id
from .verdict import Verdict

__all__ = ["Client", "Conversation", "Evaluation", "Evaluator", "Options", "Refused", "Request", "RewardTerms", "ServiceError",
           "TaskInfo", "TaskPrompt", "Tolerance", "TurnResult", "Unreachable", "Verdict", "evaluator_url"]

PATIENCE_S = 600.0
CONCURRENCY = 256
MAX_BATCH, MAX_BODY_BYTES = 100, 16 << 20  # defaults where the service states none
NOT_FOUND = 404

T = TypeVar("T")


class Client(ConversationCalls):
    """The service at a URL, or at the one that `kernelwright deploy` stored as "modal" or "ray"; without either at
    that of KERNELWRIGHT_EVALUATOR. `key` is its bearer key, else KERNELWRIGHT_EVALUATOR_KEY. `patience_s`: how long
    a service that does not answer, or accepts no new work, is asked again. `concurrency`: the number of calls of the
    async methods that wait at a time.

    In a `with` statement the client is closed at the end: it cancels the evaluations that it submitted there and whose end
    no call has returned, and refuses further calls."""

    def __init__(self, url: str | None = None, key: str | None = None, *, patience_s: float = PATIENCE_S,
                 concurrency: int = CONCURRENCY, headers: Mapping[str, str] | None = None) -> None:
        self.url = evaluator_url(url)
        self._wire = Wire(self.url, {**_key_headers(key), **(headers or {})}, patience_s)
        self._concurrency = concurrency
        self._places = threading.Semaphore(concurrency)
        self._limits: tuple[int, int] | None = None
        self._protocols: dict[str, str] = {}  # by the options
        self._open: dict[str, None] | None = None  # ids without an end, within a `with` statement
        self._batches: dict[int, Batch] = {}

    def __enter__(self) -> Self:
        self._open = {}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Cancels what was submitted within the `with` statement and whose end no call has returned, and the batches that run;
        a service that does not answer is not asked again. Further calls raise ServiceError. Each call has a connection of its
        own, so that none stays open. Closing twice does nothing."""
        if self._wire.closed:
            return
        left, self._open = list(self._open or ()), None
        cancel_all(self._wire, left)
        for batch in list(self._batches.values()):
            batch.cancel_rest()
        self._wire.closed = True

    def evaluate(self, request: AnyRequest | None = None, /, **fields: Any) -> Evaluation:
        """Submits one and waits for its end. The fields of Request are given as a mapping, by name, or both."""
        return self._evaluate(with_id({**(request or {}), **fields}))

    async def evaluate_async(self, request: AnyRequest | None = None, /, **fields: Any) -> Evaluation:
        """As evaluate(), on a separate thread. Cancelling the task cancels the evaluation."""
        asked = with_id({**(request or {}), **fields})
        return await self.on_thread([asked["id"]], lambda: self._evaluate(asked))

    def as_completed(self, requests: Iterable[AnyRequest]) -> Iterator[tuple[int, Evaluation]]:
        """Submits all, and yields the number and the evaluation of each as they end. Evaluations that exceed the service's
        capacity wait here. Closing the iterator early cancels the submitted ones."""
        asked = [with_id(each, f"requests[{number}]") for number, each in enumerate(requests)]
        if not asked:
            return
        batch = Batch(self._wire, asked, *self._batch_limits())
        self._batches[id(batch)] = batch
        try:
            yield from batch.run()
        finally:
            self._batches.pop(id(batch), None)
            batch.cancel_rest()

    def evaluate_many(self, requests: Iterable[AnyRequest]) -> list[Evaluation]:
        """The evaluations of all, in their order."""
        found = dict(self.as_completed(requests))
        return [found[number] for number in range(len(found))]

    async def evaluate_many_async(self, requests: Iterable[AnyRequest]) -> list[Evaluation]:
        """As evaluate_many(), on a separate thread. Cancelling the task cancels the evaluations."""
        asked = [with_id(each, f"requests[{number}]") for number, each in enumerate(requests)]
        return await self.on_thread([each["id"] for each in asked], lambda: self.evaluate_many(asked))

    def submit(self, request: AnyRequest | None = None, /, **fields: Any) -> str:
        """Submits one, and returns its id without waiting for its end."""
        asked = with_id({**(request or {}), **fields})
        self._began(asked["id"])
        self._wire.call("POST", "/v1/evaluations", asked)
        return str(asked["id"])

    def get(self, evaluation_id: str, wait_s: float = 0) -> Evaluation:
        """Its state: once it has ended, or after `wait_s` seconds (the service allows at most 60)."""
        return self._got(evaluation_id, wait_s)

    def cancel(self, evaluation_id: str) -> Evaluation:
        """Cancels it, unless it has ended."""
        return self._ended(evaluation_of(self._wire.call("DELETE", path_of(evaluation_id))))

    def service(self) -> dict[str, Any]:
        """The service's description: version, protocol, device, gpus, width, settings, environment, limits."""
        return self._wire.call("GET", "/v1/service")

    def protocol(self, options: Options | None = None) -> str:
        """The protocol of verdicts with these options: verdicts of equal protocols can be compared."""
        return str(self._wire.call("POST", "/v1/protocol", {"options": options or {}})["protocol"])

    def ready(self) -> bool:
        """Whether the service can judge at present."""
        try:
            return self._wire.call("GET", "/health", patience_s=0).get("status") == "ready"
        except ServiceError:
            return False

    def _evaluate(self, asked: dict[str, Any]) -> Evaluation:
        self._began(asked["id"])
        for _ in range(1 + MOST_LOST):
            self._wire.call("POST", "/v1/evaluations", asked)
            try:
                while not (found := self._got(asked["id"], POLL_S, asked)).over:
                    pass
                return found
            except Refused as refused:
                if refused.status != NOT_FOUND:
                    raise  # otherwise the service has lost it, and it is submitted again
            except KeyboardInterrupt:
                cancel_all(self._wire, [asked["id"]])
                raise
        raise forgotten(asked["id"])

    def _got(self, evaluation_id: str, wait_s: float, asked: AnyRequest | None = None) -> Evaluation:
        answer = self._wire.call("GET", f"{path_of(evaluation_id)}?wait_s={wait_s:g}", wait_s=wait_s)
        return self._ended(evaluation_of(answer, asked))

    def _began(self, evaluation_id: str) -> None:
        if (left := self._open) is not None:
            left[evaluation_id] = None

    def _ended(self, found: Evaluation) -> Evaluation:
        if found.over and (left := self._open) is not None:
            left.pop(found.id, None)
        return found

    def _batch_limits(self) -> tuple[int, int]:
        if self._limits is None:
            limits = self.service().get("limits") or {}
            self._limits = (int(limits.get("max_batch") or MAX_BATCH), int(limits.get("max_body_bytes") or MAX_BODY_BYTES))
        return self._limits

    async def on_thread(self, ids: list[str], work: Callable[[], T]) -> T:
        """The result of blocking work on a thread, of which a bounded number runs at a time. If the caller is cancelled, the
        evaluations `ids` are cancelled."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[T] = loop.create_future()

        def run() -> None:
            try:
                with self._places:
                    value = work()
            except BaseException as error:
                _tell(loop, ended, ended.set_exception, error)
            else:
                _tell(loop, ended, ended.set_result, value)

        # A daemon thread does not keep a program from ending.
        threading.Thread(target=run, name="kernelwright", daemon=True).start()
        try:
            return await ended
        except asyncio.CancelledError:
            threading.Thread(target=cancel_all, args=(self._wire, ids), name="kernelwright", daemon=True).start()
            raise

    # Trainers pass reward functions to worker processes, by pickling.
    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_places", "_open", "_batches")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._places = threading.Semaphore(self._concurrency)
        self._open, self._batches = None, {}


Evaluator = Client  # the former name


def evaluator_url(name: str | None = None) -> str:
    """The URL of an evaluator: a URL itself, or "modal" or "ray" as `kernelwright deploy` stored it; without a name
    that of the environment variable KERNELWRIGHT_EVALUATOR."""
    name = name or os.environ.get("KERNELWRIGHT_EVALUATOR", "")
    if "://" in name:
        return name.rstrip("/")
    if name in ("", "local"):
        raise ServiceError("no evaluator is named: give the URL of one, or set KERNELWRIGHT_EVALUATOR")
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    path = os.path.join(folder, "kernelwright", "evaluators.json")
    try:
        with open(path, encoding="utf-8") as file:
            return str(json.load(file)[name]["url"]).rstrip("/")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ServiceError(f"{path} knows no evaluator {name!r}: give a URL, or call `kernelwright deploy` first") from error


def _key_headers(key: str | None) -> dict[str, str]:
    key = key or os.environ.get("KERNELWRIGHT_EVALUATOR_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    # The credentials of Modal's proxy, where the environment has them.
    for name, variable in (("Modal-Key", "MODAL_KEY"), ("Modal-Secret", "MODAL_SECRET")):
        if value := os.environ.get(variable):
            headers[name] = value
    return headers


def _tell(loop: asyncio.AbstractEventLoop, ended: asyncio.Future[Any], tell: Callable[[Any], None], what: Any) -> None:
    try:
        loop.call_soon_threadsafe(lambda: None if ended.done() else tell(what))
    except RuntimeError:
        pass  # the loop has ended, and no caller waits
