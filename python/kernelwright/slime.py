"""A reward function for slime and miles that leaves samples without a verdict out of training.

--custom-rm-path kernelwright.slime.reward --group-rm

slime ends training where a reward cannot be had, and has no value for "not judged". Needs neither slime nor miles.
Documented in docs/rewards.md.
"""
from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from .outcomes import WAIT_S, NotJudged, Outcome, judge_within, outcome_of, shared_client
from .rewards import plain, task_named

__all__ = ["reward"]

FIELDS = {"evaluator", "wait_s", "base", "cap", "min_trust", "options", "priority"}
logger = logging.getLogger(__name__)


async def reward(args: Any, sample: Any, **_: Any) -> Any:
    """The reward of a sample, or a list of them for a group of samples (`--group-rm`). `sample.label` names the task as a
    label of `/slime` does, or `sample.metadata` has its columns. `kernelwright` in the file of `--custom-config-path` sets
    the service and the terms of the reward.

    A sample that is not judged within `wait_s` seconds gets `remove_sample`, which takes it out of the loss. Its reward is
    the mean of its group, so that it does not move the baseline of the others; without `--group-rm` it is 0 and does.
    With `--reward-key` the reward is an object with the metrics."""
    group = list(sample) if isinstance(sample, Sequence) else [sample]
    settings = _settings(args)
    outcomes = await asyncio.gather(*(_outcome(each, settings) for each in group))
    known = [each.reward for each in outcomes if each is not None]
    mean = sum(known) / len(known) if known else 0.0
    key = getattr(args, "reward_key", None)
    rewards = [_shown(each, mean, key) for each in outcomes]
    return rewards if isinstance(sample, Sequence) else rewards[0]


def _settings(args: Any) -> dict[str, Any]:
    settings = plain(getattr(args, "kernelwright", None) or {})
    if not isinstance(settings, Mapping) or not settings.keys() <= FIELDS:
        raise ValueError(f"`kernelwright` of --custom-config-path has other fields than {', '.join(sorted(FIELDS))}")
    return dict(settings)


async def _outcome(sample: Any, settings: Mapping[str, Any]) -> Outcome | None:
    metadata = sample.metadata if isinstance(sample.metadata, Mapping) else {}
    terms = {name: settings[name] for name in ("base", "cap", "min_trust") if settings.get(name) is not None}
    more = {name: settings[name] for name in ("options", "priority") if settings.get(name) is not None}
    request = {**task_named(sample.label, metadata), "completion": sample.response, "reward": terms, **more}
    client, wait_s = shared_client(settings.get("evaluator")), float(settings.get("wait_s", WAIT_S))
    try:
        return outcome_of(await client.on_thread([], lambda: judge_within(client, request, wait_s)))
    except NotJudged as why:
        logger.warning("a sample is left out: %s", why)
        sample.remove_sample = True
        return None


def _shown(outcome: Outcome | None, mean: float, key: str | None) -> Any:
    if not key:
        return mean if outcome is None else outcome.reward
    metrics = {"judged": float(outcome is not None), **(outcome.metrics if outcome is not None else {})}
    return {**metrics, key: mean if outcome is None else outcome.reward}
