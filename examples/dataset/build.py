"""Makes the data set in this folder from code of this repository and from verified answers.

    python examples/dataset/build.py              writes the files that are listed in KEPT
    python examples/dataset/build.py --check      writes nothing, exits 1 when one of them differs
    python examples/dataset/build.py --whole DIR  writes the whole data set to DIR: with CSV, Parquet, tokenizer and figures

It needs a checkout and a built program, and no GPU.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LICENCE = "Apache-2.0"
SOURCES = ["examples/dataset/kernels", "examples/pair", "tests/python/idioms/atomics.py", "tests/python/idioms/cuda_words.py",
           "tests/python/idioms/import_names.py", "tests/python/idioms/libdevice.py", "tests/python/idioms/tuning.py"]
SUFFIXES = {".py", ".cu"}
CONVERSATIONS = ROOT / "examples/loop/conversations.json"
# The feedback on their wrong answers quotes no values of the secret inputs, so that each run gives the same prompts.
TASKS = {"rowsum", "swish_gate", "peak_mask", "bf16_residual", "pairwise_l1", "matmul_fp16"}
KEPT = ["README.md", "ANALYSIS.md", "PROVENANCE.md", "fim.jsonl", "cu2triton.jsonl", "torch2triton.jsonl", "trace.jsonl",
        "duplicates.jsonl", "review.csv"]


def call(command):
    """Run a command; its output is shown only if it fails."""
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}exit code {done.returncode}: {' '.join(str(each) for each in command)}")


def copy_sources(folder):
    """A folder with the licence and the sources at their paths in the repository, and nothing else."""
    folder.mkdir()
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    for source in SOURCES:
        path = ROOT / source
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            if file.suffix in SUFFIXES:
                target = folder / file.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)


def play_conversations(kernelwright, folder):
    """Traces of the scripted model's conversations about TASKS, each answer verified on the CPU."""
    recorded = [each for each in json.loads(CONVERSATIONS.read_text(encoding="utf-8")) if each["name"] in TASKS]
    conversations = folder / "conversations.json"
    conversations.write_text(json.dumps(recorded), encoding="utf-8")
    traces = folder / "traces.json"
    call([*kernelwright("run"), "--traces", conversations, "--model-replay", conversations, "--multi-turn", "--device", "cpu",
          "--output", traces])
    return traces


def build(kernelwright, work, out):
    """The whole data set in the folder `out`."""
    copy_sources(work / "kernelwright")
    traces = play_conversations(kernelwright, work)
    call([*kernelwright("dataset", "build"), work / "kernelwright", traces, "--pairs", HERE / "pairs", "--licence-of",
          f"{traces.name}={LICENCE}", "--validation", "0.1", "--out", out])


def compared(path):
    """A file's text without the program's version, so that a release alone makes no file stale."""
    if not path.exists():
        return None
    return re.sub(r"Kernelwright \d+(\.\d+)+", "Kernelwright VERSION", path.read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when a file differs")
    parser.add_argument("--whole", type=Path, metavar="DIR", help="write the whole data set to this folder")
    parser.add_argument("--program", default=os.environ.get("KERNELWRIGHT", ROOT / "build/kernelwright"))
    parser.add_argument("--python", help="the program's own flag")
    options = parser.parse_args()

    def kernelwright(*verb):
        return [options.program, *verb, *(["--python", options.python] if options.python else [])]

    with tempfile.TemporaryDirectory(prefix="example-dataset-") as folder:
        work = Path(folder)
        out = options.whole or work / "out"
        build(kernelwright, work, out)
        if options.whole:
            return 0
        stale = [name for name in KEPT if compared(out / name) != compared(HERE / name)]
        if not options.check:
            for name in stale:
                shutil.copyfile(out / name, HERE / name)
    if options.check and stale:
        print("stale: " + ", ".join(stale) + "; run python examples/dataset/build.py", file=sys.stderr)
        return 1
    print("up to date" if not stale else "written: " + ", ".join(stale))
    return 0


if __name__ == "__main__":
    sys.exit(main())
