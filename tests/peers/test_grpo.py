"""A step of TRL's GRPO with the package's rewards: a tiny model, scripted completions, and a real service that judges them."""
import asyncio
import math
import os
import pickle
import signal
import threading
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from end_to_end import program
from end_to_end.served import KEY, Served
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from kernelwright.rewards import KernelReward

TURNS = program.ROOT / "examples" / "four_turns"
REFERENCE = (TURNS / "reference.py").read_text(encoding="utf-8")
WRONG, OUT_OF_BOUNDS, RIGHT = ((TURNS / f"turn{number}.md").read_text(encoding="utf-8") for number in (1, 2, 3))
DRAFT_ONLY = f"<think>\n{RIGHT}\n"  # has no answer after the reasoning
BROKEN_TASK = "def reference_impl(x):\n    raise RuntimeError('not today')\n\n\ndef get_inputs():\n    return [1.0]\n"

# A group is a prompt's completions and their rewards. Without a GPU no speed is measured; without code the task is not
# examined.
SCRIPT = {"relu": [(RIGHT, 0.3), (WRONG, 0.0), (OUT_OF_BOUNDS, 0.0), ("I cannot do that.", 0.0)],
          "draft": [(RIGHT, 0.3), (DRAFT_ONLY, 0.0), (RIGHT, 0.3), (WRONG, 0.0)],
          "broken": [(RIGHT, None), (WRONG, None), ("No.", 0.0), (RIGHT, None)]}
REFERENCES = {"relu": REFERENCE, "draft": REFERENCE, "broken": BROKEN_TASK}
GROUP = 4


@pytest.fixture(scope="module")
def service(tmp_path_factory, python):
    with Served(tmp_path_factory.mktemp("service"), python=python) as running:
        yield running.ready()


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("KERNELWRIGHT_EVALUATOR_KEY", KEY)


NAMED = b"slow reference"


def oracles(service):
    """Pids of the processes that the reference named: an oracle that is killed before it has its reference proves nothing."""
    found = []
    for pid in program.descendants(service.pid):
        try:
            if Path(f"/proc/{pid}/comm").read_bytes().strip() == NAMED:
                found.append(pid)
        except OSError:
            continue
    return found


class Watched(KernelReward):
    """Keeps requests and answers."""

    async def __call__(self, prompts, completions, **columns):
        rewards = await super().__call__(prompts, completions, **columns)
        self.said = list(zip(prompts, completions, rewards, strict=True))
        return rewards


def scripted(prompts, trainer):
    """The completions of the script, as if the model had written them."""
    tokenizer, seen = trainer.processing_class, {}
    ids = [tokenizer(prompt)["input_ids"] for prompt in prompts]
    texts = []
    for prompt in prompts:
        seen[prompt] = seen.get(prompt, -1) + 1
        texts.append(SCRIPT[prompt][seen[prompt]][0])
    written = [tokenizer(text)["input_ids"] + [tokenizer.eos_token_id] for text in texts]
    return {"prompt_ids": ids, "completion_ids": written, "logprobs": [[0.0] * len(each) for each in written]}


def rows():
    return Dataset.from_list([{"prompt": prompt, "reference_code": REFERENCES[prompt], "entry_point": None,
                               "task_id": f"sample/{prompt}"} for prompt in SCRIPT])


def trainer_of(model, reward, folder):
    settings = GRPOConfig(output_dir=str(folder), max_steps=1, per_device_train_batch_size=GROUP * len(SCRIPT),
                          num_generations=GROUP, max_completion_length=4096, learning_rate=1e-2, use_cpu=True, bf16=False,
                          report_to=[], save_strategy="no", logging_steps=1, disable_tqdm=True, beta=0.0)
    return GRPOTrainer(model=AutoModelForCausalLM.from_pretrained(model), reward_funcs=reward, args=settings,
                       train_dataset=rows(), processing_class=AutoTokenizer.from_pretrained(model), rollout_func=scripted)


def test_a_step_of_grpo_learns_from_verdicts(service, tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    reward = Watched(service.url)
    trainer = trainer_of(tiny, reward, tmp_path)
    before = trainer.model.lm_head.weight.detach().clone()
    trainer.train()
    expected = sorted((prompt, text, str(earned)) for prompt, group in SCRIPT.items() for text, earned in group)
    assert sorted((prompt, text, str(said)) for prompt, text, said in reward.said) == expected
    logged = trainer.state.log_history[0]
    earned = [reward for group in SCRIPT.values() for _, reward in group if reward is not None]
    left_out = "what could not be judged is no part of the mean"
    assert logged["rewards/kernel_reward/mean"] == pytest.approx(sum(earned) / len(earned)), left_out
    assert logged["kernels/correct"] == pytest.approx(3 / 12) and logged["kernels/unjudged"] == pytest.approx(3 / 12)
    assert math.isfinite(logged["loss"]) and not torch.equal(before, trainer.model.lm_head.weight)


def test_a_reference_that_breaks_its_oracle_in_every_try_earns_nothing(service):
    over = threading.Event()

    def kill_oracles():
        while not over.wait(0.2):
            for pid in oracles(service):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    killer = threading.Thread(target=kill_oracles)
    killer.start()
    try:
        name_itself = f"import ctypes, time\nctypes.CDLL(None).prctl(15, {NAMED!r})\n"
        slow, told = f"{name_itself}time.sleep(60)\n{REFERENCE}", {}
        rewards = KernelReward(service.url).kernel_reward(["p"], [RIGHT], reference_code=[slow], log_extra=told.__setitem__)
        assert (rewards, told["verdict"]) == ([None], ["task_invalid"])
    finally:
        over.set()
        killer.join()


def test_what_nobody_judged_in_time_earns_nothing(service):
    late = KernelReward(service.url, deadline_s=0.001)
    fresh = RIGHT.replace("</triton>", "# once more\n</triton>")
    assert late.kernel_reward(["p"], [fresh], reference_code=[REFERENCE]) == [None]


def test_equal_completions_earn_the_same_by_all_ways(service):
    reward = KernelReward(service.url, base=1.0)
    columns = {"reference_code": [REFERENCE] * 2}
    assert reward.kernel_reward(["p"] * 2, [RIGHT, WRONG], **columns) == [1.0, 0.0]
    messages = [[{"role": "assistant", "content": text}] for text in (RIGHT, WRONG)]
    assert asyncio.run(pickle.loads(pickle.dumps(reward))(["p"] * 2, messages, **columns)) == [1.0, 0.0]
