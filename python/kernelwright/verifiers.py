"""A taskset for verifiers (and prime-rl): the tasks of a service, and the reward of the model's last reply.

# kernel_tasks.py, a module on the path: `eval kernel_tasks` finds it by its name
from kernelwright.verifiers import KernelTaskset
__all__ = ["KernelTaskset"]

The service needs --tasks. Documented in docs/rewards.md.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

# The package of that name: this module is kernelwright.verifiers.
import verifiers.v1 as vf

from .client import Client
from .outcomes import WAIT_S, judge_within, outcome_of

__all__ = ["KernelData", "KernelTask", "KernelTaskConfig", "KernelTaskset", "KernelTasksetConfig"]


class KernelTaskConfig(vf.TaskConfig):
    evaluator: str | None = None
    """The service's URL, else KERNELWRIGHT_EVALUATOR."""
    wait_s: float = WAIT_S
    """Seconds after which a reply that is not judged makes the rollout an error, a TaskError."""
    options: dict[str, Any] = {}
    """Options of judging, as of an evaluation."""
    base: float | None = None
    cap: float | None = None
    min_trust: Literal["replay", "in-process"] | None = None


class KernelTasksetConfig(vf.TasksetConfig):
    task: KernelTaskConfig = KernelTaskConfig()
    prompt_style: Literal["wrapper", "modelnew"] = "wrapper"
    levels: list[str] = []
    """Only tasks of these levels, as the service's list of tasks has them."""


class KernelData(vf.TaskData):
    task_id: str
    task_version: str


class KernelTask(vf.Task[KernelData, vf.State, KernelTaskConfig]):
    @property
    def key(self) -> str:
        """The id and the version: `idx` changes with the taskset's selection."""
        return f"{self.data.task_id}@{self.data.task_version}"

    @vf.reward
    async def kernel(self, trace: vf.Trace) -> float:
        """The service's reward for the last reply. verifiers makes a TaskError of NotJudged."""
        config = self.config
        terms = {"base": config.base, "cap": config.cap, "min_trust": config.min_trust}
        request = {"task_id": self.data.task_id, "task_version": self.data.task_version, "completion": trace.last_reply,
                   "reward": {name: value for name, value in terms.items() if value is not None},
                   **({"options": config.options} if config.options else {})}
        client = Client(config.evaluator)
        outcome = outcome_of(await client.on_thread([], lambda: judge_within(client, request, config.wait_s)))
        trace.record_metrics(outcome.metrics)
        return outcome.reward


class KernelTaskset(vf.Taskset[KernelTask, KernelTasksetConfig]):
    def load(self) -> Iterator[KernelTask]:
        client = Client(self.config.task.evaluator)
        for info in client.tasks():
            if self.config.levels and str(info.level) not in self.config.levels:
                continue
            messages = client.task(info.id, self.config.prompt_style).messages
            system, user = (_text(messages, role) for role in ("system", "user"))
            data = KernelData(id=info.id, name=info.name, task_id=info.id, task_version=info.version,
                              system_prompt=system or None, prompt=user)
            yield KernelTask(data, self.config.task)


def _text(messages: Sequence[Mapping[str, str]], role: str) -> str:
    return "\n\n".join(each["content"] for each in messages if each["role"] == role)
