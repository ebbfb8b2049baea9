"""verl's reward function, for `reward.custom_reward_function`: the reward of a model's answer, judged by the service.

reward.custom_reward_function.path=pkg://kernelwright.verl reward.custom_reward_function.name=compute_score

Needs no verl. Documented in docs/rewards.md.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Not relative, since verl also loads a file by its path.
from kernelwright.outcomes import WAIT_S, judge_within, outcome_of, shared_client
from kernelwright.rewards import plain, task_named

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
    more = {"options": plain(options), "priority": priority}
    request = {**task_named(ground_truth, extra_info or {}), "completion": solution_str,
               "reward": {name: value for name, value in terms.items() if value is not None},
               **{name: value for name, value in more.items() if value is not None}}
    client = shared_client(evaluator)
    evaluation = await client.on_thread([], lambda: judge_within(client, request, float(wait_s)))
    outcome = outcome_of(evaluation)
    # verl shows `acc` as the main figure of a validation.
    return {"score": outcome.reward, "acc": outcome.metrics["correct"], **outcome.metrics}
