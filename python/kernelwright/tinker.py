"""Environments for tinker-cookbook: a conversation of the service, in which each step is a turn of the model.

builder = KernelEnvGroupBuilder("kernelbench/1/19", renderer, group_size=8, evaluator="http://127.0.0.1:8471")

The service needs --tasks. Documented in docs/rewards.md.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# The package of that name: this module is kernelwright.tinker.
import tinker
from tinker_cookbook.renderers import Renderer, get_text_content
from tinker_cookbook.rl.types import Env, EnvGroupBuilder, RLDataset, StepResult

from .client import Client
from .client_conversation import Conversation, TurnResult
from .outcomes import WAIT_S, NotJudged, best_reward, metrics_of, turn_within

__all__ = ["KernelDataset", "KernelEnv", "KernelEnvGroupBuilder"]

STOP_REASONS = {"max_turns_reached": "max_turns"}  # the cookbook's words for ours; all others are "completed"


class KernelEnv(Env):
    """One conversation, for one rollout. The rewards of its steps add up to that of the best turn: a step earns what it
    improves. step() raises NotJudged where there is no verdict within `wait_s` seconds, or the task is at fault: Tinker has
    no other way to leave a rollout out. `fields` are those of Client.conversation."""

    def __init__(self, client: Client, task_id: str, renderer: Renderer, *, wait_s: float = WAIT_S, **fields: Any) -> None:
        self._client, self._task_id, self._renderer, self._wait_s, self._fields = client, task_id, renderer, wait_s, fields
        self._conversation: Conversation | None = None
        self._messages: list[Any] = []
        self.results: list[TurnResult] = []

    async def initial_observation(self) -> tuple[tinker.ModelInput, Any]:
        if self._conversation is not None:
            raise RuntimeError("a KernelEnv is for one rollout: make another one")
        self._conversation = await self._client.conversation_async(self._task_id, **self._fields)
        return self._observed()

    async def step(self, action: list[int], *, extra: Any = None) -> StepResult:
        conversation = self._conversation
        if conversation is None or conversation.done:
            raise RuntimeError("the rollout has " + ("not begun" if conversation is None else "ended"))
        message, _ = self._renderer.parse_response(action)
        cut = "length" if (extra or {}).get("stop_reason") == "length" else None
        text = get_text_content(message)
        result = await self._client.on_thread(
            [], lambda: turn_within(conversation, text, self._wait_s, finish_reason=cut))
        before = best_reward(self.results) or 0.0
        self.results.append(result)
        best = best_reward(self.results)
        if best is None:
            verdict = result.verdict or {}
            raise NotJudged(f"not judged: the conversation has ended ({result.stop_reason}): {verdict.get('error_class')}")
        self._messages.append(message)
        metrics = metrics_of(result.verdict or {})
        if result.done:
            metrics[f"stop/{STOP_REASONS.get(str(result.stop_reason), 'completed')}"] = 1.0
            observation, stop = tinker.ModelInput.from_ints([]), []
        else:
            observation, stop = self._observed()
        return StepResult(reward=best - before, episode_done=result.done, next_observation=observation,
                          next_stop_condition=stop, metrics=metrics,
                          logs={"conversation": conversation.id, "turn": result.turn,
                                "status": str((result.verdict or {}).get("status"))})

    def _observed(self) -> tuple[tinker.ModelInput, Any]:
        assert self._conversation is not None
        self._messages += self._conversation.observation
        return self._renderer.build_generation_prompt(self._messages), self._renderer.get_stop_sequences()


@dataclass(frozen=True)
class KernelEnvGroupBuilder(EnvGroupBuilder):
    """`group_size` rollouts about one task. Holds no connection, so that it can be pickled. `evaluator` is the service's URL,
    else KERNELWRIGHT_EVALUATOR; `fields` are those of Client.conversation, such as `turns`."""

    task_id: str
    renderer: Renderer
    group_size: int
    evaluator: str | None = None
    wait_s: float = WAIT_S
    fields: Mapping[str, Any] = field(default_factory=dict)

    async def make_envs(self) -> Sequence[Env]:
        client = Client(self.evaluator)
        return [KernelEnv(client, self.task_id, self.renderer, wait_s=self.wait_s, **self.fields)
                for _ in range(self.group_size)]

    def logging_tags(self) -> list[str]:
        return ["kernelwright"]


@dataclass(frozen=True)
class KernelDataset(RLDataset):
    """Batches of group builders; the last one may be smaller."""

    builders: Sequence[EnvGroupBuilder]
    batch_size: int

    def get_batch(self, index: int) -> Sequence[EnvGroupBuilder]:
        return self.builders[index * self.batch_size:(index + 1) * self.batch_size]

    def __len__(self) -> int:
        return -(-len(self.builders) // self.batch_size)
