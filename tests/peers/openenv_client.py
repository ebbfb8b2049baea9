"""Episodes of OpenEnv's own client, which speaks a WebSocket, on a real service.

    openenv_client.py PYTHON       starts the service, and the client in PYTHON, which has openenv
    openenv_client.py --client URL URL_WITHOUT_KEY
"""
import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

from four_turns import RIGHT, ROOT, WRONG, tasks_file


def serve(python):
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "python")]
    from end_to_end import program
    from end_to_end.served import KEY, Served
    assert program.DEVICE == "cpu", "the rewards are those without a GPU"
    with tempfile.TemporaryDirectory() as name:
        with Served(Path(name), "--tasks", tasks_file(name), "--correctness-trials", 2) as service:
            service.ready()
            url = f"http://any:{KEY}@127.0.0.1:{service.port}"
            subprocess.run([python, __file__, "--client", url, service.url], check=True)


async def refused(waited):
    """The words of the error that the client raises."""
    try:
        result = await waited
    except (RuntimeError, ConnectionError) as error:
        return str(error)
    raise AssertionError(f"no error: {result}")


async def episodes(url, url_without_key):
    from openenv.core.generic_client import GenericEnvClient
    assert "401" in await refused(GenericEnvClient(url_without_key).connect())
    for base in (url, f"{url}/openenv"):
        async with GenericEnvClient(base) as env:
            first = await env.reset(task_id="four/turns", turns=4)
            assert first.reward is None and not first.done
            assert "reference" in first.observation["messages"][-1]["content"]
            wrong = await env.step({"completion": WRONG})
            assert (wrong.reward, wrong.done) == (0, False) and wrong.observation["messages"]
            assert (await env.state())["step_count"] == 1
            right = await env.step({"completion": RIGHT})
            assert (right.reward, right.done) == (0.3, True), (right.reward, right.done)
            print([wrong.reward, right.reward], right.observation["stop_reason"], await env.state())
    async with GenericEnvClient(url) as env:
        await env.reset(task_id="broken")
        broken = await env.step({"completion": RIGHT})
        assert (broken.reward, broken.done) == (None, True) and broken.observation["not_judged"]
        print("a task that cannot be judged:", broken.reward, broken.observation["stop_reason"])
        await env.reset(task_id="four/turns")
        late = await refused(env.step({"completion": f"{RIGHT}\n", "timeout_s": 0.001}))
        assert "still being judged" in late or "not judged" in late, late
        print("in 1 ms:", late)
        assert (await env.step({"completion": f"{RIGHT}\n"})).reward == 0.3
        for error, waited in (("VALIDATION_ERROR", env.reset(task_id="none")), ("VALIDATION_ERROR", env.step({"code": "x"}))):
            assert error in await refused(waited)
    lost = GenericEnvClient(url)
    episode = (await lost.reset(task_id="four/turns")).observation["episode_id"]
    await lost.step({"completion": WRONG})
    lost._ws.transport.abort()
    async with GenericEnvClient(url) as env:
        assert (await env.reset(episode_id=episode)).observation["turn"] == 2
        again = await env.step({"completion": RIGHT})
        assert (again.reward, again.observation["turn"]) == (0.3, 2)
        print("after a lost connection: turn", again.observation["turn"], again.reward)


def synchronous(url):
    from openenv.core.generic_client import GenericEnvClient
    with GenericEnvClient(url).sync() as env:
        env.reset(seed=0)
        print("synchronous:", env.step({"completion": "I cannot do that."}).reward)


if __name__ == "__main__":
    if sys.argv[1] == "--client":
        asyncio.run(episodes(*sys.argv[2:]))
        synchronous(sys.argv[2])
        print("OpenEnv's client gets the service's rewards, and an error or none where there is no verdict")
    else:
        serve(sys.argv[1])
