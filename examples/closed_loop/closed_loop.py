#!/usr/bin/env python3
"""The whole circle with a model that was made on the spot: closed_loop.py [FOLDER] [--quick] [--source PATH=LICENCE ...]

Data from two packages, an adapter trained on them, served, put through the loop of answers and verdicts; the answers that
are right become data again, the next adapter is trained on both, and scored against its base on tasks it never saw.

The model is a random Qwen3 of a hundred thousand weights, since a real one would have to be downloaded. It learns nothing
that writes kernels: what is shown is that every part works on what the one before it made. So that right answers exist at
all, recorded ones of the same tasks go through the same loop (--model-replay). With a real model in --model the same
commands are the real thing.
"""
import argparse
import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONVERSATIONS = ROOT / "examples" / "loop" / "conversations.json"
TAUGHT = ["sample_rowsum", "sample_swish_gate", "sample_masked_blend", "sample_peak_mask", "sample_running_total",
          "sample_half_scale"]
HELD_OUT = ["sample_bucket_counts", "sample_mean_std", "sample_gelu_tanh", "sample_channel_affine"]
PACKAGES = ["liger-kernel==0.8.5", "gemlite==0.6.0.post2"]
ROWS_AGAIN = 12  # so that a CPU sees them all in the second training
SERVER_LIMIT_S = 180


class StepFailed(Exception):
    """A command of the circle ended as it should not have."""


class Circle:
    """The folder, the program, and the commands as they are run."""

    def __init__(self, options):
        self.folder, self.quick, self.device = options.folder, options.quick, options.device
        self.program, self.sources, self._model = options.program, options.source, options.model
        self.python = ["--python", options.python] if options.python else []  # of what judges and builds data
        self._last_number = 0

    def at(self, name):
        return str(self.folder / name)

    @property
    def base(self):
        return self._model or self.at("base")

    def step(self, title):
        self._last_number += 1
        print(f"\n== {self._last_number}. {title}", flush=True)

    def call(self, *words, expected=0):
        words = [str(word) for word in words]
        print("$ " + shlex.join(words), flush=True)
        code = subprocess.run(words, stdin=subprocess.DEVNULL).returncode
        if code != expected:
            raise StepFailed(f"{words[0]} {words[1]} ended with {code}, not with {expected}")

    def kernelwright(self, verb, *words, expected=0):
        self.call(self.program, *verb.split(), *words, expected=expected)


