#!/usr/bin/env python3
"""Measures the speed and memory of the trainer's own engine on a model of a known shape with random weights.

speed.py --rows FILE.jsonl [...] --tokenizer FOLDER [--recipe recipes/default.toml] [--set training.micro_batch=8]
[--shape qwen3-8b] [--steps 6] [--warm-up 2] [--limit-gib 24] [--profile] [--output FILE.json] [--tiny]

The rows are real: tokenised, packed and collated as in `kernelwright train`. PyTorch limits the GPU to --limit-gib, so
that a setting that runs here runs on a card of that size (less the driver's part). Figures are over the steps after the
warm-up; each step ends with a synchronisation. With --profile, PyTorch's profiler records one more step: its last two
micro-batches and the optimiser. --tiny takes a model of two small layers; with --device cpu it runs on any machine.
Prints one JSON object. See sweep.py for many settings.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]
# Set before PyTorch is imported: fragmented device memory would count against the limit.
os.environ.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def read_recipe(path, changes):
    """The default recipe, overridden by `path` and then by `changes` ("section.key=value")."""
    recipe = tomllib.loads((HERE.parents[1] / "recipes" / "default.toml").read_text())
    for section, values in tomllib.loads(Path(path).read_text()).items() if path else ():
        recipe[section] |= values
    for change in changes:
        name, _, value = change.partition("=")
        section, key = name.split(".")
        if key not in recipe[section]:
            raise SystemExit(f"speed.py: the recipe has no {name}")
        recipe[section][key] = value if isinstance(recipe[section][key], str) else json.loads(value)
    return recipe


def synchronised(device):
    import torch
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def measuring(options, recipe, device):
    """The callback that times steps, and records the last one on request."""
    import torch
    from torch.profiler import ProfilerActivity, profile
    from transformers import TrainerCallback
    first_recorded = recipe["training"]["accumulation"] - 2

    class Measuring(TrainerCallback):
        def __init__(self):
            self.ends, self.profile, self.recorded_ns, self.micro = [], None, 0, 0
            self.peaks = None

        def recording(self, state):
            return options.profile and state.global_step == options.warm_up + options.steps

        def begin_recording(self):
            self.profile = profile(activities=[ProfilerActivity.CUDA if device == "cuda" else ProfilerActivity.CPU])
            self.profile.start()
            self.began_ns = synchronised(device)

        def on_step_begin(self, args, state, control, **_):
            self.micro = 0
            if not self.ends:
                self.ends.append(synchronised(device))
            if self.recording(state):
                if device == "cuda":
                    self.peaks = torch.cuda.max_memory_reserved(), torch.cuda.max_memory_allocated()
                if first_recorded <= 0:
                    self.begin_recording()

        def on_substep_end(self, args, state, control, **_):
            self.micro += 1
            if self.recording(state) and self.micro == first_recorded:
                self.begin_recording()

        def on_step_end(self, args, state, control, **_):
            self.ends.append(synchronised(device))
            if self.profile and not self.recorded_ns:
                self.recorded_ns = int((self.ends[-1] - self.began_ns) * 1e9)
                self.profile.stop()
    return Measuring()


class Heard:
    """Replaces the reader of events: keeps the steps."""

    def __init__(self):
        self.steps, self.lost = [], False

    def send(self, event, **fields):
        if event == "step":
            self.steps.append(fields)
            print(f"step {fields['step']}/{fields['of']}: loss {fields['loss']:.4f}, {fields['tokens_per_s']:.0f} tokens/s",
                  file=sys.stderr, flush=True)


def measured(options, recipe, device):
    import shapes
    import torch
    from kernelwright._train import engine_trl, model, prepare
    from kernelwright._train.signals import StopAsked

    limit = model.limit_memory(device, int(options.limit_gib * 2**30) if options.limit_gib else None)
    tokenizer = model.load_tokenizer(options.tokenizer)
    folder = Path(options.work or tempfile.mkdtemp(prefix="speed-"))
    began = time.perf_counter()
    prepared = prepare.prepare(options.rows, tokenizer, recipe, folder / "shards")
    prepared_s, began = time.perf_counter() - began, time.perf_counter()
    base = shapes.make("tiny" if options.tiny else options.shape, recipe, device, len(tokenizer))
    adapted = model.add_adapter(base, recipe)
    adapted.train()
    made_s = time.perf_counter() - began
    weights = torch.cuda.memory_allocated() if device == "cuda" else None
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()

    steps = options.warm_up + options.steps + bool(options.profile)
    lengths = engine_trl.lengths_of(prepared.shards)
    heard = Heard()
    plan = engine_trl.Plan(recipe, folder, steps, device, prepared.shards, lengths, prepared.rows_of, {}, heard,
                           StopAsked())
    trainer = engine_trl.make_trainer(plan, adapted, tokenizer)
    watch = measuring(options, recipe, device)
    trainer.add_callback(watch)
    trainer.train()
    peaks = watch.peaks or ((torch.cuda.max_memory_reserved(), torch.cuda.max_memory_allocated()) if device == "cuda"
                            else (None, None))
    return figures(options, recipe, prepared, lengths, heard, watch) | {
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu", "limit_bytes": limit,
        "weights_bytes": weights, "peak_reserved_bytes": peaks[0], "peak_allocated_bytes": peaks[1],
        "prepare_s": prepared_s, "make_model_s": made_s,
        "trainable_parameters": sum(each.numel() for each in adapted.parameters() if each.requires_grad)}


def figures(options, recipe, prepared, lengths, heard, watch):
    """Tokens a second over the measured steps, and the profiler's results."""
    sequences = recipe["training"]["micro_batch"] * recipe["training"]["accumulation"]
    times = [end - begin for begin, end in zip(watch.ends, watch.ends[1:])]
    chosen = range(options.warm_up, options.warm_up + options.steps)
    tokens = [sum(tokens_in(lengths, step, sequences)) for step in chosen]
    learnt_share = prepared.counts["learnt_tokens"] / prepared.counts["tokens"]
    spent = sum(times[step] for step in chosen)
    found = {
        "tokens_per_s": sum(tokens) / spent, "learnt_tokens_per_s": sum(tokens) * learnt_share / spent,
        "step_s": {"median": statistics.median(times[step] for step in chosen), "each": times},
        "tokens_a_step": sum(tokens) / len(tokens), "losses": [each["loss"] for each in heard.steps],
        "data": prepared.counts}
    if watch.profile:
        from kinds import device_events, summary
        found["profile"] = seen = summary(device_events(watch.profile), watch.recorded_ns)
        micro = min(2, recipe["training"]["accumulation"])
        seen["micro_batches"] = micro
        # The profiler slows launches down but not kernels, so kernels' time is divided by the time of a step without it.
        once = seen["kinds"].get("optimiser", {"ms": 0})["ms"]
        step_ms = (seen["busy_ms"] - once) * recipe["training"]["accumulation"] / micro + once
        seen["busy_share"] = step_ms / 1e3 / found["step_s"]["median"]
    return found


