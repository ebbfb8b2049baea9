#!/usr/bin/env python3
"""Write traces of many turns for measurements of `kernelwright report`.

Their texts are new sentences from the words of this repository (a chain over pairs of words), their codes are the
sample's answers with edits from turn to turn, and their verdicts are those of examples/recorded_gpu with other
numbers, so that they compress about as a model's answers do. The same arguments give the same bytes.

    bench/report/traces.py --traces 10000 --turns 4 --output traces.json
"""
import argparse
import json
import random
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
POOL_BYTES = 6_000_000  # of made text, from which pieces are cut
LEVELS = 3
CODE = re.compile(r"<triton>\n(.*?)</triton>", re.S)
WORD = re.compile(r"\s+|\w+|[^\w\s]")


def made_text(rng, paths, size):
    """A text of about `size` characters in which each word follows the two before it somewhere in the files."""
    words = WORD.findall("\n".join(path.read_text(encoding="utf-8") for path in paths))
    followers = {}
    for first, second, third in zip(words, words[1:], words[2:]):
        followers.setdefault((first, second), []).append(third)
    at = (words[0], words[1])
    text, length = [], 0
    while length < size:
        choices = followers.get(at)
        if not choices:
            at = rng.choice(list(followers))
            continue
        word = rng.choice(choices)
        text.append(word)
        length += len(word)
        at = (at[1], word)
    return "".join(text)


class Maker:
    """Makes traces one after another."""

    def __init__(self, seed, turns):
        self.rng, self.turns = random.Random(seed), turns
        docs = sorted((ROOT / "docs").glob("*.md"))
        sources = sorted((ROOT / "python" / "kernelwright").rglob("*.py"))
        self.prose = made_text(self.rng, docs, POOL_BYTES)
        self.python = made_text(self.rng, sources, POOL_BYTES)
        answers = [path.read_text(encoding="utf-8")
                   for path in sorted((ROOT / "examples" / "sample" / "completions").glob("*.md"))]
        self.codes = [found.group(1) for found in map(CODE.search, answers) if found]
        self.tasks = [path.read_text(encoding="utf-8")
                      for path in sorted((ROOT / "examples" / "sample" / "tasks").glob("*.py"))]
        lines = (ROOT / "examples" / "recorded_gpu" / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
        verdicts = [json.loads(line) for line in lines]
        self.right = [each for each in verdicts if each["status"] == "correct" and each["counts"]]
        self.wrong = [each for each in verdicts if each["status"] != "correct"]

    def cut(self, pool, size):
        """A piece of a text."""
        begin = self.rng.randrange(len(pool) - size)
        return pool[begin:begin + size]

    def code(self, before):
        """An answer's code: one of the sample's with made comments, or an edit of the code before."""
        lines = (before or self.rng.choice(self.codes)).splitlines()
        for _ in range(6 if before else 12):
            lines.insert(self.rng.randrange(len(lines) + 1), "# " + " ".join(self.cut(self.python, 80).split()))
        return "\n".join(lines)

    def verdict(self, task_id, sample, right):
        """A verdict with numbers of its own."""
        verdict = json.loads(json.dumps(self.rng.choice(self.right if right else self.wrong)))
        verdict.update(id=f"{task_id}~{sample}", task_id=task_id, sample_number=sample,
                       candidate_sha256=f"{self.rng.getrandbits(256):064x}", work=f"{self.rng.getrandbits(256):064x}")
        speedup = self.rng.lognormvariate(0.1, 0.6) if right else None
        timing = verdict["timing"]
        if right:
            reference = self.rng.uniform(0.01, 3)
            kernel = reference / speedup
            verdict.update(speedup=speedup, reference_time_ms=reference, kernel_time_ms=kernel,
                           fast_1=speedup > 1, fast_2=speedup >= 2)
            for side, time in (("reference", reference), ("kernel", kernel)):
                timing[f"{side}_samples_ms"] = [time * self.rng.gauss(1, 0.02) for _ in range(30)]
                timing[f"{side}_interval_ms"] = [time * 0.98, time * 1.02]
        verdict["stages_ms"] = {name: ms * self.rng.uniform(0.5, 2) for name, ms in verdict["stages_ms"].items()}
        return verdict

    def trace(self, number):
        """One trace of a task with up to four samples."""
        rng, task_id, sample = self.rng, f"made/{number // 4}", number % 4
        last = self.turns if rng.random() < 0.7 else rng.randrange(1, self.turns + 1)
        turns, code = [], None
        for turn in range(1, self.turns + 1):
            code = self.code(code)
            prose = self.cut(self.prose, rng.randrange(300, 900))
            verdict = self.verdict(task_id, sample, turn >= last and rng.random() < 0.6)
            turns.append({"turn": turn, "reasoning": self.cut(self.prose, rng.randrange(500, 2000)),
                          "triton_code": code, "full_completion": f"{prose}\n<triton>\n{code}\n</triton>",
                          "result": verdict, "feedback_given": self.cut(self.prose, rng.randrange(200, 900)),
                          "model": "made", "usage": {"prompt_tokens": rng.randrange(900, 9000),
                                                     "completion_tokens": rng.randrange(300, 3000),
                                                     "reasoning_tokens": rng.randrange(200, 2000)},
                          "finish_reason": "stop", "generation_ms": rng.uniform(3000, 60000),
                          "answered_at": "2026-01-01T00:00:00Z"})
        turns[-1]["feedback_given"] = None
        prompt = [{"role": "system", "content": self.prose[:1500]},
                  {"role": "user", "content": self.tasks[number // 4 % len(self.tasks)]}]
        return {"sample_key": f"made_{number}", "source": "made", "level": number % LEVELS + 1,
                "name": f"task {number // 4}", "problem_id": number // 4, "pytorch_code": prompt[1]["content"],
                "num_turns": len(turns), "stop_reason": "max_turns_reached", "turns": turns, "full_messages": prompt,
                "timestamp": "2026-01-01T00:00:00Z", "task_id": task_id, "sample_number": sample, "licence": "MIT",
                "sampling": {"temperature": 0.7}, "model": "made", "round": 1, "other_rounds": []}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--traces", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    maker = Maker(options.seed, options.turns)
    with options.output.open("w", encoding="utf-8") as file:
        for number in range(options.traces):
            file.write("[\n" if number == 0 else ",\n")
            file.write(json.dumps(maker.trace(number)))
        file.write("\n]\n")


if __name__ == "__main__":
    main()
