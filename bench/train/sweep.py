#!/usr/bin/env python3
"""Tries settings of the trainer one after another, each in a process of its own, to find the best that fits.

sweep.py --rows FILE.jsonl [...] --tokenizer FOLDER --output FILE.jsonl [--settings 8:varlen:liger:on ...]
[--sequences 16] [--limit-gib 24] [--seconds 540] [--seconds-each 150] [--profile] [--tiny] [--device cpu]

A setting is MICRO_BATCH:ATTENTION:KERNELS:CHECKPOINTING. Every setting takes the same number of sequences a step, so that
all learn the same. Each answer of speed.py is appended to --output at once, and a table is printed at the end, the
fastest first. Settings not begun within --seconds are named.
"""
import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

# The recipe as it is, the expected best setting, and then settings that isolate each difference.
SETTINGS = ["1:sdpa:none:on", "8:varlen:liger:on", "2:varlen:liger:off", "16:varlen:liger:on", "4:varlen:liger:off",
            "4:varlen:liger:on", "8:sdpa:liger:on", "8:varlen:none:on", "1:varlen:liger:off", "8:sdpa:none:on",
            "1:sdpa:liger:on", "2:varlen:liger:on", "1:varlen:none:on", "1:sdpa:none:off", "2:sdpa:none:on", "4:sdpa:none:on",
            "16:sdpa:none:on"]


def changes_of(setting, sequences):
    micro, attention, kernels, checkpointing = setting.split(":")
    return {"training.micro_batch": micro, "training.accumulation": str(max(1, sequences // int(micro))),
            "training.attention": attention, "training.kernels": kernels,
            "training.gradient_checkpointing": {"on": "true", "off": "false"}[checkpointing]}


def tried(setting, options, seconds):
    words = [sys.executable, str(Path(__file__).with_name("speed.py")), "--rows", *options.rows, "--tokenizer",
             options.tokenizer, "--steps", str(options.steps), "--warm-up", str(options.warm_up), "--limit-gib",
             str(options.limit_gib), "--device", options.device]
    words += [word for name, value in changes_of(setting, options.sequences).items() for word in ("--set", f"{name}={value}")]
    words += [f"--{name}" for name in ("profile", "tiny") if getattr(options, name)]
    began = time.monotonic()
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds)
        lines = done.stdout.splitlines()
        found = json.loads(lines[-1]) if lines else {"error": f"exit {done.returncode}", "detail": done.stderr[-2000:]}
    except subprocess.TimeoutExpired as error:
        found = {"error": f"not done after {seconds:.0f} s", "detail": (error.stderr or b"")[-500:].decode(errors="replace")}
    return {"setting": setting, "took_s": time.monotonic() - began} | found


def line_of(found):
    if "error" in found:
        return f"{found['setting']:22} {found['error']}: {str(found.get('detail', found.get('remedy', '')))[-160:].strip()}"
    gib = (found["peak_reserved_bytes"] or 0) / 2**30
    busy = found.get("profile", {}).get("busy_share")
    return (f"{found['setting']:22} {found['tokens_per_s']:8.0f} tokens/s  {found['learnt_tokens_per_s']:8.0f} learnt/s  "
            f"{found['step_s']['median']:7.3f} s/step  {gib:5.1f} GiB" + (f"  busy {busy:.0%}" if busy is not None else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--settings", nargs="+", default=SETTINGS)
    parser.add_argument("--sequences", type=int, default=16)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--warm-up", type=int, default=1)
    parser.add_argument("--limit-gib", type=float, default=24)
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--seconds-each", type=float, default=150)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()

    end, answers = time.monotonic() + options.seconds, []
    with open(options.output, "w", encoding="utf-8") as out:
        for setting in options.settings:
            left = end - time.monotonic()
            if left < 30:
                print(f"{setting:22} not begun")
                continue
            answers.append(tried(setting, options, min(left, options.seconds_each)))
            print(json.dumps(answers[-1]), file=out, flush=True)
            print(line_of(answers[-1]), flush=True)
    print("\nthe fastest first:")
    for found in sorted(answers, key=lambda each: -each.get("tokens_per_s", 0)):
        print(line_of(found))


if __name__ == "__main__":
    main()
