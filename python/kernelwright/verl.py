"""verl's reward function, for `reward.custom_reward_function`: the reward of a model's answer, judged by the service.

reward.custom_reward_function.path=pkg://kernelwright.verl reward.custom_reward_function.name=compute_score

Needs no verl. Documented in docs/rewards.md.
"""
from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

# Not relative, since verl also loads a file by its path.
from kernelwright.client import Client
from kernelwright.outcomes import WAIT_S, judge_within, outcome_of
from kernelwright.rewards import task_of

__all__ = ["compute_score"]


async def compute_score(*, data_source: str | None = None, solution_str: str, ground_truth: Any = None,
                        extra_info: Mapping[str, Any] | None = None, evaluator: str | None = None, wait_s: float = WAIT_S,
                        base: float | None = None, cap: float | None = None, min_trust: str | None = None,
                        options: Mapping[str, Any] | None = None, priority: int | None = None,
                        **_: Any) -> dict[str, float]:
    """`score` and metrics, always with the same names. `extra_info` names the task as the columns of KernelReward do, else
    `ground_truth` does: a task_id, or the fields of a task, or their JSON. `reward_kwargs` of verl's configuration sets the
    other parameters. verl has no value for "not judged": after `wait_s` seconds without a verdict, NotJudged ends the step."""
    terms = {"base": base, "cap": cap, "min_trust": min_trust}
    more = {"options": _plain(options), "priority": priority}
    request = {**_task(ground_truth, extra_info or {}), "completion": solution_str,
               "reward": {name: value for name, value in terms.items() if value is not None},
               **{name: value for name, value in more.items() if value is not None}}
    client = _client(evaluator)
    evaluation = await client._on_thread([], lambda: judge_within(client, request, float(wait_s)))
    outcome = outcome_of(evaluation)
    # verl shows `acc` as the main figure of a validation.
    return {"score": outcome.reward, "acc": outcome.metrics["correct"], **outcome.metrics}


def _task(ground_truth: Any, extra_info: Mapping[str, Any]) -> dict[str, Any]:
    task = task_of(_plain(extra_info))
    if "reference_code" not in task and "task_id" not in task:
        truth = _plain(ground_truth)
        if isinstance(truth, str) and truth.lstrip().startswith("{"):
            truth = json.loads(truth)
        named = task_of(truth) if isinstance(truth, Mapping) else {"task_id": truth} if _is_id(truth) else {}
        task = {**named, **task}
    if "reference_code" not in task and "task_id" not in task:
        raise ValueError("the sample has no task: extra_info needs task_id or reference_code, or ground_truth is a task_id")
    return task


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\n" not in value


@functools.lru_cache(maxsize=16)
def _client(evaluator: str | None) -> Client:
    return Client(evaluator)


def _plain(value: Any) -> Any:
    """Parquet files come as arrays of numpy, configurations as containers of OmegaConf; JSON knows neither."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_plain(each) for each in value]
    return value
