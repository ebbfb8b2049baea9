"""The type of a verdict: the JSON of kernelwright.verdict/1 as a dict, with attributes, the terminal's words and an HTML view.

Every function and the client return it. Its fields are in docs/verdict.md.
"""
from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from .program import VerifierError, find_program

__all__ = ["Verdict", "explained"]

Status = Literal["correct", "incorrect", "failed", "skipped", "error"]
Fault = Literal["kernel", "task", "infrastructure"]
Trust = Literal["replay", "in-process", "interpreter"]
CountsReason = Literal["proves_nothing", "library_only", "decoy", "nondeterministic"]

EXPLAIN_LIMIT_S = 30
MOST_EXPLAINED_BYTES = 64 << 20  # of sources that are read again for their excerpts


class Verdict(dict[str, Any]):
    """A verdict. It equals, and json.dumps writes, the dict of its JSON; a field that the JSON lacks is None as an attribute.
    `str` gives the words that `kernelwright verify` prints. `judged` is the row that was judged, from which the words get the
    lines of the source; it is no part of the JSON, and is kept by copies and by pickling."""

    __slots__ = ("_judged", "_words")

    def __init__(self, fields: Mapping[str, Any] | Sequence[tuple[str, Any]] = (), /, *,
                 judged: Mapping[str, Any] | None = None) -> None:
        super().__init__(fields)
        self._judged = judged
        self._words: str | None = None

    @property
    def id(self) -> str:
        return str(self.get("id", ""))

    @property
    def status(self) -> Status:
        return cast(Status, self.get("status", "error"))

    @property
    def correct(self) -> bool:
        """Whether the kernel is right and the answer counts."""
        return self.get("status") == "correct" and self.get("counts") is True

    @property
    def correctness(self) -> bool | None:
        """Whether the numbers are right, whether or not they count; None where this is not known."""
        return self.get("correctness")

    @property
    def counts(self) -> bool | None:
        return self.get("counts")

    @property
    def counts_reason(self) -> CountsReason | None:
        return self.get("counts_reason")

    @property
    def blames_kernel(self) -> bool:
        """Whether the verdict is held against the kernel: wrong, broken, or right without proving anything."""
        return self.get("status") in ("incorrect", "failed") or self.get("counts") is False

    @property
    def fault(self) -> Fault | None:
        return self.get("fault")

    @property
    def error(self) -> str | None:
        return self.get("error")

    @property
    def error_class(self) -> str | None:
        return self.get("error_class")

    @property
    def error_detail(self) -> dict[str, Any] | None:
        return self.get("error_detail")

    @property
    def stage(self) -> str | None:
        return self.get("stage")

    @property
    def trust(self) -> Trust | None:
        return self.get("trust")

    @property
    def shapes(self) -> Literal["given", "reduced"] | None:
        return self.get("shapes")

    @property
    def speedup(self) -> float | None:
        """The reference's time divided by the kernel's; None where it was not measured: why_no_speedup."""
        return self.get("speedup")

    @property
    def why_no_speedup(self) -> str | None:
        return (self.get("timing") or {}).get("why_null")

    @property
    def reference_time_ms(self) -> float | None:
        return self.get("reference_time_ms")

    @property
    def kernel_time_ms(self) -> float | None:
        return self.get("kernel_time_ms")

    @property
    def comparison(self) -> dict[str, Any] | None:
        return self.get("comparison")

    @property
    def timing(self) -> dict[str, Any] | None:
        return self.get("timing")

    @property
    def launches(self) -> list[dict[str, Any]] | None:
        return self.get("launches")

    @property
    def evidence(self) -> dict[str, Any] | None:
        return self.get("evidence")

    @property
    def environment(self) -> dict[str, Any] | None:
        return self.get("environment")

    @property
    def isolation(self) -> dict[str, Any] | None:
        return self.get("isolation")

    @property
    def printed(self) -> str | None:
        return self.get("printed")

    @property
    def judged(self) -> Mapping[str, Any] | None:
        """The row that was judged: its sources and input shapes; None where they are not known."""
        return self._judged

    def copy(self) -> Verdict:
        return Verdict(self, judged=self._judged)

    def __str__(self) -> str:
        if self._words is None:
            self._words = explained([self])
        return self._words

    def __repr__(self) -> str:
        return f"<Verdict {in_short(self)}>"

    def _repr_html_(self) -> str:
        from .verdict_html import html_of
        return html_of(self)


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
        judged = each.judged if isinstance(each, Verdict) else None
        if judged is None or size > MOST_EXPLAINED_BYTES:
            continue
        fields = {name: judged[name] for name in ("reference_code", "kernel_code", "full_completion", "reference_path",
                                                  "kernel_path") if judged.get(name) is not None}
        if "full_completion" not in fields and judged.get("completion") is not None:
            fields["full_completion"] = judged["completion"]
        rows.append(json.dumps({"id": str(number), **fields}) + "\n")
        size += len(rows[-1])
    return rows
