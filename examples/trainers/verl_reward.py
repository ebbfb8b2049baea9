#!/usr/bin/env python3
"""verl's own reward manager asks the service about scripted answers of a model.

kernelwright serve --tasks examples/four_turns/reference.py
python examples/trainers/verl_reward.py http://127.0.0.1:8471 reference

Needs verl and a tokenizer, which examples/closed_loop makes.
"""
import asyncio
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "python"), str(HERE.parent / "closed_loop")]

import numpy
import torch
from omegaconf import OmegaConf
from tiny_model import make_tokenizer
from verl import DataProto
from verl.trainer.ppo.reward import load_reward_manager

TURNS = HERE.parent / "four_turns"
ANSWERS = [*((TURNS / f"turn{number}.md").read_text(encoding="utf-8") for number in (1, 3)), "I cannot do that."]


def manager(url, tokenizer, **reward_kwargs):
    """As verl's trainer makes it of its configuration."""
    config = OmegaConf.create({"reward": {
        "custom_reward_function": {"path": "pkg://kernelwright.verl", "name": "compute_score",
                                   "reward_kwargs": {"evaluator": url, **reward_kwargs}},
        "reward_manager": {"source": "register", "name": "naive"}}})
    return load_reward_manager(config, tokenizer)


def sample(tokenizer, answer, task_id):
    """One row of verl's batch after the rollout."""
    ids = torch.tensor([tokenizer(answer, add_special_tokens=False)["input_ids"]])
    prompt = torch.tensor([[1]])
    tensors = {"prompts": prompt, "responses": ids, "attention_mask": torch.ones(1, 1 + ids.shape[1], dtype=torch.long)}
    row = {"data_source": "kernels", "reward_model": {"ground_truth": task_id}, "extra_info": {"index": 0}}
    columns = {name: numpy.array([value], dtype=object) for name, value in row.items()}
    return DataProto.from_dict(tensors=tensors, non_tensors=columns)


def scores(url, task_id, answers=tuple(ANSWERS), **reward_kwargs):
    async def asked():
        tokenizer = make_tokenizer()
        judge = manager(url, tokenizer, **reward_kwargs)
        return await asyncio.gather(*(judge.run_single(sample(tokenizer, each, task_id)) for each in answers))
    return asyncio.run(asked())


if __name__ == "__main__":
    for found in scores(*sys.argv[1:3]):
        print(found)
