#!/usr/bin/env python3
"""tinker-cookbook's own rollouts in conversations of the service, with scripted answers: needs no Tinker account.

kernelwright serve --tasks examples/four_turns/reference.py
python examples/trainers/tinker_rollouts.py http://127.0.0.1:8471 reference

Needs tinker-cookbook and a tokenizer, which examples/closed_loop makes.
"""
import asyncio
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "python"), str(HERE.parent / "closed_loop")]

from tiny_model import make_tokenizer
from tinker_cookbook.completers import TokenCompleter, TokensWithLogprobs
from tinker_cookbook.renderers import get_renderer
from tinker_cookbook.rl.rollouts import do_group_rollout

from kernelwright.tinker import KernelEnvGroupBuilder

TURNS = HERE.parent / "four_turns"
ANSWERS = [(TURNS / f"turn{number}.md").read_text(encoding="utf-8") for number in (1, 3)]


class Scripted(TokenCompleter):
    """Answers in the order of the turns, which it finds by the prompt: feedback stands in a later one."""

    def __init__(self, tokenizer, answers):
        self._tokenizer, self._answers = tokenizer, answers

    async def __call__(self, model_input, stop, **_):
        turn = self._tokenizer.decode(model_input.to_ints()).count("\n\nAssistant:") - 1
        ids = self._tokenizer(f" {self._answers[turn]}\n\nUser:", add_special_tokens=False)["input_ids"]
        return TokensWithLogprobs(tokens=ids, maybe_logprobs=[0.0] * len(ids))


def rollouts(url, task_id, answers=tuple(ANSWERS), group_size=2, **settings):
    tokenizer = make_tokenizer()
    tokenizer.bos_token = tokenizer.eos_token
    renderer = get_renderer("role_colon", tokenizer)
    builder = KernelEnvGroupBuilder(task_id, renderer, group_size, url, **settings)
    return asyncio.run(do_group_rollout(builder, Scripted(tokenizer, answers)))


if __name__ == "__main__":
    found = rollouts(*sys.argv[1:3])
    print("rewards:", found.get_total_rewards())
    print("steps:", [[step.reward for step in each.transitions] for each in found.trajectories_G])
