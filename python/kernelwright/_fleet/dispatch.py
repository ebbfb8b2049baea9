"""Keeps evaluations in flight over replicas that may die: places each again until one verdict has come back.

The table lives in this process's memory. The service in front stores everything that must survive it, and submits again
under the same ids after a restart. Once an ending has been fetched, an evaluation of the same id is a new one.
"""
import asyncio
import time
import uuid
from dataclasses import dataclass, field

from .evaluations import ApiError, digest, is_over

TRIES = 5  # of one evaluation whose replica died each time: it is then probably the cause
KEEP_S = 600  # an ended one can be fetched again for this time
BACKOFF_S = 0.5


class ReplicaLost(Exception):
    """The replica and its evaluations in flight are lost."""


class Saturated(Exception):
    """The queue of every replica is full."""


@dataclass
class _Entry:
    evaluation: dict
    state: dict
    over: asyncio.Event = field(default_factory=asyncio.Event)
    work: asyncio.Task = None
    kept_since: float = 0
    was_fetched: bool = False

    @property
    def is_spent(self):
        return self.was_fetched and is_over(self.state)


class Dispatcher:
    """A front's backend. `place(evaluation)` gives the state of an evaluation that has ended, with `again` where another
    replica may succeed; it raises the exceptions above. `about()` and `protocol(options)` ask any replica."""

    def __init__(self, place, about, protocol):
        self._place, self.service, self.protocol = place, about, protocol
        self._entries = {}

    async def submit(self, evaluations):
        self._forget_old()
        for evaluation in evaluations:
            known = self._entries.get(evaluation["id"])
            if known is not None and not known.is_spent and digest(known.evaluation) != digest(evaluation):
                raise ApiError(409, "conflict", f"the id {evaluation['id']} is there with another body", "id")
        return [self._enter(each) for each in evaluations]

    async def wait(self, evaluation_id, deadline):
        entry = self._entries.get(evaluation_id)
        if entry is None:
            return None
        try:
            await asyncio.wait_for(entry.over.wait(), max(0, deadline - time.monotonic()))
        except TimeoutError:
            pass
        entry.was_fetched = is_over(entry.state)
        return entry.state

    async def cancel(self, evaluation_id):
        entry = self._entries.get(evaluation_id)
        if entry is None:
            return None
        if not is_over(entry.state):
            entry.work.cancel()
            self._end(entry, {"state": "cancelled", "cause": "client"})
        return entry.state

    def _enter(self, evaluation):
        known = self._entries.get(evaluation["id"])
        if known is not None and not known.is_spent:
            return known.state, False
        state = {"id": evaluation["id"], "state": "queued", "verdict": None, "cause": None,
                 "submitted_at": _now(), "started_at": None, "finished_at": None}
        entry = self._entries[evaluation["id"]] = _Entry(evaluation, state)
        entry.work = asyncio.create_task(self._see_through(entry))
        return state, True

    async def _see_through(self, entry):
        lost, why, last = 0, None, None
        # One new id for all placements: a replica that has it already continues, and no replica remembers an earlier one.
        placed = {**entry.evaluation, "id": uuid.uuid4().hex}
        while lost < TRIES:
            entry.state.update(state="running", started_at=entry.state["started_at"] or _now())
            try:
                found = await self._place(placed)
            except Saturated:
                await asyncio.sleep(BACKOFF_S)
                continue
            except ReplicaLost as error:
                why = str(error)
            else:
                again = found.pop("again", False)
                if not again:
                    return self._end(entry, found)
                why, last = found["cause"], found
            lost += 1
            await asyncio.sleep(BACKOFF_S * 2 ** lost)
        if last is None or last["state"] != "done":
            last = {"state": "cancelled", "cause": f"{TRIES} replicas were lost with it: {why}"}
        self._end(entry, last)

    def _end(self, entry, change):
        """Store the ending; the first one stays."""
        if not is_over(entry.state):
            kept = {name: value for name, value in change.items() if name not in ("id", "submitted_at", "started_at")}
            entry.state.update(kept, finished_at=_now())
            entry.kept_since = time.monotonic()
            entry.over.set()

    def _forget_old(self):
        before = time.monotonic() - KEEP_S
        old = [name for name, entry in self._entries.items() if is_over(entry.state) and entry.kept_since < before]
        for name in old:
            del self._entries[name]


def _now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
