#!/usr/bin/env python3
"""Measures TRL's own trainer as its documentation shows it, for a comparison with speed.py on one machine.

bare.py takes the flags of speed.py (without --profile and --work) and --attention, and prints a JSON object of the same
names. The model, the adapter, the rows and the sequences a step are those of speed.py. TRL tokenises, packs, collates and
computes the loss with its own defaults. Tokens are those that TRL's collator gives to the model, without padding.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]


class Counting:
    """A collator that counts the tokens of each micro-batch, in the order of training."""

    def __init__(self, collate):
        self.collate, self.tokens, self.learnt = collate, [], []

    def __call__(self, features):
        batch = self.collate(features)
        mask = batch.get("attention_mask")
        self.tokens.append(int(batch["input_ids"].numel() if mask is None else mask.sum()))
        self.learnt.append(int((batch["labels"] >= 0).sum()))
        return batch


def settings(recipe, steps, device, folder):
    """The recipe in TRL's words; what it does not name stays TRL's default."""
    from trl import SFTConfig
    wanted, data = recipe["training"], recipe["data"]
    return SFTConfig(
        output_dir=folder, max_steps=steps, per_device_train_batch_size=wanted["micro_batch"],
        gradient_accumulation_steps=wanted["accumulation"], learning_rate=wanted["learning_rate"],
        warmup_steps=wanted["warmup"], lr_scheduler_type="cosine", optim=wanted["optimiser"],
        max_grad_norm=wanted["clip"], seed=wanted["seed"],
        bf16=wanted["precision"] == "bf16", use_cpu=device == "cpu", max_length=data["max_length"], packing=data["packing"],
        activation_checkpointing=wanted["gradient_checkpointing"], use_liger_kernel=wanted["kernels"] == "liger",
        logging_strategy="steps", logging_steps=1, save_strategy="no", report_to="none", disable_tqdm=True)


def rows_of(paths):
    from datasets import Dataset
    rows = [json.loads(line) for path in paths for line in Path(path).read_text(encoding="utf-8").splitlines()]
    return Dataset.from_list([{name: row[name] for name in ("prompt", "completion")} for row in rows])


def measured(options, recipe, device):
    import shapes
    import torch
    from kernelwright._train import model
    from peft import LoraConfig
    from speed import measuring
    from trl import SFTTrainer

    limit = model.limit_memory(device, int(options.limit_gib * 2**30) if options.limit_gib else None)
    tokenizer, lora = model.load_tokenizer(options.tokenizer), recipe["lora"]
    recipe["training"]["attention"] = options.attention
    base = shapes.make("tiny" if options.tiny else options.shape, recipe, device, len(tokenizer))
    steps = options.warm_up + options.steps
    with tempfile.TemporaryDirectory(prefix="bare-") as folder:
        trainer = SFTTrainer(
            model=base, args=settings(recipe, steps, device, folder), train_dataset=rows_of(options.rows),
            processing_class=tokenizer,
            peft_config=LoraConfig(r=lora["rank"], lora_alpha=lora["alpha"], lora_dropout=lora["dropout"],
                                   target_modules=lora["targets"], task_type="CAUSAL_LM"))
        trainer.data_collator = counting = Counting(trainer.data_collator)
        watch = measuring(options, recipe, device)
        trainer.add_callback(watch)
        trainer.train()
    trained = {str(each.dtype) for each in trainer.model.parameters() if each.requires_grad}
    return figures(options, recipe, counting, watch, trainer.state.log_history) | {
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu", "limit_bytes": limit,
        "adapter_dtypes": sorted(trained),
        "peak_reserved_bytes": torch.cuda.max_memory_reserved() if device == "cuda" else None}


def figures(options, recipe, counting, watch, log):
    each = recipe["training"]["accumulation"]
    times = [end - begin for begin, end in zip(watch.ends, watch.ends[1:])][options.warm_up:]
    chosen = slice(options.warm_up * each, (options.warm_up + options.steps) * each)
    return {"tokens_per_s": sum(counting.tokens[chosen]) / sum(times),
            "learnt_tokens_per_s": sum(counting.learnt[chosen]) / sum(times),
            "step_s": {"median": statistics.median(times), "each": times},
            "tokens_a_step": sum(counting.tokens[chosen]) / options.steps,
            "losses": [entry["loss"] for entry in log if "loss" in entry]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--recipe")
    parser.add_argument("--set", action="append", default=[], dest="changes")
    parser.add_argument("--shape", default="qwen3-8b")
    parser.add_argument("--attention", default="sdpa")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--warm-up", type=int, default=2)
    parser.add_argument("--limit-gib", type=float, default=24)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--tiny", action="store_true")
    parser.set_defaults(profile=False)
    options = parser.parse_args()

    from kernelwright._train import model
    from speed import read_recipe
    recipe = read_recipe(options.recipe, options.changes)
    try:
        found = measured(options, recipe, model.choose_device(options.device))
    except Exception as error:
        if not model.is_out_of_memory(error):
            raise
        found = {"error": "out of memory", "detail": model.first_line(error)}
    print(json.dumps({"shape": "tiny" if options.tiny else options.shape, "recipe": recipe} | found))
    return 1 if "error" in found else 0


if __name__ == "__main__":
    sys.exit(main())
