"""The type of a verdict: the JSON of kernelwright.verdict/1 as a dict, with attributes, the terminal's words and an HTML view.

Every function and the client return it. Its fields are in docs/verdict.md.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from .words import explained, in_short

__all__ = ["Verdict"]

Status = Literal["correct", "incorrect", "failed", "skipped", "error"]
Fault = Literal["kernel", "task", "infrastructure"]
Trust = Literal["replay", "in-process", "interpreter"]
CountsReason = Literal["proves_nothing", "library_only", "decoy", "nondeterministic", "not_triton", "wraps_reference",
                       "specialised", "precision"]


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
    def generality(self) -> dict[str, Any] | None:
        """On which families of inputs, beyond those of the task, the kernel stays right; None where it was not tried."""
        return self.get("generality")

    @property
    def gradients(self) -> list[str] | None:
        """The names of the gradients that were judged with the outputs; None where none were asked for."""
        return self.get("gradients")

    @property
    def sanitized(self) -> list[dict[str, Any]] | None:
        """What each check of --sanitize found in a right kernel; None where none was asked for, or it was not right."""
        return self.get("sanitized")

    @property
    def judged_calls(self) -> int | None:
        """How many calls of the kernel's own code were judged, beside replays; None where they were not counted."""
        return self.get("judged_calls")

    @property
    def timing(self) -> dict[str, Any] | None:
        return self.get("timing")

    @property
    def segments(self) -> dict[str, dict[str, float | None]] | None:
        """The times of the forward and the backward pass; None where gradients were not judged and timed on a GPU."""
        return (self.get("timing") or {}).get("segments")

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
        return html_of(self, self._judged, self.__str__)
