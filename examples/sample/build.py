"""Makes single_turn.json, multi_turn.json, expected.json and ../loop/conversations.json from tasks/, completions/ and
rows.toml.

    python examples/sample/build.py           writes the four files
    python examples/sample/build.py --check   exits 1 when one of them is stale
"""
import argparse
import json
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent

SYSTEM_PROMPT = (
    "You turn PyTorch code into Triton. Answer with one complete Python module between <triton> and </triton>. "
    "It defines triton_kernel_wrapper, whose parameters are the inputs, then weights and biases, then keyword "
    "arguments with defaults."
)
REQUEST = "Write a Triton kernel that computes what this PyTorch code computes.\n\n```python\n{code}```\n"
FEEDBACK = {
    "syntax_error": "The answer does not parse as Python. Please correct it and send the whole module again.",
    "compile_error": "The kernel does not compile: module 'triton.language' has no attribute 'tanh'. Please correct it.",
    "out_of_bounds": "The kernel reads or writes outside a tensor. Please check the masks of its loads and stores.",
    "wrong_shape": "The result has the wrong shape. It has to have the shape that the PyTorch code returns.",
    "wrong_value": "The kernel runs, but its values differ from the PyTorch code's. Please find out why and correct it.",
}
OTHER_FEEDBACK = "That did not work. Please correct it and send the whole module again."
MOST_WRONG = 2  # answers before the right one in a conversation that is put together


def split_completion(text):
    """The prose before the code, and the code: a <triton> block, else the last fenced block, else everything."""
    tagged = list(re.finditer(r"<triton>\n(.*?)</triton>", text, re.S))
    fenced = list(re.finditer(r"```python\n(.*?)```", text, re.S))
    found = tagged or fenced
    if not found:
        return None, text
    return text[: found[-1].start()].strip() or None, found[-1].group(1)


def expectation(verdict):
    if verdict == "counts":
        return {"status": "correct", "error_class": None, "counts": True, "counts_reason": None}
    status, reason = verdict
    if status == "counts not":
        return {"status": "correct", "error_class": None, "counts": False, "counts_reason": reason}
    return {"status": status, "error_class": reason, "counts": None, "counts_reason": None}


def result_of(expected):
    correctness = {"correct": True, "incorrect": False, "failed": False, "skipped": None}[expected["status"]]
    return {
        "correctness": correctness,
        "speedup": None,
        "reference_time_ms": None,
        "kernel_time_ms": None,
        "fast_0": correctness,
        "fast_1": None,
        "fast_2": None,
        "error": expected["error_class"],
    }


def task_fields(task):
    code = (HERE / "tasks" / f"{task}.py").read_text(encoding="utf-8")
    fields = {
        "sample_key": f"sample_{task}",
        "source": "sample",
        "level": None,
        "name": task,
        "problem_id": None,
        "pytorch_code": code,
    }
    shapes = HERE / "tasks" / f"{task}.shapes.json"
    if shapes.exists():
        fields["input_shapes"] = json.loads(shapes.read_text(encoding="utf-8"))
    return fields


def read_completion(task, label):
    return (HERE / "completions" / f"{task}.{label}.md").read_text(encoding="utf-8")


def single_trace(row):
    text = read_completion(row["task"], row["label"])
    prose, code = split_completion(text)
    return task_fields(row["task"]) | {
        "thinking": None,
        "model_reasoning": prose,
        "triton_code": code,
        "full_completion": text,
        "result": result_of(expectation(row["verdict"])),
        "timestamp": None,
    }


def multi_trace(row):
    """A conversation: its answers are turn1, turn2, ... unless the row says otherwise."""
    fields = task_fields(row["task"])
    messages = [
        {"role": "system", "content": SYSTEM_PROMPT},
        {"role": "user", "content": REQUEST.format(code=fields["pytorch_code"])},
    ]
    turns = []
    for number, verdict in enumerate(row["verdicts"], start=1):
        text = read_completion(row["task"], row.get("labels", {}).get(number, f"turn{number}"))
        prose, code = split_completion(text)
        expected = expectation(verdict)
        last = number == len(row["verdicts"])
        feedback = None if last else FEEDBACK.get(expected["error_class"], OTHER_FEEDBACK)
        turns.append({
            "turn": number,
            "reasoning": prose,
            "triton_code": code,
            "full_completion": text,
            "result": result_of(expected) | {"kernel_name": None, "timestamp": None},
            "feedback_given": feedback,
        })
        messages.append({"role": "assistant", "content": text})
        if feedback:
            messages.append({"role": "user", "content": feedback})
    return fields | {
        "num_turns": len(turns),
        "stop_reason": "success_correct" if turns[-1]["result"]["correctness"] else "max_turns_reached",
        "final_triton_code": turns[-1]["triton_code"],
        "final_result": turns[-1]["result"],
        "turns": turns,
        "full_messages": messages,
        "timestamp": None,
    }


def conversations(rows):
    """One conversation a task, as a model that learns from feedback would have it: wrong answers, then a right one."""
    tasks = {row["task"]: [] for row in rows["single"]}
    for row in rows["single"]:
        tasks[row["task"]].append(row)
    traces = []
    for task, answers in tasks.items():
        right = [row for row in answers if row["verdict"] == "counts"][:1]
        wrong = [row for row in answers if row["verdict"] != "counts"][:MOST_WRONG]
        chosen = wrong + right
        traces.append(multi_trace({
            "task": task,
            "labels": {number: row["label"] for number, row in enumerate(chosen, start=1)},
            "verdicts": [row["verdict"] for row in chosen],
        }))
    return traces + [multi_trace(row) for row in rows["multi"]]


def expected_rows(rows):
    """Row id to expectation; a key met again gets ~2, ~3, and a turn its number."""
    seen = Counter()
    expected = {}

    def row_id(task):
        key = f"sample_{task}"
        seen[key] += 1
        return key if seen[key] == 1 else f"{key}~{seen[key]}"

    for row in rows["single"]:
        source = {"completion": f"{row['task']}.{row['label']}.md", "why": row["why"]}
        expected[row_id(row["task"])] = expectation(row["verdict"]) | source
    for row in rows["multi"]:
        key = row_id(row["task"])
        for number, verdict in enumerate(row["verdicts"], start=1):
            source = {"completion": f"{row['task']}.turn{number}.md", "why": row["why"]}
            expected[f"{key}#{number}"] = expectation(verdict) | source
    return expected


def build():
    rows = tomllib.loads((HERE / "rows.toml").read_text(encoding="utf-8"))
    documents = {
        "single_turn.json": [single_trace(row) for row in rows["single"]],
        "multi_turn.json": [multi_trace(row) for row in rows["multi"]],
        "expected.json": expected_rows(rows),
        "../loop/conversations.json": conversations(rows),
    }
    return {name: json.dumps(content, indent=2, ensure_ascii=False) + "\n" for name, content in documents.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when a file is stale")
    options = parser.parse_args()
    stale = []
    for name, text in build().items():
        path = HERE / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not options.check:
            path.write_text(text, encoding="utf-8")
    if options.check and stale:
        print("stale: " + ", ".join(stale) + "; run python examples/sample/build.py", file=sys.stderr)
        return 1
    print("up to date" if not stale else "written: " + ", ".join(stale))
    return 0


if __name__ == "__main__":
    sys.exit(main())
