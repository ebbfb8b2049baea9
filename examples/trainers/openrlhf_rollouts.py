#!/usr/bin/env python3
"""OpenRLHF's own rollout asks the service about scripted answers of a model.

kernelwright serve --tasks examples/four_turns/reference.py
python examples/trainers/openrlhf_rollouts.py http://127.0.0.1:8471/openrlhf reference

The URL is that of --reward.remote_url. Needs openrlhf, of its dependencies aiohttp alone, and a tokenizer, which
examples/closed_loop makes.
"""
import asyncio
import importlib
import sys
import types
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "closed_loop")]

import openrlhf
from tiny_model import make_tokenizer

TURNS = HERE.parent / "four_turns"
ANSWERS = [*((TURNS / f"turn{number}.md").read_text(encoding="utf-8") for number in (3, 1)), "I cannot do that."]


def agent_module():
    """openrlhf.utils.agent. Its package would import DeepSpeed, which a rollout does not need, so a package with the same
    files and nothing else stands in for it."""
    if "openrlhf.utils" not in sys.modules:
        package = types.ModuleType("openrlhf.utils")
        package.__path__ = [str(Path(folder) / "utils") for folder in openrlhf.__path__]
        sys.modules["openrlhf.utils"] = package
    return importlib.import_module("openrlhf.utils.agent")


class Scripted:
    """In place of vLLM's engine: it writes one answer."""

    def __init__(self, tokenizer, answer):
        self._ids = tokenizer(f"{answer}{tokenizer.eos_token}", add_special_tokens=False)["input_ids"]
        self._answer = answer

    async def generate(self, prompt_token_ids, sampling_params, multi_modal_data=None):
        output = SimpleNamespace(token_ids=self._ids, text=self._answer, finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[output])


def rollouts(url, label, answers=tuple(ANSWERS)):
    """The samples as OpenRLHF stores them, with `reward`, `scores` and `extra_logs`."""
    tokenizer = make_tokenizer()
    prompt = tokenizer.apply_chat_template([{"role": "user", "content": "Write a Triton kernel."}], tokenize=False,
                                           add_generation_prompt=True)
    executor = agent_module().SingleTurnAgentExecutor(url)
    sampling = SimpleNamespace(max_tokens=None, logprobs=None)

    async def asked():
        return await asyncio.gather(*(
            executor.execute(prompt, label, sampling, tokenizer.model_max_length, tokenizer, Scripted(tokenizer, each))
            for each in answers))
    return asyncio.run(asked())


if __name__ == "__main__":
    for sample in rollouts(*sys.argv[1:3]):
        print({name: sample[name] for name in ("reward", "scores", "extra_logs")})
