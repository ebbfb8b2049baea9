"""Requests to the evaluation service and its answers."""
from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from .client_http import Refused
from .fields import NoText, check_fields
from .verdict import Verdict

BAD_REQUEST = 400
State = Literal["queued", "running", "done", "cancelled", "unknown"]


class Tolerance(TypedDict):
    rtol: float
    atol: float


class Options(TypedDict, total=False):
    """Options of one evaluation, in place of the service's settings."""

    # made: options
    timeout_s: float
    correctness_trials: int
    tolerance: Literal["kernelbench", "seed", "strict"] | Tolerance
    precision: Literal["fp32", "fp16", "bf16"]
    tf32: bool
    move_weights: bool
    require: Literal["own", "triton", "any"]
    varied_inputs: bool
    varied_shapes: Literal["off", "report", "require"]
    backward: bool
    sanitize: list[Literal["bounds", "memcheck", "racecheck"]]
    timing_trials: int
    timing_precision: float
    compile_baseline: bool
    # end


class RewardTerms(TypedDict, total=False):
    """The terms of a reward; a missing one is the service's (docs/rewards.md)."""

    base: float
    cap: float
    min_trust: Literal["replay", "in-process"]


class Request(TypedDict, total=False):
    """One evaluation. `reference_code`, or the `task_id` of a task of the service, and either `kernel_code` or
    `completion` are needed; unknown keys are sent too and returned in the verdict."""

    id: str
    task_id: str
    task_version: str
    reference_code: str
    kernel_code: str
    completion: str
    input_shapes: Mapping[str, Any]
    entry_point: str
    kernel_entry: str
    kernel_name: str
    sample_number: int
    priority: int
    deadline_s: float
    fresh: bool
    options: Options
    reward: RewardTerms


AnyRequest = Request | Mapping[str, Any]


@dataclass(frozen=True)
class Evaluation:
    """The state of an evaluation. `verdict` is set once it is done: a dict of the schema kernelwright.verdict/1 with the
    attributes of Verdict."""

    id: str
    state: State
    verdict: Verdict | None = None
    cause: str | None = None
    """Why it was cancelled: "client", "deadline", …"""
    reward: float | None = None
    """Where the request asked for one; None where task or infrastructure are to blame, so that it says nothing."""
    submitted_at: str | None = None
    started_at: str | None = None
    finished_at: str | None = None

    @property
    def over(self) -> bool:
        return self.state in ("done", "cancelled")

    @property
    def correct(self) -> bool:
        """Whether the kernel is right and the answer counts."""
        return self.verdict is not None and self.verdict.correct

    @property
    def speedup(self) -> float | None:
        return None if self.verdict is None else self.verdict.speedup


def with_id(request: AnyRequest, place: str = "") -> dict[str, Any]:
    """The request without absent fields, with an id. `place` names it in errors, such as "requests[3]"."""
    if not isinstance(request, Mapping):
        kind = type(request).__name__
        raise TypeError(f"{place or 'the request'} is of the type {kind}: give a mapping of the fields of Request")
    asked = {name: value for name, value in request.items() if value is not None}
    asked.setdefault("id", f"py-{uuid.uuid4().hex}")
    try:
        check_fields(asked, place)
    except NoText as error:  # a service refuses the whole body, and could not say which request it is
        raise Refused(str(error), BAD_REQUEST, "invalid", f"{place}.{error.field}" if place else error.field) from None
    return asked


def evaluation_of(answer: Mapping[str, Any], request: Mapping[str, Any] | None = None) -> Evaluation:
    """`request` is the submitted one, where it is known: the words of the verdict quote its sources."""
    found = answer.get("verdict")
    verdict = None if found is None else Verdict(found, judged=request)
    return Evaluation(id=answer["id"], state=answer["state"], verdict=verdict, cause=answer.get("cause"),
                      reward=None if verdict is None else verdict.get("reward"), submitted_at=answer.get("submitted_at"),
                      started_at=answer.get("started_at"), finished_at=answer.get("finished_at"))
