"""The peer: asyncio and aiohttp, in batches with a barrier, as common pipelines work.

barrier_peer.py PLAN URL BATCH: a batch of conversations is asked at once and waited for as a whole, then judged as a
whole; conversations that need another turn enter a later batch. Prints one JSON object.
"""
import asyncio
import json
import resource
import sys
import time

import aiohttp

PROMPT = "import torch\n# " + "." * 1700 + "\n"
SYSTEM = "." * 5000


async def ask(session, url, task, messages):
    """One streamed answer; returns reasoning and content."""
    turn = 1 + sum(message["role"] == "assistant" for message in messages)
    body = {"model": "mock", "messages": messages, "stream": True}
    reasoning, content = [], []
    async with session.post(f"{url}/chat/completions", json=body,
                            headers={"X-Request-Id": f"{task}/0/0/{turn}"}) as response:
        async for line in response.content:
            if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
                continue
            for choice in json.loads(line[6:])["choices"]:
                reasoning.append(choice["delta"].get("reasoning", ""))
                content.append(choice["delta"].get("content", ""))
    return "".join(reasoning), "".join(content)


async def judge(slots, milliseconds):
    async with slots:
        await asyncio.sleep(milliseconds / 1000)


async def run(plan, url, batch_size):
    waiting = [(name, [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}])
               for name in sorted(plan["tasks"])]
    traces, turns, slots = [], 0, asyncio.Semaphore(plan["verifications"])
    connector = aiohttp.TCPConnector(limit=0)
    started = time.monotonic()
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None),
                                     read_bufsize=1 << 20) as session:
        while waiting:
            batch, waiting = waiting[:batch_size], waiting[batch_size:]
            answers = await asyncio.gather(*(ask(session, url, name, messages) for name, messages in batch))
            numbers = [(len(messages) - 2) // 2 for _, messages in batch]
            await asyncio.gather(*(judge(slots, plan["tasks"][name]["turns"][number]["verification_ms"])
                                   for (name, _), number in zip(batch, numbers, strict=True)))
            turns += len(batch)
            again = []
            for (name, messages), number, (reasoning, content) in zip(batch, numbers, answers, strict=True):
                if number + 1 == len(plan["tasks"][name]["turns"]):
                    traces.append(len(reasoning) + len(content))
                    continue
                again.append((name, [*messages, {"role": "assistant", "content": content},
                                     {"role": "user", "content": "Incorrect output. Try again."}]))
            waiting = again + waiting
    return {"traces": len(traces), "turns": turns, "wall_s": time.monotonic() - started}


def main():
    plan = json.load(open(sys.argv[1], encoding="utf-8"))
    result = asyncio.run(run(plan, sys.argv[2], int(sys.argv[3])))
    use = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"who": "barrier", "in_flight": int(sys.argv[3]), **result, "cpu_s": use.ru_utime + use.ru_stime,
                      "peak_rss_mb": use.ru_maxrss / 1024}))


if __name__ == "__main__":
    main()
