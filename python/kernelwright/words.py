"""The words of verdicts, as `kernelwright explain` prints them."""
from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .program import VerifierError, find_program

EXPLAIN_LIMIT_S = 30
MOST_EXPLAINED_BYTES = 64 << 20  # of sources that are read again for their excerpts


def in_short(verdict: Mapping[str, Any]) -> str:
    """"softmax: incorrect (wrong_value)"."""
    why = verdict.get("error_class") or verdict.get("counts_reason")
    return visible(f"{verdict.get('id')}: {verdict.get('status')}" + (f" ({why})" if why else ""))


def visible(text: str) -> str:
    """Without characters that control a terminal or the direction of writing."""
    return "".join(each if each.isprintable() or each == "\n" else "�" for each in text)


def explained(verdicts: Sequence[Mapping[str, Any]]) -> str:
    """The table and the explanations of these verdicts as `kernelwright verify` prints them, by `kernelwright explain`. Where
    this machine does not have the program, as that of a client may not: a line and the error of each."""
    verdicts = list(verdicts)
    try:
        with tempfile.TemporaryDirectory(prefix="kernelwright-explain-") as folder:
            return _explained_by_program(verdicts, Path(folder))
    except (OSError, ValueError, VerifierError, subprocess.SubprocessError):
        return "\n".join(f"{in_short(each)}\n  {visible(str(each['error']))}" if each.get("error") else in_short(each)
                         for each in verdicts)


def _explained_by_program(verdicts: Sequence[Mapping[str, Any]], folder: Path) -> str:
    program, file = find_program(), folder / "verdicts.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in verdicts), encoding="utf-8")
    command = [program, "explain", str(file)]
    if rows := _judged_rows(verdicts):
        judged = folder / "judged.jsonl"
        judged.write_text("".join(rows), encoding="utf-8")
        command += ["--input", str(judged)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=EXPLAIN_LIMIT_S)
    if done.returncode != 0:
        raise VerifierError(done.stderr.decode("utf-8", "replace"))
    return done.stdout.decode("utf-8", "replace").rstrip("\n")


def _judged_rows(verdicts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines of a batch with the sources of these verdicts, as far as they are known and their size is bearable."""
    rows: list[str] = []
    size = 0
    for number, each in enumerate(verdicts):
        judged = getattr(each, "judged", None)
        if judged is None or size > MOST_EXPLAINED_BYTES:
            continue
        fields = {name: judged[name] for name in ("reference_code", "kernel_code", "full_completion", "reference_path",
                                                  "kernel_path") if judged.get(name) is not None}
        if "full_completion" not in fields and judged.get("completion") is not None:
            fields["full_completion"] = judged["completion"]
        rows.append(json.dumps({"id": str(number), **fields}) + "\n")
        size += len(rows[-1])
    return rows
