#!/usr/bin/env python3
"""One step of TRL's GRPO in which a model submits kernels by a tool call. A tiny random model, on the CPU.

kernelwright serve --tasks examples/four_turns/reference.py
python examples/trainers/grpo_environment.py http://127.0.0.1:8471 reference

The model is random, so a script writes its tool calls in its stead; with --model, a model of yours writes them. Needs trl.
"""
import argparse
import functools
import json
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "python"), str(HERE.parent / "closed_loop")]
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import trl
from datasets import Dataset
from tiny_model import make_model, make_tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from kernelwright.trl import KernelEnvironment

TURNS = HERE.parent / "four_turns"
GROUP = 2


def code_of(number):
    """The code of an answer of the recorded conversation: 1 is wrong, 3 is right."""
    text = (TURNS / f"turn{number}.md").read_text(encoding="utf-8")
    return text.rpartition("<triton>")[2].partition("</triton>")[0]


def call(code):
    """A tool call, as models of Qwen's family write it."""
    said = json.dumps({"name": "submit_kernel", "arguments": {"code": code}})
    return f"<tool_call>\n{said}\n</tool_call><|im_end|>"


# A rollout is the texts of its answers.
SCRIPT = [[call(code_of(1)), call(code_of(3)), "Done.<|im_end|>"],
          ["I cannot do that.<|im_end|>"]]


class ScriptedTrainer(trl.GRPOTrainer):
    """Takes the answers from SCRIPT; everything else is TRL's own. In the first call of the only step, every rollout
    writes its first answer; later calls are for those alone that called a tool."""

    _active = None

    def _generate_single_turn(self, prompt_ids, *_, **__):
        if self._active is None:
            self._active = list(enumerate([0] * len(SCRIPT)))
        else:
            self._active = [(who, turn + 1) for who, turn in self._active if "<tool_call>" in SCRIPT[who][turn]]
        said = [SCRIPT[who][turn] for who, turn in self._active]
        ids = [self.processing_class(text, add_special_tokens=False)["input_ids"] for text in said]
        return ids, [[0.0] * len(each) for each in ids]


def tiny():
    """The tiny model, with a chat template that knows tools."""
    tokenizer = make_tokenizer()
    template = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"
    tokenizer.chat_template = template.read_text(encoding="utf-8")
    return make_model(tokenizer), tokenizer


def step(url, task_id, model=None, folder=None):
    """One step. Returns the trainer."""
    scripted = model is None
    weights, tokenizer = tiny() if scripted else (AutoModelForCausalLM.from_pretrained(model),
                                                  AutoTokenizer.from_pretrained(model))
    rows = Dataset.from_list([{"prompt": [{"role": "user", "content": ""}], "task_id": task_id}])
    settings = trl.GRPOConfig(output_dir=str(folder or tempfile.mkdtemp()), max_steps=1, per_device_train_batch_size=GROUP,
                              num_generations=GROUP, max_completion_length=6000, learning_rate=1e-2, use_cpu=True, bf16=False,
                              gradient_checkpointing=False, report_to=[], save_strategy="no", logging_steps=1,
                              disable_tqdm=True, beta=0.0)
    trainer = (ScriptedTrainer if scripted else trl.GRPOTrainer)(
        model=weights, args=settings, train_dataset=rows, processing_class=tokenizer,
        environment_factory=functools.partial(KernelEnvironment, url, turns=3))
    trainer.train()
    return trainer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("task_id")
    parser.add_argument("--model", help="a model of yours, with a chat template that knows tools")
    flags = parser.parse_args()
    trainer = step(flags.url, flags.task_id, flags.model)
    print("rewards:", [each.get_reward() for each in trainer.environments])
    print("logged:", {name: value for name, value in trainer.state.log_history[0].items() if "Environment" in name})


if __name__ == "__main__":
    main()
