"""Evaluations on Modal, for the front: an id names a call that Modal keeps, so no process of this package must persist.

`calls` starts and finds Modal's function calls, `table` is a Dict of Modal's: see modal_app. Both outlive containers;
Modal keeps results and entries for seven days.
"""
import asyncio
import hashlib
import json
import time

from .evaluations import ApiError, digest

KEPT = 4096  # calls and entries that this process caches, so that polls ask Modal for new ones only
CHUNK = 8  # evaluations of one batch that one container receives together
ABOUT_LIMIT_S = 20  # a cold GPU container takes longer: the client is asked to retry


class ModalBackend:
    """`calls`: `start(evaluations)` and `ask(name, *arguments)` give a call's id, `result(id)` its result when there is
    one, `cancel(id)`. `table`: `get(key)`, `put(key, value)`, `put_new(key, value)` -> whether it was new."""

    def __init__(self, calls, table, deployment, width):
        self._calls, self._table, self._deployment, self._width = calls, table, deployment, width
        self._entries, self._watches = {}, {}  # by evaluation, by call

    async def submit(self, evaluations):
        known = await asyncio.gather(*(self._entry(each["id"]) for each in evaluations))
        for evaluation, entry in zip(evaluations, known, strict=True):
            _check_same(evaluation, entry)
        fresh = {each["id"]: each for each, entry in zip(evaluations, known, strict=True) if entry is None}
        new = await self._start(list(fresh.values()))
        return [({"id": each["id"], "state": "queued"}, each["id"] in new) for each in evaluations]

    async def wait(self, evaluation_id, deadline):
        entry = await self._entry(evaluation_id)
        if entry is None:
            return None
        state = {"id": evaluation_id, "state": "running", "verdict": None, "cause": None,
                 "submitted_at": entry["submitted_at"], "started_at": None, "finished_at": None}
        if entry["cancelled"]:
            return {**state, "state": "cancelled", "cause": "client"}
        result = self._watch(entry["call"])
        await asyncio.wait({result}, timeout=max(0, deadline - time.monotonic()))
        if not result.done():
            return state
        if result.exception() is not None:  # of any kind: the call has ended without a verdict
            return {**state, "state": "cancelled", "cause": f"the call failed: {result.exception()}"}
        return {**state, **result.result()[entry["place"]], "id": evaluation_id}

    async def cancel(self, evaluation_id):
        entry = await self._entry(evaluation_id)
        if entry is None:
            return None
        state = await self.wait(evaluation_id, time.monotonic())
        if state["state"] != "running":
            return state
        self._entries[evaluation_id] = {**entry, "cancelled": True}
        await self._table.put(evaluation_id, self._entries[evaluation_id])
        if entry["alone"]:  # otherwise the verdicts of others would be lost with it
            await self._calls.cancel(entry["call"])
        return {**state, "state": "cancelled", "cause": "client"}

    async def service(self):
        about = await self._ask("about")
        return {**about, "width": self._width}

    async def protocol(self, options):
        found = await self._ask("protocol", options)
        if "error" in found:
            error = found["error"]
            raise ApiError(found["status"], error["class"], error["message"], error["field"])
        return found

    async def _start(self, evaluations):
        """Starts a call; returns the new ids. The call precedes the claim, so that an id in the table always has its call."""
        new = set()
        for begin in range(0, len(evaluations), CHUNK):
            chunk = evaluations[begin:begin + CHUNK]
            call = await self._calls.start(chunk)
            claims = [{"call": call, "place": place, "alone": len(chunk) == 1, "digest": digest(each),
                       "submitted_at": _now(), "cancelled": False} for place, each in enumerate(chunk)]
            was_new = await asyncio.gather(*(self._table.put_new(each["id"], claim)
                                             for each, claim in zip(chunk, claims, strict=True)))
            new |= {each["id"] for each, is_new in zip(chunk, was_new, strict=True) if is_new}
            if not any(was_new):  # another container was first with all of them
                await self._calls.cancel(call)
        return new

    async def _ask(self, name, *arguments):
        """The answer of a GPU container, asked once for each deployment, because it occupies a running one."""
        asked = hashlib.sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()
        key = f"{self._deployment}:{name}:{asked}"
        known = await self._table.get(key)
        if known is None:
            known = {"call": await self._calls.ask(name, *arguments)}
            await self._table.put(key, known)
        if "answer" not in known:
            result = self._watch(known["call"])
            await asyncio.wait({result}, timeout=ABOUT_LIMIT_S)
            if not result.done():
                raise ApiError(503, "starting", "a GPU container is starting", retry_after_s=5)
            if result.exception() is not None:
                await self._table.put(key, None)
                raise ApiError(503, "unavailable", f"no GPU container answers: {result.exception()}", retry_after_s=30)
            known["answer"] = result.result()
            await self._table.put(key, known)
        return known["answer"]

    async def _entry(self, evaluation_id):
        """The entry of an evaluation; only a cancellation changes a known one."""
        if evaluation_id not in self._entries:
            entry = await self._table.get(evaluation_id)
            if entry is None:
                return None
            _remember(self._entries, evaluation_id, entry)
        return self._entries[evaluation_id]

    def _watch(self, call):
        """The future result: one question to Modal for any number of waiting callers."""
        if call not in self._watches:
            _remember(self._watches, call, asyncio.ensure_future(self._calls.result(call)))
        return self._watches[call]


def _remember(known, key, value):
    while len(known) >= KEPT:
        del known[next(iter(known))]
    known[key] = value


def _check_same(evaluation, entry):
    if entry is not None and entry["digest"] != digest(evaluation):
        raise ApiError(409, "conflict", f"the id {evaluation['id']} is there with another body", "id")


def _now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
