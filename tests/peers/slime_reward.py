"""The reward code of slime and miles, of a checkout, asks a real service; slime's also calls kernelwright.slime.reward.

    slime_reward.py slime|miles CHECKOUT   a Python with what the checkout imports: that of scripts/python-peers.sh
"""
import asyncio
import importlib
import json
import os
import sys
import tempfile
import types
from pathlib import Path
from types import SimpleNamespace

from four_turns import REFERENCE, RIGHT, ROOT, TASK, WRONG, tasks_file

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "python")]

import aiohttp
from end_to_end import program
from end_to_end.served import KEY, Served

# How often each asks about a sample before it gives up.
ATTEMPTS = {"slime": 10, "miles": 1}


def reward_hub(trainer, checkout):
    """The checkout's package rm_hub. Of what it imports only the parser of LaTeX, for answers in mathematics, is absent."""
    latex = types.ModuleType("pylatexenc")
    latex.latex2text = types.ModuleType("pylatexenc.latex2text")
    sys.modules |= {"pylatexenc": latex, "pylatexenc.latex2text": latex.latex2text}
    sys.path.insert(0, str(checkout))
    hub = importlib.import_module(f"{trainer}.rollout.rm_hub")
    assert Path(hub.__file__).is_relative_to(checkout), hub.__file__
    return hub


class Trainer:
    """The functions that a rollout of slime or miles calls for its rewards."""

    def __init__(self, name, checkout):
        self.hub, self.slept = reward_hub(name, checkout), []
        # Only its pauses between two attempts are left out.
        self.hub.asyncio = SimpleNamespace(**{**vars(asyncio), "sleep": self._sleep})
        self._sample = importlib.import_module(f"{name}.utils.types").Sample

    async def _sleep(self, seconds):
        self.slept.append(seconds)

    def sample(self, response, label=TASK):
        return self._sample(prompt=[{"role": "user", "content": "Write a kernel."}], response=response, label=label)

    def args(self, **given):
        """The fields of its arguments that choose the reward; those of --custom-config-path too."""
        return SimpleNamespace(**{"custom_rm_path": None, "rm_type": None, "rm_url": None, "reward_key": None, **given})

    def remote(self, url, key=None):
        return self.args(rm_type="remote_rm", rm_url=url, reward_key=key)

    def rewards(self, args, samples):
        """Those of a group, in the samples too, as a rollout sets them."""
        for sample, reward in zip(samples, asyncio.run(self._closed(self.hub.batched_async_rm(args, samples))), strict=True):
            sample.reward = reward
        return [sample.get_reward_value(args) for sample in samples]

    def error(self, args, sample):
        """That of a sample without a reward."""
        try:
            reward = asyncio.run(self._closed(self.hub.async_rm(args, sample)))
        except aiohttp.ClientResponseError as error:
            return error
        raise AssertionError(f"a reward: {reward}")

    async def _closed(self, waited):
        try:
            return await waited
        finally:
            if session := getattr(self.hub, "_shared_session", None):
                await session.close()


def remote_rewards(name, trainer, url):
    answers = [RIGHT, WRONG, "I cannot do that."]
    for path, key in ((f"/{name}/number", None), (f"/{name}", "reward")):
        found = trainer.rewards(trainer.remote(url + path, key), [trainer.sample(each) for each in answers])
        print(path, found)
        assert found == [0.3, 0, 0]
    whole = trainer.sample(RIGHT, json.dumps({"task_id": TASK}))
    trainer.rewards(trainer.remote(f"{url}/{name}", "reward"), [whole])
    assert (whole.reward["correct"], whole.reward["status"]) == (1, "correct")
    assert not trainer.slept


def no_reward(name, trainer, url):
    """An error, in the end: neither has a value for a sample that is not judged."""
    slow = f"import time\n\ntime.sleep(3)\n{REFERENCE}"
    late = trainer.sample(RIGHT, json.dumps({"reference_code": slow}))
    for status, sample, terms in ((503, late, "?patience_s=0.001"), (422, trainer.sample(RIGHT, "broken"), "")):
        trainer.slept.clear()
        error = trainer.error(trainer.remote(f"{url}/{name}/number{terms}"), sample)
        attempts = len(trainer.slept) + 1
        print(f"not judged: {error.status} after {attempts} attempts")
        assert (error.status, attempts) == (status, ATTEMPTS[name])
    assert trainer.rewards(trainer.remote(f"{url}/{name}/number"), [late]) == [0.3], "asked again later"


def custom_function(trainer, service):
    """--custom-rm-path kernelwright.slime.reward, for a group and for one sample."""
    for key in (None, "score"):
        args = trainer.args(custom_rm_path="kernelwright.slime.reward", reward_key=key, kernelwright={"evaluator": service.url})
        group = [trainer.sample(RIGHT), trainer.sample(WRONG), trainer.sample(RIGHT, "broken")]
        found = trainer.rewards(args, group)
        print("kernelwright.slime.reward", found, [each.remove_sample for each in group])
        assert found == [0.3, 0, 0.15] and [each.remove_sample for each in group] == [False, False, True]
    assert asyncio.run(trainer.hub.async_rm(args, trainer.sample(RIGHT)))["score"] == 0.3


def main(name, checkout):
    trainer = Trainer(name, checkout)
    os.environ["KERNELWRIGHT_EVALUATOR_KEY"] = KEY
    with tempfile.TemporaryDirectory() as folder:
        python = os.environ.get("KERNELWRIGHT_TEST_PYTHON", sys.executable)
        with Served(Path(folder), "--tasks", tasks_file(folder), "--correctness-trials", 2, python=python) as service:
            service.ready()
            url = f"http://any:{KEY}@127.0.0.1:{service.port}"
            remote_rewards(name, trainer, url)
            no_reward(name, trainer, url)
            custom_function(trainer, service)


if __name__ == "__main__":
    assert program.DEVICE == "cpu", "the rewards are those without a GPU"
    main(sys.argv[1], Path(sys.argv[2]).resolve())
    print(f"{sys.argv[1]} gets the service's rewards, and none where there is no verdict")