def tokens_in(lengths, step, sequences):
    """Lengths of the sequences of one step. After the last sequence the first ones follow, in another order: a typical step."""
    return [lengths[number % len(lengths)] for number in range(step * sequences, (step + 1) * sequences)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--recipe")
    parser.add_argument("--set", action="append", default=[], dest="changes")
    parser.add_argument("--shape", default="qwen3-8b")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--warm-up", type=int, default=2)
    parser.add_argument("--limit-gib", type=float, default=24)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--work", help="where tokens are kept; a temporary folder otherwise")
    parser.add_argument("--output")
    options = parser.parse_args()

    from kernelwright._train import model
    from kernelwright._train.events import TrainError
    recipe = read_recipe(options.recipe, options.changes)
    try:
        device = model.choose_device(options.device)
        found = measured(options, recipe, device)
    except TrainError as error:
        found = {"error": error.what, "remedy": error.remedy}
    except Exception as error:
        if not model.is_out_of_memory(error):
            raise
        found = {"error": "out of memory", "detail": model.first_line(error)}
    answer = json.dumps({"shape": "tiny" if options.tiny else options.shape, "recipe": recipe} | found)
    if options.output:
        Path(options.output).write_text(answer + "\n", encoding="utf-8")
    print(answer)
    return 1 if "error" in found else 0


if __name__ == "__main__":
    sys.exit(main())
