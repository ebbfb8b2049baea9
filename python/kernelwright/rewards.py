"""Rewards for trainers: completions in, one number each out. Documented in docs/rewards.md.

    trainer = GRPOTrainer(model, reward_funcs=KernelReward("http://127.0.0.1:8080"), train_dataset=rows)

The service takes the code out of a completion, judges it and reckons the reward; nothing of that is done here. A reward
is None where the task or the infrastructure is to blame: trainers leave such completions out.
"""
from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .client import Evaluation, Evaluator, Options

__all__ = ["KernelReward", "reward_func", "reward_func_sync"]

# Our name of a column → the names under which data sets have it.
COLUMNS = {
    "reference_code": ("reference_code", "reference_torch_code", "pytorch_code", "python_code"),
    "task_id": ("task_id",),
    "entry_point": ("entry_point",),
    "input_shapes": ("input_shapes",),
    "kernel_name": ("kernel_name",),
}


class KernelReward:
    """A reward function in TRL's dialect, asynchronous, so that it works while others do: await it, or hand it to
    GRPOTrainer. `evaluator` is one, or the URL of one. `tasks` are rows by task_id, for data sets that name their
    tasks by it alone. `base`, `cap` and `min_trust` are the reward's terms, where they are not to be the service's.
    `options` and `priority` go along with every evaluation. What is not judged within `deadline_s` has no reward."""

    def __init__(self, evaluator: Evaluator | str | None = None, *, tasks: Mapping[str, Mapping[str, Any]] | None = None,
                 base: float | None = None, cap: float | None = None, min_trust: str | None = None,
                 options: Options | None = None, priority: int | None = None, deadline_s: float | None = None) -> None:
        self.evaluator = evaluator if isinstance(evaluator, Evaluator) else Evaluator(evaluator)
        self._tasks = dict(tasks or {})
        terms = {"base": base, "cap": cap, "min_trust": min_trust}
        same = {"reward": {name: value for name, value in terms.items() if value is not None}, "options": options,
                "priority": priority, "deadline_s": deadline_s}
        self._same: dict[str, Any] = {name: value for name, value in same.items() if value is not None}
        self.__name__ = "kernel_reward"  # by which TRL calls its metrics

    async def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        requests = self.requests(completions, columns)
        return _rewards(await self.evaluator.evaluate_many_async(requests), columns)

    def kernel_reward(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """The same for trainers that do not await: hand them this method."""
        return _rewards(self.evaluator.evaluate_many(self.requests(completions, columns)), columns)

    def requests(self, completions: Sequence[Any], columns: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What is asked of the service, a request a completion."""
        return [{**self._same, **self._task(columns, number), "completion": text_of(completion)}
                for number, completion in enumerate(completions)]

    def _task(self, columns: Mapping[str, Any], number: int) -> dict[str, Any]:
        task = _row(lambda name: _at(columns, name, number))
        known = self._tasks.get(task.get("task_id", ""))
        if known is not None:
            task = {**_row(known.get), **task}
        if not task.get("reference_code"):
            raise ValueError(f"completion {number} has no task: give a column reference_code, or task_id and `tasks`")
        return task


async def reward_func(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
    """KernelReward of the evaluator that KERNELWRIGHT_EVALUATOR names: for command lines, where a reward is a name."""
    return await KernelReward()(prompts, completions, **columns)


def reward_func_sync(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
    """The same, for trainers that do not await."""
    return KernelReward().kernel_reward(prompts, completions, **columns)


def text_of(completion: Any) -> str:
    """What the model wrote: a text as it is; of messages the last answer, whose content may come in parts."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Mapping):
        return text_of(completion.get("content") or completion.get("text") or "")
    answers = [each for each in completion or () if isinstance(each, Mapping) and each.get("role") == "assistant"]
    return text_of(answers[-1]) if answers else "".join(text_of(part) for part in completion or ())


def _at(columns: Mapping[str, Any], name: str, number: int) -> Any:
    column = columns.get(name)
    return column if column is None or isinstance(column, (str, Mapping)) else column[number]


def _row(value_of: Callable[[str], Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for ours, names in COLUMNS.items():
        value = next((value for name in names if (value := value_of(name)) is not None), None)
        if value is not None and value != "":
            row[ours] = _shapes(value) if ours == "input_shapes" else str(value)
    return {name: value for name, value in row.items() if value is not None}


def _shapes(value: Any) -> Any:
    """Data sets hold objects as JSON text, or with a null for every name that some other row has."""
    if isinstance(value, str):
        value = json.loads(value)
    return {name: spec for name, spec in value.items() if spec is not None} or None


def _rewards(evaluations: Sequence[Evaluation], columns: Mapping[str, Any]) -> list[float | None]:
    # TRL shows these beside the completions, and in its metrics.
    if callable(log_extra := columns.get("log_extra")):
        log_extra("verdict", [_word(each) for each in evaluations])
        log_extra("speedup", [each.speedup for each in evaluations])
    if callable(log_metric := columns.get("log_metric")) and evaluations:
        log_metric("kernels/correct", sum(each.correct for each in evaluations) / len(evaluations))
        log_metric("kernels/unjudged", sum(each.reward is None for each in evaluations) / len(evaluations))
    return [each.reward for each in evaluations]


def _word(evaluation: Evaluation) -> str:
    if evaluation.verdict is None:
        return evaluation.cause or evaluation.state
    return str(evaluation.verdict.get("error_class") or evaluation.verdict.get("counts_reason")
               or evaluation.verdict.get("status"))
