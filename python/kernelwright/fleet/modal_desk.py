"""Evaluations on Modal, for the front: an id names a call that Modal keeps, so no process of ours has to stay.

`calls` starts and finds Modal's function calls, `table` is a Dict of Modal's: see modal_app. Both outlive containers;
Modal keeps results and entries for seven days.
"""
import asyncio
import hashlib
import json
import time

from .front import Refusal

CHUNK = 8  # evaluations of one batch that go to one container together
ABOUT_LIMIT_S = 20  # a cold GPU container takes longer: the client is told to come again


class ModalDesk:
    """`calls`: `start(evaluations)` and `ask(name, *arguments)` give a call's id, `result(id, timeout_s)` its result or
    TimeoutError, `cancel(id)`. `table`: `get(key)`, `put(key, value)`, `put_new(key, value)` -> whether it was new."""

    def __init__(self, calls, table, deployment, width):
        self._calls, self._table, self._deployment, self._width = calls, table, deployment, width

    async def submit(self, evaluations):
        known = await asyncio.gather(*(self._table.get(each["id"]) for each in evaluations))
        for evaluation, entry in zip(evaluations, known, strict=True):
            _check_same(evaluation, entry)
        fresh = {each["id"]: each for each, entry in zip(evaluations, known, strict=True) if entry is None}
        new = await self._start(list(fresh.values()))
        return [({"id": each["id"], "state": "queued"}, each["id"] in new) for each in evaluations]

    async def wait(self, evaluation_id, deadline):
        entry = await self._table.get(evaluation_id)
        if entry is None:
            return None
        state = {"id": evaluation_id, "state": "running", "verdict": None, "cause": None,
                 "submitted_at": entry["submitted_at"], "started_at": None, "finished_at": None}
        if entry["cancelled"]:
            return {**state, "state": "cancelled", "cause": "client"}
        try:
            states = await self._calls.result(entry["call"], max(0, deadline - time.monotonic()))
        except TimeoutError:
            return state
        except Exception as error:  # of whatever kind: the call is over, and without a verdict
            return {**state, "state": "cancelled", "cause": f"the call failed: {error}"}
        found = states[entry["place"]]
        return {**state, **found, "id": evaluation_id}

    async def cancel(self, evaluation_id):
        entry = await self._table.get(evaluation_id)
        if entry is None:
            return None
        state = await self.wait(evaluation_id, time.monotonic())
        if state["state"] != "running":
            return state
        await self._table.put(evaluation_id, {**entry, "cancelled": True})
        if entry["alone"]:  # else others' verdicts would go with it
            await self._calls.cancel(entry["call"])
        return {**state, "state": "cancelled", "cause": "client"}

    async def service(self):
        about = await self._ask("about")
        return {**about, "width": self._width}

    async def protocol(self, options):
        found = await self._ask("protocol", options)
        if "error" in found:
            error = found["error"]
            raise Refusal(found["status"], error["class"], error["message"], error["field"])
        return found

    async def _start(self, evaluations):
        """The ids that are new now. The call comes before the claim: an id in the table always has its call."""
        new = set()
        for begin in range(0, len(evaluations), CHUNK):
            chunk = evaluations[begin:begin + CHUNK]
            call = await self._calls.start(chunk)
            claims = [{"call": call, "place": place, "alone": len(chunk) == 1, "digest": _digest(each),
                       "submitted_at": _now(), "cancelled": False} for place, each in enumerate(chunk)]
            was_new = await asyncio.gather(*(self._table.put_new(each["id"], claim)
                                             for each, claim in zip(chunk, claims, strict=True)))
            new |= {each["id"] for each, is_new in zip(chunk, was_new, strict=True) if is_new}
            if not any(was_new):  # another container was first with all of them
                await self._calls.cancel(call)
        return new

    async def _ask(self, name, *arguments):
        """What a GPU container says: asked once a deployment, since it takes one that is running."""
        key = f"{self._deployment}:{name}:{_digest(arguments)}"
        known = await self._table.get(key)
        if known is None:
            known = {"call": await self._calls.ask(name, *arguments)}
            await self._table.put(key, known)
        if "answer" not in known:
            try:
                known["answer"] = await self._calls.result(known["call"], ABOUT_LIMIT_S)
            except TimeoutError:
                raise Refusal(503, "starting", "a GPU container is starting", retry_after_s=5) from None
            except Exception as error:
                await self._table.put(key, None)
                raise Refusal(503, "unavailable", f"no GPU container answers: {error}", retry_after_s=30) from error
            await self._table.put(key, known)
        return known["answer"]


def _check_same(evaluation, entry):
    if entry is not None and entry["digest"] != _digest(evaluation):
        raise Refusal(409, "conflict", f"the id {evaluation['id']} is there with another body", "id")


def _digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