@contextlib.contextmanager
def served(circle):
    """`transformers serve` on a free port of loopback: whichever model's folder a request names."""
    home = circle.folder / "home"
    (home / "hub").mkdir(parents=True, exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (circle.folder / "serve.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-c", "from transformers.cli.transformers import main; main()", "serve", "--host", "127.0.0.1",
             "--port", str(port), "--device", circle.device, "--default-seed", "0"],
            env={**os.environ, "HF_HOME": str(home)}, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        url, end = f"http://127.0.0.1:{port}", time.monotonic() + SERVER_LIMIT_S
        while not answers(url + "/health"):
            if server.poll() is not None or time.monotonic() > end:
                raise StepFailed(f"the model server did not start: see {circle.at('serve.log')}")
            time.sleep(0.2)
        yield url + "/v1"
    finally:
        server.terminate()
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def sources_of(circle):
    """Words for `dataset build`: packages from the index, or what the caller names, with their licences."""
    if not circle.sources:
        return ["--pypi", *PACKAGES]
    paths = [each.rpartition("=")[0] for each in circle.sources]
    return [*paths, "--licence-of", *(f"{Path(path).name}={each.rpartition('=')[2]}"
                                      for path, each in zip(paths, circle.sources))]


def dataset(circle, *words):
    circle.kernelwright("dataset build", *words, *circle.python, "--no-compile", "--no-figures", "--no-tokens", "--quiet",
                        "--out", circle.at("dataset"))


def trained(circle, number, data, steps, *changes):
    """An adapter, and merged into the base, which is how `transformers serve` can load it from a folder."""
    adapter, merged = circle.at(f"adapter_{number}"), circle.at(f"merged_{number}")
    circle.kernelwright("train", "--python", sys.executable, "--model", circle.base, "--data", *data, "--output", adapter,
                        "--device", circle.device, *steps, "--set", *changes)
    circle.kernelwright("train merge", adapter, "--model", circle.base, "--output", merged, "--python", sys.executable)
    return adapter, merged


def around(circle):
    if not circle._model:
        circle.step("a model: random weights, made here, so it cannot write kernels")
        circle.call(sys.executable, Path(__file__).with_name("tiny_model.py"), circle.at("base"))

    circle.step("data from two packages")
    dataset(circle, *sources_of(circle))
    circle.kernelwright("dataset export", circle.at("dataset"), "--split", "train", "--metadata", "--out",
                        circle.at("rows_1.jsonl"))

    circle.step("an adapter trained on them")
    short = ["max_length=512", "accumulation=2", "learning_rate=0.003"]
    _, merged = trained(circle, 1, [circle.at("rows_1.jsonl")], ["--max-steps", 4 if circle.quick else 20], *short)

    with served(circle) as url:
        circle.step("its answers in the loop: asked, judged, told what was wrong, asked again")
        loop = ["--traces", CONVERSATIONS, "--multi-turn", "--device", circle.device, *circle.python]
        circle.kernelwright("run", *loop, "--sample-id", *TAUGHT[:2], "--vllm-url", url, "--model", merged, "--max-turns", 2,
                            "--max-tokens", 64, "--no-retry-failed", "--output", circle.at("round_1.json"))

        circle.step("recorded answers of the same tasks in the same loop, so that some are right")
        circle.kernelwright("run", *loop, "--sample-id", *TAUGHT, "--model-replay", CONVERSATIONS, "--output",
                            circle.at("teacher.json"))

        circle.step("right answers become data; what failed does not")
        dataset(circle, "--add", circle.at("round_1.run"), circle.at("teacher.run"), "--licence-of",
                "teacher.run=Apache-2.0", "round_1.run=Apache-2.0")
        circle.kernelwright("dataset export", circle.at("dataset"), "--kind", "trace", "--messages", "--metadata", "--out",
                            circle.at("traces.jsonl"))

        circle.step("the next adapter, trained on both: every answer, and a few of the packages' rows")
        few = (circle.folder / "rows_1.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)[:ROWS_AGAIN]
        (circle.folder / "rows_2.jsonl").write_text("".join(few), encoding="utf-8")
        long = ["max_length=7168", "accumulation=1", "learning_rate=0.003"]
        adapter, merged = trained(circle, 2, [circle.at("rows_2.jsonl"), circle.at("traces.jsonl")], [], *long)

        circle.step("what it was trained on is no test: refused")
        asked = ["--traces", CONVERSATIONS, "--vllm-url", url, "--model", merged, "--baseline-model", circle.base,
                 "--max-tokens", 128, "--device", circle.device, *circle.python, "--adapter", adapter]
        circle.kernelwright("score", *asked, "--sample-id", *TAUGHT, "--output", circle.at("refused.json"), expected=1)

        circle.step("before and after, on tasks that neither has seen")
        circle.kernelwright("score", *asked, "--sample-id", *(HELD_OUT[:2] if circle.quick else HELD_OUT), "--samples",
                            1 if circle.quick else 2, "--output", circle.at("score.json"))


def interrupted(*_):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "closed_loop")
    parser.add_argument("--program", default=str(ROOT / "build" / "kernelwright"))
    parser.add_argument("--model", help="a base model of yours: a folder")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--python", help="a Python with PyTorch and Triton; found otherwise")
    parser.add_argument("--source", action="append", help="in place of the two packages: PATH=LICENCE")
    parser.add_argument("--quick", action="store_true", help="few steps and tasks")
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    if options.folder.exists() and any(options.folder.iterdir()):
        print(f"error: {options.folder} is not empty\n  -> name another folder, or remove it", file=sys.stderr)
        return 1
    options.folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, interrupted)
    began = time.monotonic()
    try:
        around(Circle(options))
    except StepFailed as failed:
        print(f"error: {failed}\n  -> what it said stands above; its files are in {options.folder}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(f"\nthe circle closed in {time.monotonic() - began:.0f} s; the report: {options.folder / 'score.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
