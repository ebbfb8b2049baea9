"""Rewards for trainers: maps each completion to one number. Documented in docs/rewards.md.

trainer = GRPOTrainer(model, reward_funcs=KernelReward("http://127.0.0.1:8080"), train_dataset=rows)

The service extracts the code of a completion, judges it and computes the reward; this module does none of that. A reward
is None where the task or the infrastructure is at fault: trainers leave such completions out.
"""
from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .client import Client, Evaluation, Options

__all__ = ["KernelReward", "reward_func", "reward_func_sync"]

# The name of each field → its names in data sets.
COLUMNS = {
    "reference_code": ("reference_code", "reference_torch_code", "pytorch_code", "python_code"),
    "task_id": ("task_id",),
    "entry_point": ("entry_point",),
    "input_shapes": ("input_shapes",),
    "kernel_name": ("kernel_name",),
}


class KernelReward:
    """A reward function with TRL's interface. It is asynchronous, so that several run at a time: await it, or pass it to
    GRPOTrainer. `evaluator` is a Client of the service or its URL. `tasks` are rows by task_id, for data sets that name their
    tasks by it alone. `base`, `cap` and `min_trust` are the reward's terms, in place of the service's. `options` and
    `priority` are sent with every evaluation. A completion that is not judged within `deadline_s` has no reward."""

    def __init__(self, evaluator: Client | str | None = None, *, tasks: Mapping[str, Mapping[str, Any]] | None = None,
                 base: float | None = None, cap: float | None = None, min_trust: str | None = None,
                 options: Options | None = None, priority: int | None = None, deadline_s: float | None = None) -> None:
        self.evaluator = evaluator if isinstance(evaluator, Client) else Client(evaluator)
        self._tasks = dict(tasks or {})
        terms = {"base": base, "cap": cap, "min_trust": min_trust}
        same = {"reward": {name: value for name, value in terms.items() if value is not None}, "options": options,
                "priority": priority, "deadline_s": deadline_s}
        self._same: dict[str, Any] = {name: value for name, value in same.items() if value is not None}
        self.__name__ = "kernel_reward"  # TRL names its metrics by it

    async def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        requests = self.requests(completions, columns)
        return _rewards(await self.evaluator.evaluate_many_async(requests), columns)

    def kernel_reward(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """The same for trainers that do not await: pass them this method."""
        return _rewards(self.evaluator.evaluate_many(self.requests(completions, columns)), columns)

    def requests(self, completions: Sequence[Any], columns: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The requests to the service, one for each completion."""
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
    """KernelReward of the evaluator that KERNELWRIGHT_EVALUATOR names: for command lines that name a reward function."""
    return await KernelReward()(prompts, completions, **columns)


def reward_func_sync(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
    """The same, for trainers that do not await."""
    return KernelReward().kernel_reward(prompts, completions, **columns)


def task_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that describe a task, by our names; other columns are left out."""
    return _row(row.get)


def task_named(label: Any, row: Mapping[str, Any]) -> dict[str, Any]:
    """The task of a sample: the columns of its row name it, else the label does, which is a task_id, or the fields of a task,
    or their JSON."""
    task = task_of(plain(row))
    if "reference_code" not in task and "task_id" not in task:
        label = plain(label)
        if isinstance(label, str) and label.lstrip().startswith("{"):
            label = json.loads(label)
        named = task_of(label) if isinstance(label, Mapping) else {"task_id": label.strip()} if _is_id(label) else {}
        task = {**named, **task}
    if "reference_code" not in task and "task_id" not in task:
        raise ValueError("the sample has no task: its label is no task_id, and no column is task_id or reference_code")
    return task


def plain(value: Any) -> Any:
    """Parquet files come as arrays of numpy, configurations as containers of OmegaConf; JSON knows neither."""
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [plain(each) for each in value]
    return value


def text_of(completion: Any) -> str:
    """The model's text: a text as it is; of messages the last answer, whose content may have several parts."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Mapping):
        return text_of(completion.get("content") or completion.get("text") or "")
    answers = [each for each in completion or () if isinstance(each, Mapping) and each.get("role") == "assistant"]
    return text_of(answers[-1]) if answers else "".join(text_of(part) for part in completion or ())


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\n" not in value


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
    """Data sets hold objects as JSON text, or with a null for every name that only other rows have."""
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
