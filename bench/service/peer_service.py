#!/usr/bin/env python3
"""The same contract on common components: FastAPI, Redis, a worker. The service is measured beside it.

peer_service.py PORT REDIS_PORT            the web process, prints its URL
peer_service.py --worker REDIS_PORT        the worker, whose verdicts cost nothing

POST /v1/evaluations answers 202 once Redis has the evaluation (a known id: 200, or 409 with another body);
GET /v1/evaluations/ID?wait_s=30 waits for its end. The worker moves ids from a list to a list of its own, so that a
worker that dies loses none; each end is published, and one subscription of the web process wakes the waiting requests.
Needs fastapi, uvicorn, uvloop, httptools, redis, hiredis and orjson.
"""
import asyncio
import hashlib
import sys
import time
from collections import defaultdict
from contextlib import asynccontextmanager

import orjson
import redis
import redis.asyncio
import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response

QUEUE, TAKEN, ENDED = "queue", "taken", "ended"
MOST_WAIT_S = 60
# In one round trip and atomically: the evaluation and its place in the queue, unless the id is known.
SUBMIT = """
local known = redis.call('HGET', KEYS[1], 'digest')
if known then return known end
redis.call('HSET', KEYS[1], 'digest', ARGV[1], 'request', ARGV[2], 'state', 'queued', 'submitted_at', ARGV[3])
redis.call('LPUSH', KEYS[2], ARGV[4])
return false
"""
# The fields of a verdict that are null without an engine.
NULLS = {name: None for name in (
    "kernel_name", "fault", "error", "error_class", "error_detail", "speedup", "reference_time_ms", "kernel_time_ms",
    "counts_reason", "shapes", "trust", "isolation", "comparison", "launches", "triton_share", "device_time_share", "replay",
    "call")}
TIMING = {name: None for name in ("instrument", "reference_interval_ms", "kernel_interval_ms", "floor_ms", "call_speedup",
                                  "compile_time_ms", "roofline_share", "clocks", "why_null")}


def key_of(name):
    return f"evaluation:{name}"


def verdict_of(name, request):
    code = orjson.loads(request)["kernel_code"]
    return {"schema": "kernelwright.verdict/1", "id": name, "task_id": "", "sample_number": 0,
            "candidate_sha256": hashlib.sha256(code.encode()).hexdigest(), "status": "correct", "stage": "done",
            "correctness": True, "counts": True, **NULLS, "timing": TIMING,
            "environment": {"torch": "2.11.0", "triton": "3.6.0", "protocol": "noop"}}


def work(port):
    """Give one verdict after another."""
    store = redis.Redis(port=port)
    while store.lmove(TAKEN, QUEUE):
        pass
    while True:
        name = store.blmove(QUEUE, TAKEN, 0, src="RIGHT", dest="LEFT")
        key = key_of(name.decode())
        verdict = orjson.dumps(verdict_of(name.decode(), store.hget(key, "request")))
        with store.pipeline(transaction=True) as ending:
            ending.hset(key, mapping={"state": "done", "verdict": verdict, "finished_at": time.time()})
            ending.hdel(key, "request")
            ending.lrem(TAKEN, 1, name)
            ending.publish(ENDED, name)
            ending.execute()


def application(port):
    store = redis.asyncio.Redis(port=port, max_connections=64)
    store.connection_pool = redis.asyncio.BlockingConnectionPool(port=port, max_connections=64, timeout=None)
    submit = store.register_script(SUBMIT)
    waiting = defaultdict(set)

    async def listen():
        subscription = redis.asyncio.Redis(port=port).pubsub()
        await subscription.subscribe(ENDED)
        async for message in subscription.listen():
            if message["type"] == "message":
                for each in waiting.pop(message["data"].decode(), ()):
                    if not each.done():
                        each.set_result(None)

    @asynccontextmanager
    async def lifespan(_):
        listening = asyncio.create_task(listen())
        yield
        listening.cancel()

    app = FastAPI(lifespan=lifespan)

    def answer(status, body):
        return Response(orjson.dumps(body), status, media_type="application/json")

    @app.post("/v1/evaluations")
    async def post(request: Request):
        body = orjson.loads(await request.body())
        name = body["id"]
        if not isinstance(body.get("reference_code"), str) or not isinstance(body.get("kernel_code"), str):
            raise HTTPException(400, "reference_code and kernel_code are texts")
        text = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
        digest = hashlib.sha256(text).hexdigest()
        known = await submit(keys=[key_of(name), QUEUE], args=[digest, text, time.time(), name])
        if known is None:
            return answer(202, {"id": name, "state": "queued"})
        if known.decode() != digest:
            raise HTTPException(409, "another evaluation has this id")
        return answer(200, {"id": name, "state": (await store.hget(key_of(name), "state")).decode()})

    async def find(name):
        state, verdict, submitted, finished = await store.hmget(
            key_of(name), "state", "verdict", "submitted_at", "finished_at")
        if state is None:
            raise HTTPException(404, "no such evaluation")
        return {"id": name, "state": state.decode(), "verdict": orjson.Fragment(verdict) if verdict else None, "cause": None,
                "submitted_at": float(submitted), "started_at": None, "finished_at": float(finished) if finished else None}

    @app.get("/v1/evaluations/{name}")
    async def get(name: str, wait_s: float = 0):
        ended = asyncio.get_running_loop().create_future()
        waiting[name].add(ended)  # added before the lookup, so that no end is missed
        try:
            found = await find(name)
            if found["state"] != "done" and wait_s > 0:
                await asyncio.wait([ended], timeout=min(wait_s, MOST_WAIT_S))
                found = await find(name)
            return answer(200, found)
        finally:
            if name in waiting:
                waiting[name].discard(ended)
                if not waiting[name]:
                    del waiting[name]

    return app


def main():
    if sys.argv[1] == "--worker":
        return work(int(sys.argv[2]))
    port, store = map(int, sys.argv[1:])
    print(f"http://127.0.0.1:{port}", flush=True)
    uvicorn.run(application(store), port=port, access_log=False, log_level="warning", backlog=4096, loop="uvloop",
                http="httptools")


if __name__ == "__main__":
    main()
