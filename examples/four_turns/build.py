"""Makes cpu.json and gpu.json, a recorded conversation of four turns, from reference.py, turn1.md to turn4.md and
turns.toml.

    python examples/four_turns/build.py           writes the two files
    python examples/four_turns/build.py --check   exits 1 when one of them is stale
"""
import argparse
import json
import re
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIDES = {"cpu": 64, "gpu": 4096}
CODE = re.compile(r"<triton>\n(.*)</triton>", re.S)

SYSTEM_PROMPT = "You turn PyTorch code into Triton. Answer with one complete Python module between <triton> and </triton>."
REQUEST = "Write a Triton kernel that computes what this PyTorch code computes.\n\n```python\n{code}```\n"


def reference(device):
    """The reference at the size for this device."""
    text = (HERE / "reference.py").read_text(encoding="utf-8")
    return re.sub(r"^SIDE = .*$", f"SIDE = {SIDES[device]}", text, flags=re.M)


def rows():
    """The rows of turns.toml, with each turn's `completion`."""
    table = tomllib.loads((HERE / "turns.toml").read_text(encoding="utf-8"))["turn"]
    return [row | {"completion": (HERE / row["file"]).read_text(encoding="utf-8")} for row in table]


def result(verdict):
    """The recorded result of a verdict. Nothing here was timed."""
    status, _, error_class = verdict.partition("/")
    correct = status == "correct"
    return {"correctness": correct, "speedup": None, "reference_time_ms": None, "kernel_time_ms": None, "fast_0": correct,
            "fast_1": None, "fast_2": None, "error": error_class or None, "kernel_name": None, "timestamp": None}


def trace(device):
    """The whole conversation in the recorded multi-turn form."""
    code = reference(device)
    messages = [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": REQUEST.format(code=code)}]
    turns = []
    for number, row in enumerate(rows(), start=1):
        turns.append({
            "turn": number,
            "reasoning": row.get("reasoning", "").strip() or None,
            "triton_code": CODE.search(row["completion"])[1],
            "full_completion": row["completion"],
            "result": result(row[device][0]),
            "feedback_given": row.get("feedback"),
        })
        messages.append({"role": "assistant", "content": row["completion"]})
        if "feedback" in row:
            messages.append({"role": "user", "content": row["feedback"]})
    return {
        "sample_key": "sample_relu_sum",
        "source": "sample",
        "level": None,
        "name": "relu_sum",
        "problem_id": None,
        "pytorch_code": code,
        "num_turns": len(turns),
        "stop_reason": "max_turns_reached",
        "final_triton_code": turns[-1]["triton_code"],
        "final_result": turns[-1]["result"],
        "turns": turns,
        "full_messages": messages,
        "timestamp": None,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when a file is stale")
    options = parser.parse_args()
    stale = []
    for device in SIDES:
        path = HERE / f"{device}.json"
        text = json.dumps([trace(device)], indent=2, ensure_ascii=False) + "\n"
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.name)
        if not options.check:
            path.write_text(text, encoding="utf-8")
    if options.check and stale:
        print("stale: " + ", ".join(stale) + "; run python examples/four_turns/build.py", file=sys.stderr)
        return 1
    print("up to date" if not stale else "written: " + ", ".join(stale))
    return 0


if __name__ == "__main__":
    sys.exit(main())
