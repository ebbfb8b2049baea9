"""Writes JSON files that appear only when they are complete."""
import contextlib
import json
import os


def write(path, value):
    """Writes `value` beside `path` and moves it there. Raises OSError."""
    neighbour = f"{path}.{os.getpid()}.tmp"
    try:
        with open(neighbour, "w", encoding="utf-8", errors="replace") as out:
            json.dump(value, out, ensure_ascii=False, separators=(",", ":"))
            out.write("\n")
        os.replace(neighbour, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(neighbour)
