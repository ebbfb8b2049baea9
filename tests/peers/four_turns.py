"""Tasks and answers of the scripts that run by hand. Each trainer's Python imports it: it needs the standard library alone."""
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TURNS = ROOT / "examples" / "four_turns"
REFERENCE = (TURNS / "reference.py").read_text(encoding="utf-8")
RIGHT, WRONG = ((TURNS / f"turn{number}.md").read_text(encoding="utf-8") for number in (3, 1))
TASK, BROKEN_TASK = "four/turns", "broken"
BROKEN = ("def reference_impl(x):\n    raise ValueError('no')\n\n\n"
          "def get_inputs():\n    import torch\n    return [torch.ones(4)]\n")


def tasks_file(folder):
    """A file for `serve --tasks`: one task, and one whose reference raises."""
    rows = [{"task_id": TASK, "reference_code": REFERENCE}, {"task_id": BROKEN_TASK, "reference_code": BROKEN}]
    path = Path(folder) / "tasks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
