#!/usr/bin/env python3
"""Trains equal tiny models on several data sets, and compares their loss on kernels of a package that no set contains.

tiny_model.py --set NAME=FOLDER --set NAME=FOLDER --held-out PACKAGE --output F.json [--bytes N] [--epochs N] [--seeds N]

FOLDER is an output of `kernelwright dataset build`, PACKAGE a folder of Python files. From each set as many training
rows of fill-in-the-middle are drawn as have N bytes; the models, the tokenizer and the steps are the same. Needs torch
and tokenizers.

The loss is in bits a byte of a kernel's body, in two forms: `left_to_right` after the file's text before it, `infill`
between the text before and after it, in Qwen's order of the marks.
"""
import argparse
import ast
import json
import math
import random
import statistics
import time
from pathlib import Path

import tokenizers
import torch
from torch import nn

PREFIX, SUFFIX, MIDDLE, END = "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|endoftext|>"
VOCABULARY = 2048
WINDOW = 512  # tokens
BATCH = 8
CONTEXT_BEFORE, CONTEXT_AFTER = 800, 200  # characters of the held-out file around a body


def rows_of(folder, size_bytes, generator):
    """Training rows as (prompt, completion), drawn without replacement until they have `size_bytes`."""
    lines = (folder / "fim.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["split"] == "train"]
    generator.shuffle(rows)
    drawn, total = [], 0
    for row in rows:
        if total >= size_bytes:
            break
        drawn.append((row["prompt"], row["completion"]))
        total += len((row["prompt"] + row["completion"]).encode())
    return drawn, total, len(rows)


def is_kernel(node):
    return isinstance(node, ast.FunctionDef) and any("triton.jit" in ast.unparse(word) for word in node.decorator_list)


def bodies(package):
    """The bodies of a package's kernels as (text before, body, text after)."""
    found = []
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines(keepends=True)
        for node in filter(is_kernel, ast.walk(ast.parse(text))):
            first, last = node.body[0].lineno - 1, node.end_lineno
            before, after = "".join(lines[:first]), "".join(lines[last:])
            found.append((before[-CONTEXT_BEFORE:], "".join(lines[first:last]), after[:CONTEXT_AFTER]))
    return found


class Block(nn.Module):
    """Attention and a feed-forward layer, each after a norm."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width, bias=False), nn.GELU(), nn.Linear(4 * width, width, bias=False))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norms[0](x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.feed(self.norms[1](x))


class TinyModel(nn.Module):
    """A decoder with tied embeddings."""

    def __init__(self, width=160, layers=4, heads=4):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(WINDOW, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        for table in (self.tokens, self.places):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        return self.norm(self.blocks(x)) @ self.tokens.weight.T


def windows(rows, tokenizer, on, generator):
    """The rows as windows of ids and of weights, one after another: `all` learns every token, `completion` answers only."""
    ids, weights = [], []
    generator.shuffle(rows)
    for prompt, completion in rows:
        question, answer = tokenizer.encode(prompt).ids, tokenizer.encode(completion + END).ids
        if on == "completion":  # a row of its own window: its end, because the answer stands there
            question = question[-(WINDOW // 2):]
            answer = answer[:WINDOW // 2]
        ids += question + answer
        weights += [float(on == "all")] * len(question) + [1.0] * len(answer)
    count = (len(ids) - 1) // WINDOW
    cut = count * WINDOW
    shape = (count, WINDOW)
    return (torch.tensor(ids[:cut]).view(shape), torch.tensor(ids[1:cut + 1]).view(shape),
            torch.tensor(weights[1:cut + 1]).view(shape))


def trained(rows, tokenizer, args, seed):
    """A model after `args.epochs` epochs over the rows."""
    torch.manual_seed(seed)
    generator = random.Random(seed)
    model = TinyModel()
    inputs, targets, weights = windows(rows, tokenizer, args.loss_on, generator)
    steps = args.epochs * (len(inputs) // BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95), weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps, pct_start=0.05)
    order = []
    for _ in range(steps):
        if len(order) < BATCH:
            order = torch.randperm(len(inputs)).tolist()
        batch, order = order[:BATCH], order[BATCH:]
        logits = model(inputs[batch])
        each = nn.functional.cross_entropy(logits.flatten(0, 1), targets[batch].flatten(), reduction="none")
        weight = weights[batch].flatten()
        loss = (each * weight).sum() / weight.sum().clamp(min=1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.eval(), steps


@torch.no_grad()
def bits_a_byte(model, tokenizer, questions):
    """The mean loss of the answers, in bits a byte, over pairs of prompt and answer; each is cut to half of the window."""
    bits, size_bytes = 0.0, 0
    for prompt, answer in questions:
        before = tokenizer.encode(prompt).ids[-(WINDOW // 2):]
        ids = tokenizer.encode(answer).ids[:WINDOW // 2]
        whole = torch.tensor([before + ids])
        logits = model(whole[:, :-1])[0, len(before) - 1:]
        bits += nn.functional.cross_entropy(logits, torch.tensor(ids), reduction="sum").item() / math.log(2)
        size_bytes += len(tokenizer.decode(ids, skip_special_tokens=False).encode())
    return bits / size_bytes


def tokenizer_of(sets):
    """A byte-pair tokenizer of the rows of all sets together."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    bytes_of_text = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=[PREFIX, SUFFIX, MIDDLE, END],
                                             initial_alphabet=bytes_of_text, show_progress=False)
    tokenizer.train_from_iterator((prompt + completion for rows in sets for prompt, completion in rows), trainer)
    return tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", required=True, dest="sets")
    parser.add_argument("--held-out", type=Path, required=True)
    parser.add_argument("--bytes", type=int, default=3_000_000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--loss-on", choices=["all", "completion"], default="all")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    folders = dict(pair.split("=", 1) for pair in args.sets)

    kernels = bodies(args.held_out)
    forms = {"left_to_right": [(before, body) for before, body, _ in kernels],
             "infill": [(f"{PREFIX}{before}{SUFFIX}{after}{MIDDLE}", body) for before, body, after in kernels]}
    drawn = {(name, seed): rows_of(Path(folder), args.bytes, random.Random(seed))
             for name, folder in folders.items() for seed in range(args.seeds)}
    tokenizer = tokenizer_of([rows for rows, _, _ in drawn.values()])
    result = {"held_out_kernels": len(kernels), "bytes": args.bytes, "epochs": args.epochs, "loss_on": args.loss_on, "runs": []}
    for (name, seed), (rows, size_bytes, available) in drawn.items():
        started = time.monotonic()
        model, steps = trained(rows, tokenizer, args, seed)
        run = {"set": name, "seed": seed, "rows": len(rows), "rows_available": available, "bytes": size_bytes, "steps": steps,
               "parameters": sum(table.numel() for table in model.parameters()),
               **{form: round(bits_a_byte(model, tokenizer, questions), 4) for form, questions in forms.items()},
               "seconds": round(time.monotonic() - started)}
        result["runs"].append(run)
        print(json.dumps(run), flush=True)
    result["mean"] = {name: {form: round(statistics.mean(run[form] for run in result["runs"] if run["set"] == name), 4)
                             for form in forms} for name in folders}
    args.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result["mean"]))


if __name__ == "__main__":
    main()
